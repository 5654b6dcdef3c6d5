/**
 * The counters that one transaction changes, summed up and written once at its end: a queue's states, a group's
 * letters and their arrivals, an operation's totals. `store check` counts anew and compares.
 */

import type { ItemState } from "../../item/state.ts";
import { countArrivals, minuteOf } from "./arrivals.ts";
import { countUp } from "./counters.ts";
import { endRedrive } from "./end-redrive.ts";
import { countIntoStratum, stratumOf } from "./letters-by-age.ts";
import type { Session } from "./session.ts";

type QueueCounter = ItemState | "letters" | "resolved" | "purged" | "evicted" | "attempts";
type GroupCounter = "away" | "resolved" | "discarded";
type OperationCounter = "succeeded" | "failed" | "returned";

/** Where a letter lies, and when its item failed for the last and for the first time. */
export interface LetterPlace {
  readonly no: number;
  readonly grp: number;
  readonly buried_at: number;
  readonly first_at: number;
}

/** The letters of a group that came into one stratum, less those that left it. */
interface StratumSum {
  readonly group: number;
  readonly stratum: number;
  count: number;
  firstAt: number;
  lastAt: number;
  /** Of their first failures. */
  firstMin: number;
  firstMax: number;
}

interface ArrivalSum {
  readonly group: number;
  readonly minute: number;
  waiting: number;
  ever: number;
}

const NEVER = Number.MAX_SAFE_INTEGER;

export class CounterDeltas {
  readonly #queues = new Map<number, Map<QueueCounter, number>>();
  readonly #groups = new Map<number, Map<GroupCounter, number>>();
  readonly #strata = new Map<string, StratumSum>();
  readonly #arrivals = new Map<string, ArrivalSum>();
  readonly #operations = new Map<number, Map<OperationCounter, number>>();
  readonly #counters = new Map<number, Map<string, number>>();

  /** An item went from one state to another; `null` is "was not there". */
  move(queue: number, from: ItemState | null, to: ItemState): void {
    if (from !== null) this.queue(queue, from, -1);
    this.queue(queue, to, 1);
  }

  queue(queue: number, counter: QueueCounter, by: number): void {
    count(this.#queues, queue, counter, by);
  }

  /** Letters of the group that are on their way, or closed. */
  group(group: number, counter: GroupCounter, by: number): void {
    count(this.#groups, group, counter, by);
  }

  operation(operation: number, counter: OperationCounter): void {
    count(this.#operations, operation, counter, 1);
  }

  /** What only goes up; see item/counter.ts. */
  counter(queue: number, name: string): void {
    count(this.#counters, queue, name, 1);
  }

  /** A letter came into the group. */
  buried(letter: LetterPlace): void {
    this.#arrive(letter, 1);
    this.restored(letter);
  }

  /** A letter came back to where it was. */
  restored({ no, grp, buried_at: at, first_at: first }: LetterPlace): void {
    const sum = this.#stratum(grp, no);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, at);
    sum.lastAt = Math.max(sum.lastAt, at);
    sum.firstMin = Math.min(sum.firstMin, first);
    sum.firstMax = Math.max(sum.firstMax, first);
    this.#wait(grp, at, 1);
  }

  /** A letter left the group; the times stay. */
  unburied({ no, grp, buried_at: at }: LetterPlace): void {
    this.#stratum(grp, no).count -= 1;
    this.#wait(grp, at, -1);
  }

  /** A letter changed its group: what was counted of its burial is counted there now. */
  regrouped(from: LetterPlace, to: LetterPlace, isWaiting: boolean): void {
    this.#arrive(from, -1);
    this.buried(to);
    this.unburied(isWaiting ? from : to);
  }

  #stratum(group: number, letter: number): StratumSum {
    const stratum = stratumOf(letter);
    const bounds = { firstAt: NEVER, lastAt: 0, firstMin: NEVER, firstMax: 0 };
    return entryOf(this.#strata, `${group}/${stratum}`, { group, stratum, count: 0, ...bounds });
  }

  #arrive({ grp, buried_at: at }: LetterPlace, by: number): void {
    this.#arrival(grp, at).ever += by;
  }

  #wait(group: number, at: number, by: number): void {
    this.#arrival(group, at).waiting += by;
  }

  #arrival(group: number, at: number): ArrivalSum {
    const minute = minuteOf(at);
    return entryOf(this.#arrivals, `${group}/${minute}`, { group, minute, waiting: 0, ever: 0 });
  }

  write(session: Session): void {
    for (const [queue, counters] of this.#queues) addTo(session, "queues", queue, counters);
    for (const sum of this.#strata.values()) writeStratum(session, sum);
    for (const sum of this.#arrivals.values()) countArrivals(session, sum);
    for (const [group, counters] of this.#groups) addTo(session, "groups", group, counters);
    for (const [operation, counters] of this.#operations) {
      addTo(session, "operations", operation, counters);
      endRedrive(session, operation);
    }
    for (const [queue, counters] of this.#counters) countUp(session, queue, counters);
  }
}

/** The hottest of all: nothing is made that is there already. */
function count<Counter>(sums: Map<number, Map<Counter, number>>, no: number, counter: Counter, by: number) {
  const counters = sums.get(no);
  if (counters === undefined) sums.set(no, new Map([[counter, by]]));
  else counters.set(counter, (counters.get(counter) ?? 0) + by);
}

function entryOf<Key, Entry>(map: Map<Key, Entry>, key: Key, none: Entry): Entry {
  const entry = map.get(key) ?? none;
  map.set(key, entry);
  return entry;
}

function writeStratum(session: Session, sum: StratumSum): void {
  countIntoStratum(session, sum, sum);
  session.run(
    // Both ends: the clock may have been put back.
    "UPDATE groups SET count = count + ?, first_at = min(first_at, ?), last_at = max(last_at, ?) WHERE no = ?",
    sum.count,
    Math.min(sum.firstAt, sum.firstMin),
    sum.lastAt,
    sum.group,
  );
}

/** The counters of one row. Few different sets of them are ever changed together, so the statements stay few. */
function addTo(session: Session, table: string, no: number, counters: ReadonlyMap<string, number>): void {
  const changed = [...counters].filter(([, by]) => by !== 0).sort(([a], [b]) => (a < b ? -1 : 1));
  if (changed.length === 0) return;
  const sums = changed.map(([counter]) => `${counter} = ${counter} + ?`).join(", ");
  session.run(`UPDATE ${table} SET ${sums} WHERE no = ?`, ...changed.map(([, by]) => by), no);
}
