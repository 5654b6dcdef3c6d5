/**
 * The counter changes of one transaction, summed until its end, and the counters that users read. `store
 * check` recounts and compares them.
 */

import type { Arrival, ArrivalQuery, Counter } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { groupConditions } from "./conditions.ts";
import type { Db, Step } from "./db.ts";

export type QueueCounter = ItemState | "letters" | "resolved" | "purged" | "evicted" | "attempts";
export type GroupCounter = "in_retry" | "resolved" | "discarded";
export type OperationCounter = "succeeded" | "failed" | "returned";

/** A letter's number and group, and when its item failed for the last and for the first time. */
export interface NumberedLetter {
  readonly no: number;
  readonly grp: number;
  readonly buried_at: number;
  readonly first_at: number;
}

/** The fields of a letter that counters depend on. */
export type CountedLetter = Omit<NumberedLetter, "no">;

/** The net changes of a group's counters. */
export interface GroupSum extends Record<GroupCounter | "count", number> {
  readonly group: number;
  /** The earliest and latest failure among the letters that were added. */
  firstAt: number;
  lastAt: number;
}

/** The net changes of a group's burials in one minute: waiting letters, and all letters. */
export interface ArrivalSum {
  readonly group: number;
  readonly minute: number;
  waiting: number;
  ever: number;
}

export const MINUTE_MS = 60_000;

/** The minute of a time, counted from the epoch. */
export function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_MS);
}

export class Deltas<Letter extends CountedLetter = NumberedLetter> {
  protected readonly queues = new Map<number, Map<QueueCounter, number>>();
  protected readonly groups = new Map<number, GroupSum>();
  protected readonly arrivals = new Map<string, ArrivalSum>();
  protected readonly operations = new Map<number, Map<OperationCounter, number>>();
  protected readonly counters = new Map<number, Map<string, number>>();

  /** Counts a state change of an item; `from` is null for a new item. */
  move(queue: number, from: ItemState | null, to: ItemState): void {
    if (from !== null) this.queue(queue, from, -1);
    this.queue(queue, to, 1);
  }

  queue(queue: number, counter: QueueCounter, by: number): void {
    count(this.queues, queue, counter, by);
  }

  /** Counts letters of the group that are in retry, resolved or discarded. */
  group(group: number, counter: GroupCounter, by: number): void {
    this.#group(group)[counter] += by;
  }

  operation(operation: number, counter: OperationCounter): void {
    count(this.operations, operation, counter, 1);
  }

  /** Increments a counter that never decreases. */
  counter(queue: number, name: string): void {
    count(this.counters, queue, name, 1);
  }

  /** Counts a letter that was added to its group. */
  buried(letter: Letter): void {
    this.restored(letter, 1);
  }

  /** Counts a letter that returned to its group; `arrivals` is 1 for a new letter. */
  restored(letter: Letter, arrivals = 0): void {
    const sum = this.#group(letter.grp);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, letter.first_at, letter.buried_at);
    sum.lastAt = Math.max(sum.lastAt, letter.buried_at);
    const arrival = this.#arrival(letter);
    arrival.waiting += 1;
    arrival.ever += arrivals;
  }

  /** Counts a letter that left its group. The group's first and last times do not change. */
  unburied(letter: Letter): void {
    this.#group(letter.grp).count -= 1;
    this.#arrival(letter).waiting -= 1;
  }

  /** Moves the counts of a letter's burial to its new group. */
  regrouped(from: Letter, to: Letter, isWaiting: boolean): void {
    this.#arrival(from).ever -= 1;
    this.buried(to);
    this.unburied(isWaiting ? from : to);
  }

  #group(group: number): GroupSum {
    const known = this.groups.get(group);
    if (known !== undefined) return known;
    const none = { count: 0, in_retry: 0, resolved: 0, discarded: 0 };
    const sum = { group, ...none, firstAt: Number.MAX_SAFE_INTEGER, lastAt: 0 };
    this.groups.set(group, sum);
    return sum;
  }

  #arrival({ grp: group, buried_at: at }: CountedLetter): ArrivalSum {
    const minute = minuteOf(at);
    return entryOf(this.arrivals, `${group}/${minute}`, { group, minute, waiting: 0, ever: 0 });
  }
}

/** Allocates nothing for existing counters, because this is called for each item of every write. */
function count<Counter>(sums: Map<number, Map<Counter, number>>, no: number, counter: Counter, by: number) {
  const counters = sums.get(no);
  if (counters === undefined) sums.set(no, new Map([[counter, by]]));
  else counters.set(counter, (counters.get(counter) ?? 0) + by);
}

export function entryOf<Key, Entry>(map: Map<Key, Entry>, key: Key, none: Entry): Entry {
  const entry = map.get(key) ?? none;
  map.set(key, entry);
  return entry;
}

/** Lists counters by queue, in order of creation, then by name. Counters that belong to no queue are left out. */
export function listCounters(db: Db): Step<Counter[]> {
  return db.all<Counter>(
    `SELECT q.name AS queue, c.name, sum(c.value) AS value FROM counters c JOIN queues q ON q.no = c.queue
      GROUP BY q.no, q.name, c.name ORDER BY q.no, c.name`,
  );
}

export function listArrivals(db: Db, query: ArrivalQuery): Step<Arrival[]> {
  const { bucketMs } = query;
  assert(bucketMs > 0 && bucketMs % MINUTE_MS === 0, "a stretch of arrivals is a multiple of a minute");
  const minutes = bucketMs / MINUTE_MS;
  const { typed, joinInOrder } = db.sql;
  const { sql, values } = groupConditions(db.sql, query);
  return db.all<Arrival>(
    `SELECT a.minute / ${typed("?", "bigint")} * ${typed("?", "bigint")} AS at, sum(a.waiting) AS waiting, sum(a.ever) AS ever
       FROM groups g ${joinInOrder} arrivals a ON a.grp = g.no
      WHERE a.minute >= ? AND ${sql} GROUP BY 1 HAVING sum(a.ever) > 0 ORDER BY 1`,
    minutes,
    bucketMs,
    Math.floor(Math.max(query.since ?? 0, 0) / bucketMs) * minutes,
    ...values,
  );
}
