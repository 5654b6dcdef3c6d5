/** The counters that one transaction changes, summed up until its end. `store check` counts again and compares. */
import type { ItemState } from "../../item/state.ts";

export type QueueCounter = ItemState | "letters" | "resolved" | "purged" | "evicted" | "attempts";
export type GroupCounter = "away" | "resolved" | "discarded";
export type OperationCounter = "succeeded" | "failed" | "returned";

/** Where a letter is, and when its item failed for the last and for the first time. */
export interface LetterPlace {
  readonly no: number;
  readonly grp: number;
  readonly buried_at: number;
  readonly first_at: number;
}

/** What is counted of it. */
export type CountedLetter = Omit<LetterPlace, "no">;

/** What came into a group, less what left it. */
export interface GroupSum extends Record<GroupCounter | "count", number> {
  readonly group: number;
  /** The times of those that came in. */
  firstAt: number;
  lastAt: number;
}

/** The burials of a group in one minute: those that wait, and all; what came less what left. */
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

export class Deltas<Letter extends CountedLetter = LetterPlace> {
  protected readonly queues = new Map<number, Map<QueueCounter, number>>();
  protected readonly groups = new Map<number, GroupSum>();
  protected readonly arrivals = new Map<string, ArrivalSum>();
  protected readonly operations = new Map<number, Map<OperationCounter, number>>();
  protected readonly counters = new Map<number, Map<string, number>>();

  /** An item went from one state to another; `null` is "was not there". */
  move(queue: number, from: ItemState | null, to: ItemState): void {
    if (from !== null) this.queue(queue, from, -1);
    this.queue(queue, to, 1);
  }

  queue(queue: number, counter: QueueCounter, by: number): void {
    count(this.queues, queue, counter, by);
  }

  /** Letters of the group that are in retry, or closed. */
  group(group: number, counter: GroupCounter, by: number): void {
    this.#group(group)[counter] += by;
  }

  operation(operation: number, counter: OperationCounter): void {
    count(this.operations, operation, counter, 1);
  }

  /** What only goes up; see item/counter.ts. */
  counter(queue: number, name: string): void {
    count(this.counters, queue, name, 1);
  }

  /** A letter came into the group. */
  buried(letter: Letter): void {
    this.restored(letter, 1);
  }

  /** A letter came back to where it was; `arrivals` is 1 for one that is new. */
  restored(letter: Letter, arrivals = 0): void {
    const sum = this.#group(letter.grp);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, letter.first_at, letter.buried_at);
    sum.lastAt = Math.max(sum.lastAt, letter.buried_at);
    const arrival = this.#arrival(letter);
    arrival.waiting += 1;
    arrival.ever += arrivals;
  }

  /** A letter left the group; the times stay. */
  unburied(letter: Letter): void {
    this.#group(letter.grp).count -= 1;
    this.#arrival(letter).waiting -= 1;
  }

  /** A letter changed its group: what was counted of its burial is counted there now. */
  regrouped(from: Letter, to: Letter, isWaiting: boolean): void {
    this.#arrival(from).ever -= 1;
    this.buried(to);
    this.unburied(isWaiting ? from : to);
  }

  #group(group: number): GroupSum {
    const known = this.groups.get(group);
    if (known !== undefined) return known;
    const none = { count: 0, away: 0, resolved: 0, discarded: 0 };
    const sum = { group, ...none, firstAt: Number.MAX_SAFE_INTEGER, lastAt: 0 };
    this.groups.set(group, sum);
    return sum;
  }

  #arrival({ grp: group, buried_at: at }: CountedLetter): ArrivalSum {
    const minute = minuteOf(at);
    return entryOf(this.arrivals, `${group}/${minute}`, { group, minute, waiting: 0, ever: 0 });
  }
}

/** The hottest of all: nothing is made that is there already. */
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
