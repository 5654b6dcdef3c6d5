/**
 * The counters that one transaction changes, summed up and written once at its end: a queue's states, a group's
 * letters, an operation's books. `store check` counts anew and compares.
 */
import type { ItemState } from "../../item/state.ts";
import type { Session } from "./session.ts";

type QueueCounter = ItemState | "letters" | "attempts";
type OperationCounter = "succeeded" | "failed";

export class Tally {
  readonly #queues = new Map<number, Map<QueueCounter, number>>();
  readonly #groups = new Map<number, { count: number; lastAt: number }>();
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

  group(group: number, by: number, at: number): void {
    const sum = this.#groups.get(group) ?? { count: 0, lastAt: 0 };
    this.#groups.set(group, {
      count: sum.count + by,
      lastAt: by > 0 ? Math.max(sum.lastAt, at) : sum.lastAt,
    });
  }

  operation(operation: number, counter: OperationCounter): void {
    const sum = this.#operations.get(operation) ?? { succeeded: 0, failed: 0 };
    sum[counter] += 1;
    this.#operations.set(operation, sum);
  }

  write(session: Session): void {
    for (const [queue, counters] of this.#queues) writeQueue(session, queue, counters);
    for (const [group, { count, lastAt }] of this.#groups) {
      session.run(
        "UPDATE groups SET count = count + ?, last_at = max(last_at, ?) WHERE no = ?",
        count,
        lastAt,
        group,
      );
    }
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
