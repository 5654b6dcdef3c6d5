/** How long the items of a queue that started last had waited, from when they were due to when a worker took them. Only reads the store. */
import type { Engine } from "../engine.ts";
import { RUN_MAX } from "../item/event.ts";
import type { JsonObject } from "../std/json.ts";

/** The waiting times of the latest starts. */
export interface QueueWaits {
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The number of starts that were measured. */
  readonly items: number;
}

/**
 * The newest events of the store, among which starts of a queue that works are found. PostgreSQL leaves up to `RUN_MAX` ids between
 * two of them.
 */
const EVENTS_READ = 2000;
/** Items are read with their data, so only a sample of them is. */
const STARTS_MAX = 50;

/** Returns undefined if the newest events have no start of the queue. */
export async function readWaits(engine: Engine, queue: string): Promise<QueueWaits | undefined> {
  const newest = await engine.newestEvent();
  const startsOf = (ids: number) =>
    engine.listEvents({
      queue,
      types: ["attempt_started"],
      after: Math.max(0, newest - ids),
      limit: EVENTS_READ,
    });
  const near = await startsOf(EVENTS_READ);
  const far = near.length < STARTS_MAX ? await startsOf(EVENTS_READ * RUN_MAX) : near;
  // Where ids follow without gaps, that may be more than were read, and the newest are missing.
  const events = far.length < EVENTS_READ ? far : near;
  const starts = new Map(events.slice(-STARTS_MAX).map((event) => [event.itemId ?? "", event]));
  if (starts.size === 0) return undefined;
  const items = await engine.listItems({ queue, itemIds: [...starts.keys()], limit: starts.size });
  const waits = items.flatMap(({ itemId, attempts, state, dueAt }) => {
    const start = starts.get(itemId);
    // An item that waits for its next attempt is due at another time than before.
    const isOfStart = start?.attempt === attempts && state !== "ready";
    return isOfStart ? [Math.max(0, start.at - dueAt)] : [];
  });
  if (waits.length === 0) return undefined;
  waits.sort((a, b) => a - b);
  return { p50Ms: shareOf(waits, 0.5), p95Ms: shareOf(waits, 0.95), items: waits.length };
}

/** The smallest value that this share of the sorted values does not exceed. */
function shareOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** Converts waiting times to their public JSON form. */
export function waitsToJson({ p50Ms, p95Ms, items }: QueueWaits): JsonObject {
  return { p50: p50Ms, p95: p95Ms, items };
}
