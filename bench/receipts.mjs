/**
 * Compares durable receipts, which are stored before they are sent and again when they end, with `fetch` that stores
 * nothing: throughput and latency.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { childPath, ENTRY, interleave, percentile, say, timed, withFolder } from "./kit.mjs";
import { count, ms, perSecond } from "./report.mjs";

const ROUNDS = 3;
const SLOTS = [10, 50];

export async function measure({ quick }) {
  const sizes = quick ? { many: 1000, single: 100 } : { many: 5000, single: 500 };
  const server = spawn(process.execPath, [childPath("receipt-server")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    const url = String((await once(server.stdout, "data"))[0]).trim();
    return await withFolder((folder) => measureAt(url, folder, sizes));
  } finally {
    server.stdin.end();
  }
}

async function measureAt(url, folder, sizes) {
  const { open } = await import(ENTRY);
  const cases = {};
  const closing = [];
  for (const slots of SLOTS) {
    const store = await open(`sqlite:${folder}/receipts-${slots}.db`);
    const target = store.receipts("bench", { url, concurrency: slots });
    await target.opened;
    closing.push(() => store.close());
    cases[`fetch${slots}`] = () => rate(fetchOne(url), { slots, receipts: sizes.many });
    cases[`send${slots}`] = () => rate((receipt) => target.send(receipt), { slots, receipts: sizes.many });
    cases[`kept${slots}`] = () =>
      rate(
        (receipt) => target.send(receipt, { wait: false }),
        { slots: sizes.many, receipts: sizes.many },
        () => untilDelivered(target),
      );
    if (slots !== SLOTS[0]) continue;
    cases.fetchAlone = () => rate(fetchOne(url), { slots: 1, receipts: sizes.single });
    cases.sendAlone = () => rate((receipt) => target.send(receipt), { slots: 1, receipts: sizes.single });
  }
  say(`  ${count(sizes.many)} receipts, ${ROUNDS} rounds`);
  const figures = await interleave(cases, ROUNDS);
  for (const close of closing) await close();
  return [
    {
      title: "Receipts on SQLite, beside fetch without durability",
      rows: rowsOf(figures),
      notes: [noteOf(sizes)],
    },
  ];
}

let made = 0;

/** Each receipt differs, because an identical one would not be sent again. */
function nextReceipt() {
  made += 1;
  return {
    lease_id: `lease-${made}`,
    task_id: `task-${made}`,
    worker_id: "cognigate-0",
    status: "complete",
    timestamp: "2024-01-15T10:30:00Z",
    summary: "Task completed successfully",
    artifact_pointers: ["s3://bucket/results.json"],
  };
}

function fetchOne(url) {
  return async (receipt) => {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": receipt.task_id },
      body: JSON.stringify(receipt),
    });
    await answer.text();
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  };
}

/** Sends all receipts with a fixed concurrency. Returns the throughput and the latency of each. */
async function rate(sendOne, { slots, receipts }, untilEnd = async () => undefined) {
  const taken = [];
  let left = receipts;
  const lane = async () => {
    while (left > 0) {
      left -= 1;
      const receipt = nextReceipt();
      const startedAt = performance.now();
      await sendOne(receipt);
      taken.push(performance.now() - startedAt);
    }
  };
  const { wallMs } = await timed(async () => {
    await Promise.all(Array.from({ length: slots }, lane));
    await untilEnd();
  });
  return { perSecond: (receipts / wallMs) * 1000, p50: percentile(taken, 50), p99: percentile(taken, 99) };
}

async function untilDelivered(target) {
  for (;;) {
    const { ready, leased } = await target.counts();
    if (ready + leased === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function rowsOf(figures) {
  const rows = SLOTS.flatMap((slots) => {
    const [fetched, sent, kept] = ["fetch", "send", "kept"].map((name) => figures[`${name}${slots}`]);
    return [
      row(`send and wait, ${slots} at a time`, sent, fetched),
      row(`all kept at once, delivered ${slots} at a time`, kept, fetched),
      latency(`a send, ${slots} at a time`, sent, fetched),
    ];
  });
  return [...rows, latency("a send, one at a time", figures.sendAlone, figures.fetchAlone)];
}

function row(what, ours, peer) {
  return {
    what,
    figure: perSecond(ours.perSecond),
    beside: `fetch ${perSecond(peer.perSecond)}`,
    ratio: ours.perSecond / peer.perSecond,
  };
}

function latency(what, ours, peer) {
  return {
    what: `${what}, p50 / p99`,
    figure: `${ms(ours.p50)} / ${ms(ours.p99)}`,
    beside: `fetch ${ms(peer.p50)} / ${ms(peer.p99)}`,
    ratio: ours.p50 / peer.p50,
  };
}

function noteOf({ many, single }) {
  return `${count(many)} receipts (${count(single)} one at a time) to a server in a process of its own. Ours are in the store before they are sent (WAL, synchronous FULL), with every try, its end, its counters and its events; \`fetch\` keeps nothing, and loses what it has on its way when the process dies. Of latencies the ratio is the p50: the less the better.`;
}
