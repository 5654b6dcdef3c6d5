/**
 * Creates stores with many letters through the engine: items are added, leased and buried in large batches. Group sizes are
 * skewed like real failures: a few causes have most of the letters.
 */
import { LIBRARY, TRIAGE } from "./kit.mjs";

const { openStore } = await import(LIBRARY);
const { signatureOf } = await import(TRIAGE);

const HOLDER = "bench-holder";
const BATCH = 2000;
const DATA_BYTES = 1024;

/** Opens the store and creates `letters` letters in `jobs` jobs, with `groups` causes in total. */
export async function openLetterStore(url, { jobs, letters, groups }) {
  const engine = await openStore(url);
  const names = Array.from({ length: jobs }, (_, index) => `bench-${index + 1}`);
  for (const [index, queue] of names.entries()) {
    await makeJob(engine, queue);
    const causes = causesOf(index, Math.ceil(groups / jobs));
    for (let from = 0; from < letters / jobs; from += BATCH) {
      const size = Math.min(BATCH, letters / jobs - from);
      await engine.add(queue, newItems(from, size));
      const leased = await lease(engine, queue, size);
      await engine.settleAndLease(null, { settle: leased.map((item) => burialOf(item, causes)) });
    }
  }
  return { engine, jobs: names };
}

/** Creates a job and a holder that may lease from it. */
export async function makeJob(engine, queue) {
  const spec = { command: ["true"], cwd: "/", input: { path: "-" }, jobs: 8, graceMs: 5000, policy: {} };
  await engine.createJob({ id: queue, name: queue, kind: "map", spec });
  const holder = { host: "bench", pid: process.pid, processStart: "0", ttlMs: 3_600_000 };
  await engine.registerHolder({ id: holderOf(queue), queue, ...holder });
}

/** The id of the holder that `makeJob` registered. */
export function holderOf(queue) {
  return `${HOLDER}-${queue}`;
}

/** Items with 1 KB of data each. */
export function newItems(from, size) {
  return Array.from({ length: size }, (_, index) => newItem(from + index));
}

function newItem(number) {
  const itemId = `item-${number}`;
  const data = { path: `src/module-${number % 997}/file-${number}.ts`, number, note: "" };
  const rest = DATA_BYTES - JSON.stringify(data).length;
  return { itemId, data: { ...data, note: `${number} lorem ipsum `.repeat(64).slice(0, rest) } };
}

export async function lease(engine, queue, max, settle = []) {
  const { leased } = await engine.settleAndLease(holderOf(queue), { settle, lease: { queue, max } });
  return leased;
}

const KINDS = [
  {
    errorType: { name: "CommandFailed", fields: { exit_code: 1 } },
    errorClass: "unknown",
    eligible: true,
    review: false,
  },
  { errorType: { name: "Timeout" }, errorClass: "transient", eligible: true, review: false },
  { errorType: { name: "ValidationFailed" }, errorClass: "permanent", eligible: false, review: true },
  { errorType: { name: "ServerError" }, errorClass: "outage", eligible: true, review: false },
  { errorType: { name: "PermissionError" }, errorClass: "permanent", eligible: false, review: true },
];

const WORDS = [
  "lock",
  "schema",
  "socket",
  "branch",
  "import",
  "cursor",
  "header",
  "token",
  "mount",
  "parser",
];

function causesOf(job, size) {
  return Array.from({ length: size }, (_, index) => {
    const word = WORDS[index % WORDS.length];
    const other = WORDS[(index + job + 1) % WORDS.length];
    const stage = String.fromCharCode(97 + Math.floor(index / WORDS.length));
    return {
      ...KINDS[index % KINDS.length],
      message: `the ${word} of stage ${stage} does not match the ${other}`,
    };
  });
}

/** Skewed and deterministic: cause k gets about 1/(k+1) of the letters of the first one. */
function causeOf(number, causes) {
  const draw = ((number * 2_654_435_761) % 4_294_967_296) / 4_294_967_296;
  return causes[Math.floor(causes.length ** draw) - 1] ?? causes[0];
}

/** The settlement that buries a leased item, its signature computed as the runner does. */
export function burialOf(item, causes) {
  const cause = causeOf(item.ref, causes);
  const failure = {
    attemptNumber: item.attempt,
    timestamp: item.startedAt + 120,
    errorType: cause.errorType,
    errorClass: cause.errorClass,
    errorMessage: `${cause.message}: ${item.itemId}`,
    agentId: "bench/1",
    stepFailed: "command",
    durationMs: 120,
    exitCode: 1,
    stderrTail: `error: ${cause.message}\n  at ${item.data.path}:${item.ref % 300}\n`,
  };
  const { signature, pattern } = signatureOf(failure, [item.itemId, item.data.path]);
  const death = {
    reason: "out of retries (1 of 1 attempts used)",
    errorType: cause.errorType.name,
    errorClass: cause.errorClass,
    signature,
    pattern,
    algorithm: "redrive-1",
    reprocessEligible: cause.eligible,
    manualReviewRequired: cause.review,
  };
  const verdict = { kind: "bury", reason: death.reason };
  return { lease: { ref: item.ref, attempt: item.attempt }, outcome: "failed", verdict, failure, death };
}

/** Causes for benchmarks that need only a handful. */
export const FEW_CAUSES = causesOf(0, 20);
