/**
 * Kills a receipt service with `kill -9` at random moments while its target is unreliable, then compares both ledgers:
 * accepted receipts have arrived under one key each, and the counters are correct.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { metricsText, openStore } from "../../dist/engine.js";
import { chanceOf } from "./chance.mjs";
import { openFlakyTarget } from "./flaky-target.mjs";

const SENDER = fileURLToPath(new URL("receipt-sender.mjs", import.meta.url));
/** The longest time from opening the store to the kill. */
const LIFE_MS_MAX = 400;

/** Returns `{ violations, figures, home }`. */
export async function tortureReceipts({ receipts = 1000, kills = 12, seed = 1, note = () => undefined }) {
  const home = mkdtempSync(join(tmpdir(), "redrive-receipts-"));
  const chance = chanceOf(seed);
  const target = await openFlakyTarget(chance);
  const world = {
    home,
    target,
    receipts,
    store: `sqlite:${join(home, "redrive.db")}`,
    acks: join(home, "acks"),
  };
  let killed = 0;
  try {
    for (let n = 0; n < kills; n += 1) {
      killed += await live(world, chance.between(0, LIFE_MS_MAX));
      note(`${killed} kills, ${acknowledged(world).size} of ${receipts} taken`);
    }
    const end = await live(world, null);
    const violations = [...(end === 0 ? [] : [`the last sender ended with ${end}`]), ...(await judge(world))];
    if (violations.length === 0) rmSync(home, { recursive: true, force: true });
    const figures = {
      receipts,
      kills: killed,
      items: receipts,
      requests: target.requests,
      attempts: target.requests,
      repeats: target.ledger.length - receipts,
    };
    return { violations, home, figures, faults: { killProcess: killed } };
  } finally {
    await target.close();
  }
}

/** Runs the sender once: returns 1 if it was killed, 0 if it ended before; without a limit, how it ended. */
async function live(world, lifeMs) {
  const { store, acks, receipts } = world;
  const taken = acknowledged(world);
  let first = 1;
  while (taken.has(first)) first += 1;
  // Delays are short, so that kills hit attempts, and retries suffice, so that no receipt is buried by chance.
  const settings = {
    ...{ url: world.target.url, backoff: { kind: "fixed", delayMs: 5 }, retries: 100, lossesMax: 1000 },
    ...{ timeoutMs: 2000, breaker: { failureThreshold: 50, timeoutMs: 100 } },
  };
  const options = { store, acks, first, last: receipts, target: settings };
  const child = spawn(process.execPath, [SENDER, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
  if (lifeMs !== null) {
    await Promise.race([new Promise((resolve) => child.stdout.once("data", resolve)), ended]);
    await Promise.race([sleep(lifeMs), ended]);
    child.kill("SIGKILL");
  }
  const { code, signal } = await ended;
  return lifeMs === null ? (code ?? signal) : signal === "SIGKILL" ? 1 : 0;
}

/** An incomplete number was cut off by the kill and does not count as accepted. */
function acknowledged({ acks }) {
  const text = existsSync(acks) ? readFileSync(acks, "utf8") : "";
  return new Set(text.split("\n").slice(0, -1).map(Number));
}

async function judge(world) {
  const { receipts, target } = world;
  const taken = acknowledged(world);
  const violations = [];
  for (let n = 1; n <= receipts; n += 1) if (!taken.has(n)) violations.push(`${n} was never taken`);
  violations.push(...judgeLedger(target.ledger, taken));
  const engine = await openStore(world.store);
  try {
    violations.push(...(await judgeStore(engine, world)));
    violations.push(...(await engine.check()).map((problem) => `store check: ${JSON.stringify(problem)}`));
  } finally {
    await engine.close();
  }
  return violations;
}

/** A pure check: accepted receipts have arrived, each under one key, and no key belongs to two receipts. */
export function judgeLedger(ledger, taken) {
  const keysOf = new Map();
  const bodyOf = new Map();
  const violations = [];
  for (const { key, body } of ledger) {
    const { n } = JSON.parse(body);
    keysOf.set(n, new Set([...(keysOf.get(n) ?? []), key]));
    if (bodyOf.has(key) && bodyOf.get(key) !== body) violations.push(`the key ${key} came with two bodies`);
    bodyOf.set(key, body);
  }
  for (const n of taken) if (!keysOf.has(n)) violations.push(`${n} was taken, and never arrived`);
  for (const [n, keys] of keysOf)
    if (keys.size > 1) violations.push(`${n} arrived under the keys ${[...keys].join(", ")}`);
  return violations;
}

async function judgeStore(engine, { receipts, target }) {
  const violations = [];
  const counts = await engine.count("gate");
  if (counts.done !== receipts || counts.total !== receipts)
    violations.push(
      `the store has ${counts.total} receipts, ${counts.done} of them delivered, not ${receipts}`,
    );
  const told = numbersIn(await metricsText(engine));
  const expected = {
    'receipts_total{status="delivered",success="true"}': receipts,
    'dead_letter_queue_size{queue="gate"}': 0,
    'receipts_in_flight{target="gate"}': 0,
    'items{queue="gate",state="done"}': receipts,
  };
  for (const [name, value] of Object.entries(expected))
    if (told[name] !== value) violations.push(`${name} is ${told[name]}, not ${value}`);
  const attempts = ["succeeded", "failed"].map(
    (outcome) => told[`attempts_total{queue="gate",outcome="${outcome}"}`],
  );
  const tries = sum(told, "receipts_total{");
  if (tries !== attempts[0] + attempts[1])
    violations.push(`${tries} tries are counted, of ${attempts.join(" + ")}`);
  if (tries > target.requests)
    violations.push(`${tries} tries are counted, and ${target.requests} were made`);
  if (told.receipt_duration_seconds_count !== tries) violations.push("the tries were not all timed");
  return violations;
}

function numbersIn(text) {
  const lines = text.split("\n").filter((line) => line.startsWith("redrive_"));
  return Object.fromEntries(
    lines.map((line) => [line.slice("redrive_".length).replace(/ \S+$/, ""), Number(/\S+$/.exec(line)[0])]),
  );
}

function sum(numbers, prefix) {
  const own = Object.entries(numbers).filter(([name]) => name.startsWith(prefix));
  return own.reduce((total, [, value]) => total + value, 0);
}
