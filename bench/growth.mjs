/**
 * Measures answers that must not grow with the store: pages of groups, the holders of one queue, and a letter with many
 * attempts. Run: node bench/growth.mjs, after a build. Prints one line of JSON per size.
 */
import { join } from "node:path";
import { LIBRARY, percentile, timed, withFolder } from "./kit.mjs";
import { burialOf, FEW_CAUSES, lease, makeJob, newItems } from "./letter-store.mjs";

const { openStore } = await import(LIBRARY);
const CALLS = 100;
const BATCH = 1000;
const QUEUE = "bench";

await withFolder(async (folder) => {
  for (const groups of [300, 3000, 30_000]) {
    const engine = await openStore(`sqlite:${join(folder, `${groups}.db`)}`);
    await fillGroups(engine, groups);
    const first = () => engine.pageGroups({ states: ["open"], limit: 50 });
    const { next } = await first();
    const second = () => engine.pageGroups({ states: ["open"], limit: 50, cursor: next });
    print({ groups, page: await ask(first), next_page: await ask(second) });
    await engine.close();
  }
  for (const queues of [100, 10_000]) {
    const engine = await openStore(`sqlite:${join(folder, `queues-${queues}.db`)}`);
    await fillQueues(engine, queues);
    const one = await ask(() => engine.listHolders({ queue: "queue-7" }));
    const item = await ask(() => engine.findItems("item-1", { queue: "queue-7", limit: 1 }));
    print({ queues, holders_of_one: one, holders_of_all: await ask(() => engine.listHolders()), item });
    await engine.close();
  }
  for (const attempts of [300, 30_000]) {
    const engine = await openStore(`sqlite:${join(folder, `attempts-${attempts}.db`)}`);
    const ref = await failOften(engine, attempts);
    const brief = ["record", "times", "last_failure"];
    const list = (parts) =>
      ask(() => engine.listLetters({ queue: QUEUE, limit: 50, ...(parts && { parts }) }));
    print({
      attempts,
      brief_list: await list(brief),
      list: await list(),
      inspect: await ask(() => engine.readLetter(ref)),
    });
    await engine.close();
  }
});

function print(figures) {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

async function ask(call) {
  await call();
  const runs = [];
  for (let count = 0; count < CALLS; count += 1) runs.push(await timed(call));
  const ms = (field, share) =>
    Math.round(
      percentile(
        runs.map((run) => run[field]),
        share,
      ) * 100,
    ) / 100;
  return { p50_ms: ms("wallMs", 50), p99_ms: ms("wallMs", 99), cpu_p50_ms: ms("cpuMs", 50) };
}

async function fillGroups(engine, groups) {
  await engine.createJob({ id: "job-1", name: "job-1", kind: "map", spec: {} });
  for (let from = 0; from < groups; from += BATCH) {
    const size = Math.min(BATCH, groups - from);
    await engine.importLetters(
      "job-1",
      Array.from({ length: size }, (_, index) => letterOf(from + index)),
    );
  }
}

/** A letter of a group of its own. */
function letterOf(number) {
  const at = Date.now() - number;
  const failure = {
    ...{ attemptNumber: 1, timestamp: at, errorType: { name: "CommandFailed" }, errorClass: "unknown" },
    ...{ errorMessage: `cause ${number}`, agentId: "bench", stepFailed: "command", durationMs: 1 },
  };
  return {
    ...{ itemId: `item-${number}`, itemData: { number }, firstAttempt: at, lastAttempt: at },
    ...{ failureCount: 1, failureHistory: [failure], reprocessEligible: true, manualReviewRequired: false },
    errorSignature: number.toString(16).padStart(16, "0"),
    errorPattern: `CommandFailed::cause of kind ${number}`,
    ...{ jobId: "job-1", queue: "job-1", state: "dead", reason: "", revision: 1, redriveCount: 0 },
  };
}

async function fillQueues(engine, queues) {
  for (let number = 0; number < queues; number += 1) {
    const id = `queue-${number}`;
    await engine.createJob({ id, name: id, kind: "map", spec: {} });
    const process = { host: "bench", pid: 1, processStart: "0", ttlMs: 3_600_000 };
    await engine.registerHolder({ id: `holder-${number}`, queue: id, ...process });
  }
  const items = Array.from({ length: BATCH }, (_, number) => ({ itemId: `item-${number}`, data: number }));
  await engine.add("queue-7", items);
}

/** Buries 50 letters, the last of them after so many attempts, and returns its item. */
async function failOften(engine, attempts) {
  await makeJob(engine, QUEUE);
  await engine.add(QUEUE, newItems(0, 50));
  let leased = await lease(engine, QUEUE, 50);
  const settle = leased.slice(0, -1).map((item) => burialOf(item, FEW_CAUSES));
  leased = leased.slice(-1);
  for (let number = 1; number < attempts; number += 1) {
    const retries = leased.map((item) => {
      const { death: _, ...failed } = burialOf(item, FEW_CAUSES);
      return { ...failed, verdict: { kind: "retry", delayMs: 0 } };
    });
    leased = await lease(engine, QUEUE, 1, retries);
  }
  const [last] = leased;
  await engine.settleAndLease(null, { settle: [...settle, burialOf(last, FEW_CAUSES)] });
  return last.ref;
}
