/**
 * The counters that one transaction changes, summed up and written once at its end: a queue's states, a group's letters and
 * their arrivals, an operation's totals, and what only goes up. `store check` counts anew and compares.
 */

import { ITEM_STATES, type ItemState } from "../../item/state.ts";
import { countUp } from "./counters.ts";
import { endRedrives } from "./end-redrive.ts";
import { LetterDeltas } from "./letter-deltas.ts";
import type { Tx } from "./session.ts";

export type { LetterPlace } from "./letter-deltas.ts";

const QUEUE_COUNTERS = [...ITEM_STATES, "letters", "resolved", "purged", "evicted", "attempts"] as const;
type QueueCounter = (typeof QUEUE_COUNTERS)[number];
type OperationCounter = "succeeded" | "failed" | "returned";

export class CounterDeltas extends LetterDeltas {
  readonly #queues = new Map<number, Map<QueueCounter, number>>();
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

  operation(operation: number, counter: OperationCounter): void {
    count(this.#operations, operation, counter, 1);
  }

  /** What only goes up: each name by one. */
  countUp(queue: number, names: readonly string[]): void {
    for (const name of names) count(this.#counters, queue, name, 1);
  }

  override async write(tx: Tx): Promise<void> {
    await Promise.all([
      super.write(tx),
      countOperations(tx, [...this.#operations]),
      countQueues(tx, [...this.#queues]),
      countUp(
        tx,
        [...this.#counters].flatMap(([queue, sums]) => [...sums].map(([name, by]) => ({ queue, name, by }))),
      ),
    ]);
  }
}

function count<Counter>(sums: Map<number, Map<Counter, number>>, no: number, counter: Counter, by: number) {
  const counters = sums.get(no) ?? new Map<Counter, number>();
  sums.set(no, counters);
  counters.set(counter, (counters.get(counter) ?? 0) + by);
}

type Sums<Counter> = readonly (readonly [number, ReadonlyMap<Counter, number>])[];

const LIST = QUEUE_COUNTERS.join(", ");
const ADDED = QUEUE_COUNTERS.map((counter) => `${counter} = queue_counts.${counter} + excluded.${counter}`);

async function countQueues(tx: Tx, sums: Sums<QueueCounter>): Promise<void> {
  const changed = sums.filter(([, counters]) => [...counters.values()].some((by) => by !== 0));
  if (changed.length === 0) return;
  const arrays = QUEUE_COUNTERS.map((counter) => changed.map(([, counters]) => counters.get(counter) ?? 0));
  await tx.run(
    `INSERT INTO queue_counts (shard, queue, ${LIST})
     SELECT ?::integer, c.* FROM unnest(?::bigint[], ${QUEUE_COUNTERS.map(() => "?::bigint[]").join(", ")}) AS c (queue, ${LIST})
      ORDER BY c.queue
     ON CONFLICT (queue, shard) DO UPDATE SET ${ADDED.join(", ")}`,
    tx.shard,
    changed.map(([queue]) => queue),
    ...arrays,
  );
}

async function countOperations(tx: Tx, sums: Sums<OperationCounter>): Promise<void> {
  if (sums.length === 0) return;
  const of = (counter: OperationCounter) => sums.map(([, counters]) => counters.get(counter) ?? 0);
  // Both are sent at once: the transaction may be ended right behind them.
  const counted = tx.run(
    `UPDATE operations o SET succeeded = o.succeeded + s.succeeded, failed = o.failed + s.failed,
            returned = o.returned + s.returned
       FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) AS s (no, succeeded, failed, returned)
      WHERE o.no = s.no`,
    ...[sums.map(([operation]) => operation), of("succeeded"), of("failed"), of("returned")],
  );
  const ended = endRedrives(
    tx,
    sums.map(([operation]) => operation),
  );
  await Promise.all([counted, ended]);
}
