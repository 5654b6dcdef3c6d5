/**
 * The counters that one transaction changes, summed up and written once at its end: a queue's states, a group's
 * letters, an operation's books. `store check` counts anew and compares.
 */
import type { ItemState } from "../../item/state.ts";
import type { Session } from "./session.ts";
import { countIntoStratum, stratumOf } from "./strata.ts";

type QueueCounter = ItemState | "letters" | "attempts";
type OperationCounter = "succeeded" | "failed";

/** The letters of a group that came into one stratum, less those that left it. */
interface StratumSum {
  readonly group: number;
  readonly stratum: number;
  count: number;
  firstAt: number;
  lastAt: number;
}

export class Tally {
  readonly #queues = new Map<number, Map<QueueCounter, number>>();
  readonly #strata = new Map<string, StratumSum>();
  readonly #operations = new Map<number, Record<OperationCounter, number>>();

  /** An item went from one state to another; `null` is "was not there". */
  move(queue: number, from: ItemState | null, to: ItemState): void {
    if (from !== null) this.queue(queue, from, -1);
    this.queue(queue, to, 1);
  }

  queue(queue: number, counter: QueueCounter, by: number): void {
    const counters = this.#queues.get(queue) ?? new Map<QueueCounter, number>();
    counters.set(counter, (counters.get(counter) ?? 0) + by);
    this.#queues.set(queue, counters);
  }

  /** A letter came into the group. */
  buried(group: number, letter: number, at: number): void {
    const sum = this.#stratum(group, letter);
    sum.count += 1;
    sum.firstAt = Math.min(sum.firstAt, at);
    sum.lastAt = Math.max(sum.lastAt, at);
  }

  /** A letter left the group; the times stay. */
  unburied(group: number, letter: number): void {
    this.#stratum(group, letter).count -= 1;
  }

  #stratum(group: number, letter: number): StratumSum {
    const stratum = stratumOf(letter);
    const key = `${group}/${stratum}`;
    const sum = this.#strata.get(key) ?? {
      group,
      stratum,
      count: 0,
      firstAt: Number.MAX_SAFE_INTEGER,
      lastAt: 0,
    };
    this.#strata.set(key, sum);
    return sum;
  }

  operation(operation: number, counter: OperationCounter): void {
    const sum = this.#operations.get(operation) ?? { succeeded: 0, failed: 0 };
    sum[counter] += 1;
    this.#operations.set(operation, sum);
  }

  write(session: Session): void {
    for (const [queue, counters] of this.#queues) writeQueue(session, queue, counters);
    for (const sum of this.#strata.values()) writeStratum(session, sum);
    for (const [operation, { succeeded, failed }] of this.#operations) {
      session.run(
        "UPDATE operations SET succeeded = succeeded + ?, failed = failed + ? WHERE no = ?",
        succeeded,
        failed,
        operation,
      );
    }
  }
}

function writeStratum(session: Session, sum: StratumSum): void {
  countIntoStratum(session, sum, sum);
  session.run(
    // Both ends: the clock may have been put back.
    "UPDATE groups SET count = count + ?, first_at = min(first_at, ?), last_at = max(last_at, ?) WHERE no = ?",
    sum.count,
    sum.firstAt,
    sum.lastAt,
    sum.group,
  );
}

function writeQueue(session: Session, queue: number, counters: ReadonlyMap<QueueCounter, number>): void {
  const of = (counter: QueueCounter) => counters.get(counter) ?? 0;
  session.run(
    `UPDATE queues SET ready = ready + ?, leased = leased + ?, held = held + ?, done = done + ?, dead = dead + ?,
       skipped = skipped + ?, discarded = discarded + ?, letters = letters + ?, attempts = attempts + ? WHERE no = ?`,
    of("ready"),
    of("leased"),
    of("held"),
    of("done"),
    of("dead"),
    of("skipped"),
    of("discarded"),
    of("letters"),
    of("attempts"),
    queue,
  );
}
