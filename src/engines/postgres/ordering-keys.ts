/**
 * Makes ready items available for leasing (`ready_items`). Among the ready items with the same ordering key,
 * only the oldest has a row there, and none does while another one is leased or an older one is held. The
 * others are only in `ordered_items`, so that leasing never reads them.
 */
import type { Tx } from "./session.ts";

export interface OrderingKey {
  readonly queue: number;
  readonly ordering_key: string;
}

/** Puts the right item of each ordering key into `ready_items` after items with that key have changed. */
export async function alignOrderingKeys(tx: Tx, keys: readonly OrderingKey[]): Promise<void> {
  const changed = distinct(keys);
  if (changed.length === 0) return;
  const [queues, names] = [
    changed.map(({ queue }) => queue),
    changed.map(({ ordering_key }) => ordering_key),
  ];
  const [before, , heads] = await Promise.all([
    tx.all<{ ref: number | null }>(LOCK_KEYS, queues, names),
    tx.run(LOCK_PLACES, queues, names),
    tx.all<OrderingKey & { ref: number | null }>(FIND_HEADS, queues, names),
  ]);
  await replaceHeads(tx, before.map(({ ref }) => ref).filter(isNumber), heads);
}

const GIVEN = "unnest(?1::bigint[], ?2::text[]) AS g (queue, ordering_key)";

/**
 * Locks the ordering keys: until the transaction ends, other transactions can only lease their current heads.
 */
const LOCK_KEYS = `
  INSERT INTO ordering_heads (queue, ordering_key) SELECT * FROM ${GIVEN} ORDER BY queue, ordering_key COLLATE "C"
  ON CONFLICT (queue, ordering_key) DO UPDATE SET ref = ordering_heads.ref RETURNING ref`;

/**
 * A worker that leases a head has locked its row in `ready_items`. This statement waits for the worker and
 * blocks the next one. Otherwise a head that is being leased would look ready and be inserted again.
 */
const LOCK_PLACES = `
  SELECT 1 FROM ${GIVEN} JOIN ordering_heads h ON h.queue = g.queue AND h.ordering_key = g.ordering_key JOIN items i ON i.ref = h.ref
         JOIN ready_items l ON l.queue = i.queue AND l.priority = i.priority AND l.due_at = i.due_at AND l.ref = i.ref
     FOR UPDATE OF l`;

/** A separate statement, so that it sees the commits of the transactions that it waited for. */
const FIND_HEADS = `
  SELECT g.queue, g.ordering_key, CASE WHEN i.state = 'ready' AND b.ref IS NULL THEN i.ref END AS ref
    FROM ${GIVEN}
         LEFT JOIN LATERAL (SELECT ref FROM ordered_items l WHERE l.queue = g.queue AND l.ordering_key = g.ordering_key ORDER BY ref LIMIT 1) f ON true
         LEFT JOIN items i ON i.ref = f.ref
         LEFT JOIN LATERAL (SELECT ref FROM ordered_items l WHERE l.queue = g.queue AND l.ordering_key = g.ordering_key AND l.leased = 1 LIMIT 1) b
                ON true`;

async function replaceHeads(
  tx: Tx,
  before: readonly number[],
  heads: readonly (OrderingKey & { readonly ref: number | null })[],
): Promise<void> {
  const after = heads.map(({ ref }) => ref);
  const standing = new Set(after);
  await Promise.all([
    tx.run(
      `DELETE FROM ready_items l USING items i WHERE i.ref = ANY (?::bigint[]) AND l.queue = i.queue
          AND l.priority = i.priority AND l.due_at = i.due_at AND l.ref = i.ref`,
      before.filter((ref) => !standing.has(ref)),
    ),
    tx.run(
      `INSERT INTO ready_items (queue, priority, due_at, ref, operation)
       SELECT queue, priority, due_at, ref, operation FROM items WHERE ref = ANY (?::bigint[]) ON CONFLICT DO NOTHING`,
      after.filter(isNumber),
    ),
    tx.run(
      `UPDATE ordering_heads h SET ref = g.ref FROM unnest(?::bigint[], ?::text[], ?::bigint[]) AS g (queue, ordering_key, ref)
        WHERE h.queue = g.queue AND h.ordering_key = g.ordering_key AND h.ref IS DISTINCT FROM g.ref`,
      heads.map(({ queue }) => queue),
      heads.map(({ ordering_key }) => ordering_key),
      after,
    ),
  ]);
}

/** Marks leased items in `ordered_items`, so that no other item with the same ordering key becomes leasable. */
export async function leaseOrdered(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.run(
    `UPDATE ordered_items l SET leased = 1 FROM items i
      WHERE i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.ordering_key = i.ordering_key AND l.ref = i.ref`,
    refs,
  );
}

/** Updates `ordered_items` after leases have ended: items that are ready again still block younger ones, all others are removed. */
export async function settleOrdered(
  tx: Tx,
  settled: readonly (OrderingKey & { readonly ref: number; readonly isReady: boolean })[],
): Promise<void> {
  if (settled.length === 0) return;
  const pick = (isReady: boolean) => settled.filter((one) => one.isReady === isReady).map(({ ref }) => ref);
  const ours =
    "i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.ordering_key = i.ordering_key AND l.ref = i.ref";
  await Promise.all([
    tx.run(`UPDATE ordered_items l SET leased = 0 FROM items i WHERE ${ours}`, pick(true)),
    tx.run(`DELETE FROM ordered_items l USING items i WHERE ${ours}`, pick(false)),
  ]);
  await alignOrderingKeys(tx, settled);
}

function distinct(keys: readonly OrderingKey[]): OrderingKey[] {
  return [...new Map(keys.map((one) => [`${one.queue}/${one.ordering_key}`, one])).values()];
}

function isNumber(ref: number | null): ref is number {
  return ref !== null;
}

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
