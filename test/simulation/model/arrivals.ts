/** The number of burials per minute. The number of arrivals never decreases, the number of waiting letters does. */
import type { Arrival, ArrivalQuery } from "../../../src/engine.ts";
import { assert } from "../../../src/std/assert.ts";
import type { ArrivalRow, Burial, Store } from "./store.ts";

const MINUTE_MS = 60_000;

/** Counts a new burial, which does not wait yet. */
export function countArrival(store: Store, queue: string, burial: Burial): void {
  const key = arrivalKey(queue, burial);
  const row = store.arrivals.get(key);
  if (row) row.ever += 1;
  else store.arrivals.set(key, newArrival(queue, burial));
}

/** Moves a burial to another group. A minute without burials is removed. */
export function forgetArrival(store: Store, queue: string, burial: Burial): void {
  const key = arrivalKey(queue, burial);
  const row = store.arrivals.get(key);
  assert(row, `burial ${burial.number} was never counted`);
  row.ever -= 1;
  if (row.ever === 0) store.arrivals.delete(key);
}

/** Changes the number of waiting letters of the burial's minute by one. */
export function countWaiting(store: Store, queue: string, burial: Burial, by: 1 | -1): void {
  const row = store.arrivals.get(arrivalKey(queue, burial));
  assert(row, `burial ${burial.number} was never counted`);
  row.waiting += by;
}

/** Oldest first. */
export function listArrivals(store: Store, query: ArrivalQuery): readonly Arrival[] {
  const { bucketMs, since = Number.NEGATIVE_INFINITY } = query;
  assert(bucketMs > 0 && bucketMs % MINUTE_MS === 0, `${bucketMs} ms are not a multiple of a minute`);
  const stretchOf = (time: number) => Math.floor(time / bucketMs) * bucketMs;
  const stretches = new Map<number, { at: number; waiting: number; ever: number }>();
  for (const row of store.arrivals.values()) {
    const at = stretchOf(row.minute);
    if (at < stretchOf(since) || !fits(row, query)) continue;
    const stretch = stretches.get(at) ?? { at, waiting: 0, ever: 0 };
    stretch.waiting += row.waiting;
    stretch.ever += row.ever;
    stretches.set(at, stretch);
  }
  return [...stretches.values()].sort((a, b) => a.at - b.at);
}

/** The key under which a burial is counted. */
export function arrivalKey(queue: string, { at, death }: Burial): string {
  const { signature, errorType, errorClass, reprocessEligible } = death;
  return JSON.stringify([queue, minuteOf(at), signature, errorType, errorClass, reprocessEligible]);
}

function newArrival(queue: string, { at, death }: Burial): ArrivalRow {
  return { queue, minute: minuteOf(at), death, waiting: 0, ever: 1 };
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE_MS) * MINUTE_MS;
}

function fits({ queue, death }: ArrivalRow, query: ArrivalQuery): boolean {
  return (
    (query.queue === undefined || query.queue === queue) &&
    (query.types === undefined || query.types.includes(death.errorType)) &&
    (query.classes === undefined || query.classes.includes(death.errorClass)) &&
    (query.signatures === undefined || query.signatures.includes(death.signature)) &&
    (query.eligible === undefined || query.eligible === death.reprocessEligible)
  );
}
