/**
 * Enforces the limits of a queue: what is too many or too old is archived and then deleted, as an operation with its
 * books, its event and its counter; letters on their way are never touched. Nothing vanishes without a word.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { archiveFolder } from "../dead-letter/archive.ts";
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import type { ItemState } from "../item/state.ts";
import { takeLock } from "../kit/file-lock.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";
import { fullnessOf, type LetterLimits } from "./limits.ts";
import { beginListed } from "./listed.ts";
import { continuePurge, purgeLetters } from "./purge.ts";
import { selectPages } from "./select.ts";

export interface EnforceOptions {
  readonly queue: string;
  readonly limits: LetterLimits;
  /** Where the archive is. */
  readonly home: string;
  readonly author: string;
}

/** What was done, with the operations that did it. */
export interface Enforced {
  readonly evicted: number;
  readonly purged: number;
  readonly operations: readonly Operation[];
}

/** First what is too old, then what is too many. */
export async function enforceLimits(engine: Engine, options: EnforceOptions): Promise<Enforced> {
  const purge = await purgeOld(engine, options);
  const evict = await evictOldest(engine, options);
  return {
    evicted: evict?.done ?? 0,
    purged: purge?.done ?? 0,
    operations: [purge, evict].filter((operation) => operation !== null),
  };
}

/** What retention removes: closed letters too, for they are kept just as long. */
const OLD_STATES: readonly ItemState[] = ["dead", "discarded", "done"];

/** What `enforceLimits` would do. Changes nothing. */
export async function previewLimits(
  engine: Engine,
  { queue, limits }: Pick<EnforceOptions, "queue" | "limits">,
): Promise<{ readonly evicted: number; readonly purged: number }> {
  const counts = await engine.count(queue);
  const old = await countOld(engine, { queue, limits }, OLD_STATES);
  const oldDead = old === 0 ? 0 : await countOld(engine, { queue, limits }, ["dead"]);
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
  // No letter arrives before its last failure, and the last failures are counted already.
  if ((await engine.listLetters({ ...old, ageOf: "last" })).total === 0) return 0;
  return (await engine.listLetters({ ...old, ageOf: "arrival" })).total;
}

/** Null when nothing is too old: an operation on nothing would only be noise. */
export async function purgeOld(engine: Engine, options: EnforceOptions): Promise<Operation | null> {
  const { limits, ...request } = options;
  if (limits.retentionMs === null || (await countOld(engine, options, OLD_STATES)) === 0) return null;
  return purgeLetters(engine, {
    ...request,
    kind: "purge",
    selection: {
      filter: {
        queue: request.queue,
        states: OLD_STATES,
        olderThanMs: limits.retentionMs,
        ageOf: "arrival",
      },
    },
    reason: "older than letters are kept",
  });
}

/** Null when there is room, and when another process makes room at this moment. */
export async function evictOldest(engine: Engine, options: EnforceOptions): Promise<Operation | null> {
  const excess = async () => fullnessOf(await engine.count(options.queue), options.limits).evict;
  if ((await excess()) === 0) return null;
  const giveBack = await takeEvictionLock(options);
  if (giveBack === null) return null;
  try {
    const now = await excess();
    return now === 0 ? null : await evict(engine, now, options);
  } finally {
    giveBack();
  }
}

/** Two that count the same letters and list the oldest one after the other would evict twice as many. */
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
  let left = wanted;
  for await (const { letters } of selectPages(
    engine,
    { filter: { queue, states: ["dead"] } },
    { order: "oldest" },
  )) {
    const burials = letters.slice(0, left).map(({ burial }) => burial);
    yield burials;
    left -= burials.length;
    if (left === 0) return;
  }
}
