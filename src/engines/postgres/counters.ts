/** What only goes up, and survives whatever is deleted. Kept in shards, summed when it is read. */
import type { Tx } from "./session.ts";

/** A name that is there twice counts twice. */
export async function countUp(
  tx: Tx,
  counts: readonly { readonly queue: number; readonly name: string; readonly by: number }[],
): Promise<void> {
  if (counts.length === 0) return;
  // In one order for everybody, so that no two wait for each other.
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
