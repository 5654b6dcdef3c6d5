/**
 * Maintains `ready_items`, the ready items that may be leased. A step that makes an item ready inserts its row; a step that
 * changes a ready item deletes the row first. So an item with a row is ready, and whoever locks the row owns the item.
 */
import { alignOrderingKeys, type OrderingKey } from "./ordering-keys.ts";
import type { Tx } from "./session.ts";

/** The columns of `ready_items`. */
const READY_COLUMNS = "queue, priority, due_at, ref, operation";

/** Inserts ready items and notifies the workers of their queues. */
export async function joinLine(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  const joined = await tx.all<{ queue: number; name: string; ordering_key: string | null }>(
    `WITH ready AS (SELECT ${READY_COLUMNS}, ordering_key FROM items WHERE ref = ANY (?::bigint[]) AND state = 'ready'),
          placed AS (INSERT INTO ready_items (${READY_COLUMNS}) SELECT ${READY_COLUMNS} FROM ready WHERE ordering_key IS NULL ON CONFLICT DO NOTHING),
          ordered AS (INSERT INTO ordered_items (queue, ordering_key, ref) SELECT queue, ordering_key, ref FROM ready WHERE ordering_key IS NOT NULL
                    ON CONFLICT (queue, ordering_key, ref) DO UPDATE SET leased = 0)
     SELECT DISTINCT r.queue, q.name, r.ordering_key FROM ready r JOIN queues q ON q.no = r.queue`,
    refs,
  );
  await alignOrderingKeys(tx, joined.flatMap(orderingKeyOf));
  for (const name of new Set(joined.map((one) => one.name))) await tx.notify(name);
}

/** Removes ready items that are about to change to a state in which they do not block their ordering key. */
export async function leaveLine(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  await takeFromLine(tx, refs);
  const left = await tx.all<OrderingKey>(
    `DELETE FROM ordered_items l USING items i WHERE i.ref = ANY (?::bigint[]) AND i.ordering_key IS NOT NULL
        AND l.queue = i.queue AND l.ordering_key = i.ordering_key AND l.ref = i.ref RETURNING l.queue, l.ordering_key`,
    refs,
  );
  await alignOrderingKeys(tx, left);
}

/** Deletes rows of `ready_items` only. Waits for workers that are leasing them. */
export async function takeFromLine(tx: Tx, refs: readonly number[]): Promise<void> {
  await tx.run(
    `DELETE FROM ready_items l USING items i WHERE i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.priority = i.priority
        AND l.due_at = i.due_at AND l.ref = i.ref`,
    refs,
  );
}

function orderingKeyOf({
  queue,
  ordering_key,
}: {
  readonly queue: number;
  readonly ordering_key: string | null;
}): OrderingKey[] {
  return ordering_key === null ? [] : [{ queue, ordering_key }];
}
