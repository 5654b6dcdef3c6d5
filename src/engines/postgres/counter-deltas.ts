/** Writes the counters that a transaction changes, once at its end, with one statement for each table. */
import { ITEM_STATES } from "../../item/state.ts";
import {
  type ArrivalSum,
  type CountedLetter,
  Deltas,
  type GroupSum,
  type OperationCounter,
  type QueueCounter,
} from "../sql/deltas.ts";
import { endRedrivesSql } from "../sql/operations.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

const QUEUE_COUNTERS: readonly QueueCounter[] = [
  ...ITEM_STATES,
  ...(["letters", "resolved", "purged", "evicted", "attempts"] as const),
];

export class CounterDeltas extends Deltas<CountedLetter> {
  async write(tx: Tx): Promise<void> {
    await Promise.all([
      countGroups(tx, [...this.groups.values()]),
      countArrivals(tx, [...this.arrivals.values()]),
      countOperations(tx, [...this.operations]),
      countQueues(tx, [...this.queues]),
      countUp(
        tx,
        [...this.counters].flatMap(([queue, sums]) => [...sums].map(([name, by]) => ({ queue, name, by }))),
      ),
    ]);
  }
}

/** Updates both `first_at` and `last_at`, because the clock may have been set back. */
async function countGroups(tx: Tx, sums: readonly GroupSum[]): Promise<void> {
  if (sums.length === 0) return;
  await tx.run(
    `UPDATE groups g SET count = g.count + s.count, in_retry = g.in_retry + s.in_retry, resolved = g.resolved + s.resolved,
            discarded = g.discarded + s.discarded, first_at = least(g.first_at, s.first_at),
            last_at = greatest(g.last_at, s.last_at)
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
            AS s (no, count, in_retry, resolved, discarded, first_at, last_at)
      WHERE g.no = s.no`,
    sums.map((sum) => sum.group),
    sums.map((sum) => sum.count),
    sums.map((sum) => sum.in_retry),
    sums.map((sum) => sum.resolved),
    sums.map((sum) => sum.discarded),
    sums.map((sum) => sum.firstAt),
    sums.map((sum) => sum.lastAt),
  );
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
  // Both are sent without waiting, because COMMIT may be sent right after them.
  const counted = tx.run(
    `UPDATE operations o SET succeeded = o.succeeded + s.succeeded, failed = o.failed + s.failed,
            returned = o.returned + s.returned
       FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) AS s (no, succeeded, failed, returned)
      WHERE o.no = s.no`,
    ...[sums.map(([operation]) => operation), of("succeeded"), of("failed"), of("returned")],
  );
  const ended = tx.run(
    endRedrivesSql(DIALECT),
    tx.now,
    sums.map(([operation]) => operation),
  );
  await Promise.all([counted, ended]);
}

/** Updates existing minutes and inserts the others. Only an existing minute can have a negative delta. */
async function countArrivals(tx: Tx, sums: readonly ArrivalSum[]): Promise<void> {
  const changed = sums.filter(({ waiting, ever }) => waiting !== 0 || ever !== 0);
  if (changed.length === 0) return;
  await tx.run(
    `WITH counted AS (
       UPDATE arrivals a SET waiting = a.waiting + s.waiting, ever = a.ever + s.ever FROM ${ARRIVALS}
        WHERE a.grp = s.grp AND a.minute = s.minute RETURNING a.grp, a.minute)
     INSERT INTO arrivals (grp, minute, waiting, ever)
     SELECT * FROM ${ARRIVALS} WHERE NOT EXISTS (SELECT 1 FROM counted c WHERE c.grp = s.grp AND c.minute = s.minute)`,
    changed.map((sum) => sum.group),
    changed.map((sum) => sum.minute),
    changed.map((sum) => sum.waiting),
    changed.map((sum) => sum.ever),
  );
}

const ARRIVALS =
  "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS s (grp, minute, waiting, ever)";

/** Adds to counters that never decrease. They are sharded and summed on read. Repeated names add up. */
export async function countUp(
  tx: Tx,
  counts: readonly { readonly queue: number; readonly name: string; readonly by: number }[],
): Promise<void> {
  if (counts.length === 0) return;
  // All transactions lock the rows in the same order, so that they cannot deadlock.
  await tx.run(
    `INSERT INTO counters (queue, name, shard, value)
     SELECT queue, name, ?::integer, sum(by) FROM unnest(?::bigint[], ?::text[], ?::bigint[]) AS c (queue, name, by)
      GROUP BY queue, name ORDER BY queue, name COLLATE "C"
     ON CONFLICT (queue, name, shard) DO UPDATE SET value = counters.value + excluded.value`,
    tx.shard,
    counts.map(({ queue }) => queue),
    counts.map(({ name }) => name),
    counts.map(({ by }) => by),
  );
}
