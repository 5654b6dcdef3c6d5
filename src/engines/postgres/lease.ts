/** Holders of leases on PostgreSQL, and the leases of each. */
import type { Holder, NewHolder } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { LeasedItem } from "../../item/item.ts";
import { type HolderRow, holderOf, type LeasedRow, leasedItemOf } from "../lease-row.ts";
import { queueNo } from "./jobs.ts";
import type { Tx } from "./session.ts";

/** Repeatable, because the answer to a commit can be lost: the id is known to nobody else. */
export async function registerHolder(tx: Tx, holder: NewHolder): Promise<Holder> {
  const { id, host, pid, processStart, ttlMs } = holder;
  const expiresAt = tx.now + ttlMs;
  await tx.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
       WHERE holders.gone = 0 AND holders.expires_at > 0`,
    ...[id, await queueNo(tx, holder.queue), host, pid, processStart, ttlMs, expiresAt],
  );
  return { ...holder, expiresAt, expired: false };
}

export async function heartbeat(tx: Tx, holderId: string): Promise<boolean> {
  const sql =
    "UPDATE holders SET expires_at = ?::bigint + ttl_ms WHERE id = ? AND gone = 0 AND expires_at > 0";
  return (await tx.run(sql, tx.now, holderId)) > 0;
}

/**
 * A revoked holder expired at time 0, which no heartbeat changes. `unregisterHolder` waits for a lease that commits at the same
 * moment; the holder starts nothing, because its heartbeat is too old.
 */
export async function revoke(
  tx: Tx,
  holderId: string,
  { isProcessDead }: { readonly isProcessDead: boolean },
): Promise<boolean> {
  const until = isProcessDead ? Number.MAX_SAFE_INTEGER : tx.now;
  const sql = "UPDATE holders SET expires_at = 0 WHERE id = ? AND gone = 0 AND expires_at <= ?::bigint";
  return (await tx.run(sql, holderId, until)) > 0;
}

/** Locks the row first: a concurrent lease of the holder either commits before or is refused. */
export async function unregisterHolder(tx: Tx, holderId: string): Promise<boolean> {
  const holder = await tx.get<{ no: number }>("SELECT no FROM holders WHERE id = ? FOR UPDATE", holderId);
  if (holder === undefined) return true;
  const held = await tx.get(`SELECT 1 FROM ${HELD} WHERE l.holder = ? LIMIT 1`, holder.no);
  if (held !== undefined) return false;
  await tx.run("UPDATE holders SET gone = 1 WHERE no = ?", holder.no);
  await tx.run("DELETE FROM leases WHERE holder = ?", holder.no);
  return true;
}

/** Leases of a step whose answer was lost. If the step has not run yet, it is refused from now on. */
export async function takeUnheard(tx: Tx, holderId: string, settleAndLease: number): Promise<LeasedItem[]> {
  await tx.run("SELECT 1 FROM holders WHERE id = ? FOR UPDATE", holderId); // waits for a concurrent lease
  await tx.run("UPDATE holders SET turn = ? WHERE id = ?", settleAndLease + 1, holderId);
  return listLeases(tx, holderId, settleAndLease);
}

/** The leased items `i` by the leases of their holders; an item may appear twice. */
export const HELD = `leases l CROSS JOIN LATERAL unnest(l.refs) AS r (ref)
  JOIN items i ON i.ref = r.ref AND i.holder = l.holder AND i.state = 'leased'`;

/** Merges the rows of a holder's leases into one that contains only current leases. */
export async function gatherLeases(tx: Tx, holder: number): Promise<void> {
  await tx.run(
    `WITH given AS (DELETE FROM leases WHERE holder = ?1 RETURNING refs)
     INSERT INTO leases (holder, refs)
     SELECT ?1::bigint, array_agg(DISTINCT i.ref) FROM given g CROSS JOIN LATERAL unnest(g.refs) AS r (ref)
       JOIN items i ON i.ref = r.ref AND i.holder = ?1 AND i.state = 'leased' HAVING count(*) > 0`,
    holder,
  );
}

export async function listHolders(tx: Tx): Promise<Holder[]> {
  const rows = await tx.all<HolderRow>(
    `SELECT h.id, q.name AS queue, h.host, h.pid, h.process_start, h.ttl_ms, h.expires_at
       FROM holders h JOIN queues q ON q.no = h.queue WHERE h.gone = 0 ORDER BY h.no`,
  );
  return rows.map((row) => holderOf(row, tx.now));
}

export function holderGone(holderId: string): WorkError {
  return new WorkError("lease_lost", `Holder ${holderId} is not known any more; nothing was changed.`, {
    hint: "It missed its heartbeats and was taken for dead. Enter again as a new holder.",
  });
}

/** All leases of the holder, or those of one step that was sent without a transaction. */
export async function listLeases(tx: Tx, holderId: string, settleAndLease?: number): Promise<LeasedItem[]> {
  const rows = await tx.all<LeasedRow>(
    `SELECT i.ref, q.name AS queue, i.item_id, p.data, p.name, i.attempts, i.spent, i.losses, i.revision, i.redrives,
            i.place, i.expires_at, i.started_at
       FROM (SELECT DISTINCT i.ref FROM holders h JOIN ${HELD} ON l.holder = h.no
              WHERE h.id = ?1 AND (?2::bigint IS NULL OR l.exchange = ?2::bigint)) held
            JOIN items i ON i.ref = held.ref JOIN queues q ON q.no = i.queue JOIN payloads p ON p.ref = i.ref
      ORDER BY i.ref`,
    holderId,
    settleAndLease ?? null,
  );
  return rows.map(leasedItemOf);
}
