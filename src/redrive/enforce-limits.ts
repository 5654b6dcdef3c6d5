/**
 * Enforces the limits of a queue: archives and deletes letters that are too old or exceed the count limit,
 * except those in retry.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { archiveFolder } from "../dead-letter/archive.ts";
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import type { ItemState } from "../item/state.ts";
import { takeLock } from "../std/file-lock.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import { fullnessOf, type LetterLimits } from "./limits.ts";
import { beginListed } from "./operation.ts";
import { continuePurge, finishAbandoned, type PurgeRequest, purgeLetters } from "./purge.ts";
import { type Selection, selectPages } from "./select.ts";

type EnforceOptions = Pick<PurgeRequest, "queue" | "home" | "author"> & { readonly limits: LetterLimits };

/** Purges old letters first, because there may then be nothing left to evict. */
export async function enforceLimits(engine: Engine, options: EnforceOptions) {
  await finishAbandoned(engine, options);
  const purge = await purgeOld(engine, options);
  const evict = await evictOldest(engine, options);
  return {
    evicted: evict?.done ?? 0,
    purged: purge?.done ?? 0,
    operations: [purge, evict].filter((operation) => operation !== null),
  };
}

/** Retention also applies to resolved and discarded letters. */
const OLD_STATES: readonly ItemState[] = ["dead", "discarded", "done"];

export async function previewLimits(engine: Engine, scope: Pick<EnforceOptions, "queue" | "limits">) {
  const { queue, limits } = scope;
  const counts = await engine.count(queue);
  const old = await countOld(engine, scope, OLD_STATES);
  const oldDead = old === 0 ? 0 : await countOld(engine, scope, ["dead"]);
  const left = { letters: counts.letters - oldDead, dead: counts.dead - oldDead };
  return { evicted: fullnessOf(left, limits).evict, purged: old };
}

async function countOld(
  engine: Engine,
  { queue, limits }: Pick<EnforceOptions, "queue" | "limits">,
  states: readonly ItemState[],
): Promise<number> {
  if (limits.retentionMs === null) return 0;
  const old = { queue, states, olderThanMs: limits.retentionMs, limit: 0 };
  // Checks the last failure first: the store has counters for it, and it is never later than the arrival.
  if ((await engine.listLetters({ ...old, ageOf: "last" })).total === 0) return 0;
  return (await engine.listLetters({ ...old, ageOf: "arrival" })).total;
}

/** Returns null if nothing is too old, so that no empty operation is recorded. */
export async function purgeOld(engine: Engine, options: EnforceOptions): Promise<Operation | null> {
  const { limits, ...request } = options;
  if (limits.retentionMs === null || (await countOld(engine, options, OLD_STATES)) === 0) return null;
  const filter = { queue: request.queue, states: OLD_STATES, olderThanMs: limits.retentionMs } as const;
  return purgeLetters(engine, {
    ...request,
    kind: "purge",
    selection: { filter: { ...filter, ageOf: "arrival" } },
    reason: "older than the retention period",
  });
}

/** Returns null if the queue is within its limit or another process is evicting from it. */
export async function evictOldest(engine: Engine, options: EnforceOptions): Promise<Operation | null> {
  const excess = async () => fullnessOf(await engine.count(options.queue), options.limits).evict;
  if ((await excess()) === 0) return null;
  const release = await takeEvictionLock(options);
  if (release === null) return null;
  try {
    const now = await excess();
    return now === 0 ? null : await evict(engine, now, options);
  } finally {
    release();
  }
}

/** Takes a lock: otherwise two processes could count the same excess and evict twice as many letters. */
async function takeEvictionLock({ home, queue }: EnforceOptions): Promise<(() => void) | null> {
  const folder = archiveFolder(home, queue);
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  return takeLock(join(folder, "evicting.lock"));
}

async function evict(engine: Engine, count: number, options: EnforceOptions): Promise<Operation> {
  const { limits, queue, author, home } = options;
  const reason = `more than ${limits.itemsMax} letters`;
  const request = { kind: "evict", queue, author, reason, plan: { archive: true } } as const;
  const operation = await beginListed(engine, request, oldestDead(engine, queue, count));
  return continuePurge(engine, operation, { home });
}

async function* oldestDead(engine: Engine, queue: string, wanted: number): AsyncGenerator<readonly number[]> {
  const selection: Selection = { filter: { queue, states: ["dead"] } };
  let left = wanted;
  for await (const { letters } of selectPages(engine, selection, { order: "oldest" })) {
    const letterSequences = letters.slice(0, left).map(({ letterSequence }) => letterSequence);
    yield letterSequences;
    left -= letterSequences.length;
    if (left === 0) return;
  }
}
