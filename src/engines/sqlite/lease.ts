/** Holders of leases on SQLite, and the leases of each. */
import type { Holder, NewHolder } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import type { LeasedItem } from "../../item/item.ts";
import { type HolderRow, holderOf, type LeasedRow, leasedItemOf } from "../lease-row.ts";
import { queueNo } from "./jobs.ts";
import type { Session } from "./session.ts";

/** Repeatable, because the answer to a commit can be lost: the id is known to nobody else. */
export function registerHolder(session: Session, holder: NewHolder): Holder {
  const now = session.clock.now();
  session.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
       WHERE holders.gone = 0 AND holders.expires_at > 0`,
    holder.id,
    queueNo(session, holder.queue),
    holder.host,
    holder.pid,
    holder.processStart,
    holder.ttlMs,
    now + holder.ttlMs,
  );
  return { ...holder, expiresAt: now + holder.ttlMs, expired: false };
}

export function heartbeat(session: Session, holderId: string): boolean {
  const sql = "UPDATE holders SET expires_at = ? + ttl_ms WHERE id = ? AND gone = 0 AND expires_at > 0";
  return session.run(sql, session.clock.now(), holderId).changes > 0;
}

/** A revoked holder expired at time 0, which no heartbeat changes. */
export function revoke(
  session: Session,
  holderId: string,
  { isProcessDead }: { readonly isProcessDead: boolean },
): boolean {
  const until = isProcessDead ? Number.MAX_SAFE_INTEGER : session.clock.now();
  const sql = "UPDATE holders SET expires_at = 0 WHERE id = ? AND gone = 0 AND expires_at <= ?";
  return session.run(sql, holderId, until).changes > 0;
}

export function unregisterHolder(session: Session, holderId: string): boolean {
  if (listLeases(session, holderId).length > 0) return false;
  session.run("UPDATE holders SET gone = 1 WHERE id = ?", holderId);
  return true;
}

export function listHolders(session: Session): Holder[] {
  const now = session.clock.now();
  const rows = session.all<HolderRow>(
    `SELECT h.id, q.name AS queue, h.host, h.pid, h.process_start, h.ttl_ms, h.expires_at
       FROM holders h JOIN queues q ON q.no = h.queue WHERE h.gone = 0 ORDER BY h.no`,
  );
  return rows.map((row) => holderOf(row, now));
}

/** The number of a registered holder; only such a holder can lease. */
export function holderNo(session: Session, holderId: string): number {
  const sql = "SELECT no FROM holders WHERE id = ? AND gone = 0 AND expires_at > 0";
  const row = session.get<{ no: number }>(sql, holderId);
  if (row === undefined) throw new WorkError("lease_lost", `The holder ${holderId} is not known any more.`);
  return row.no;
}

export function listLeases(session: Session, holderId: string): LeasedItem[] {
  const rows = session.all<LeasedRow>(
    `SELECT i.ref, q.name AS queue, i.item_id, p.data, i.attempts, i.spent, i.losses, i.revision, i.redrives, i.place,
            p.name, i.expires_at, i.started_at
       FROM holders h JOIN items i ON i.holder = h.no AND i.state = 'leased'
            JOIN queues q ON q.no = i.queue
            JOIN payloads p ON p.ref = i.ref
      WHERE h.id = ? ORDER BY i.ref`,
    holderId,
  );
  return rows.map(leasedItemOf);
}
