/**
 * Ordering keys (column `lane`). Of the ready items with the same key, only the oldest has a row in `ready_items`, and none
 * while another one is leased or an older one is held. The others are only in `lanes`, so that leasing never reads them.
 */
import type { Tx } from "./session.ts";

export interface Lane {
  readonly queue: number;
  readonly lane: string;
}

/** Puts the right item of each ordering key into `ready_items` after items with that key have changed. */
export async function alignLanes(tx: Tx, lanes: readonly Lane[]): Promise<void> {
  const changed = distinct(lanes);
  if (changed.length === 0) return;
  const [queues, names] = [changed.map(({ queue }) => queue), changed.map(({ lane }) => lane)];
  const [before, , heads] = await Promise.all([
    tx.all<{ ref: number | null }>(LOCK_LANES, queues, names),
    tx.run(LOCK_PLACES, queues, names),
    tx.all<Lane & { ref: number | null }>(FIND_HEADS, queues, names),
  ]);
  await replaceHeads(tx, before.map(({ ref }) => ref).filter(isNumber), heads);
}

const GIVEN = "unnest(?1::bigint[], ?2::text[]) AS g (queue, lane)";

/** Locks the ordering keys: until the end of the transaction others can only lease their current heads. */
const LOCK_LANES = `
  INSERT INTO lane_heads (queue, lane) SELECT * FROM ${GIVEN} ORDER BY queue, lane COLLATE "C"
  ON CONFLICT (queue, lane) DO UPDATE SET ref = lane_heads.ref RETURNING ref`;

/**
 * A worker that leases a head has locked its row in `ready_items`: this waits for it and blocks the next one. Otherwise a
 * head that is being leased would look ready and be inserted again.
 */
const LOCK_PLACES = `
  SELECT 1 FROM ${GIVEN} JOIN lane_heads h ON h.queue = g.queue AND h.lane = g.lane JOIN items i ON i.ref = h.ref
         JOIN ready_items l ON l.queue = i.queue AND l.priority = i.priority AND l.due_at = i.due_at AND l.ref = i.ref
     FOR UPDATE OF l`;

/** A separate statement, so that it sees what the transactions it waited for have committed. */
const FIND_HEADS = `
  SELECT g.queue, g.lane, CASE WHEN i.state = 'ready' AND b.ref IS NULL THEN i.ref END AS ref
    FROM ${GIVEN}
         LEFT JOIN LATERAL (SELECT ref FROM lanes l WHERE l.queue = g.queue AND l.lane = g.lane ORDER BY ref LIMIT 1) f ON true
         LEFT JOIN items i ON i.ref = f.ref
         LEFT JOIN LATERAL (SELECT ref FROM lanes l WHERE l.queue = g.queue AND l.lane = g.lane AND l.leased = 1 LIMIT 1) b
                ON true`;

async function replaceHeads(
  tx: Tx,
  before: readonly number[],
  heads: readonly (Lane & { readonly ref: number | null })[],
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
      `UPDATE lane_heads h SET ref = g.ref FROM unnest(?::bigint[], ?::text[], ?::bigint[]) AS g (queue, lane, ref)
        WHERE h.queue = g.queue AND h.lane = g.lane AND h.ref IS DISTINCT FROM g.ref`,
      heads.map(({ queue }) => queue),
      heads.map(({ lane }) => lane),
      after,
    ),
  ]);
}

/** Marks leased items in `lanes`, so that no other item with the same ordering key becomes leasable. */
export async function leaseInLanes(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.run(
    `UPDATE lanes l SET leased = 1 FROM items i
      WHERE i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.lane = i.lane AND l.ref = i.ref`,
    refs,
  );
}

/** Updates `lanes` after leases have ended: items that are ready again still block younger ones, all others are removed. */
export async function settleInLanes(
  tx: Tx,
  settled: readonly (Lane & { readonly ref: number; readonly isReady: boolean })[],
): Promise<void> {
  if (settled.length === 0) return;
  const pick = (isReady: boolean) => settled.filter((one) => one.isReady === isReady).map(({ ref }) => ref);
  const ours = "i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.lane = i.lane AND l.ref = i.ref";
  await Promise.all([
    tx.run(`UPDATE lanes l SET leased = 0 FROM items i WHERE ${ours}`, pick(true)),
    tx.run(`DELETE FROM lanes l USING items i WHERE ${ours}`, pick(false)),
  ]);
  await alignLanes(tx, settled);
}

function distinct(lanes: readonly Lane[]): Lane[] {
  return [...new Map(lanes.map((one) => [`${one.queue}/${one.lane}`, one])).values()];
}

function isNumber(ref: number | null): ref is number {
  return ref !== null;
}
