/** Lease holders and their leases. */
import type { Holder, NewHolder } from "../../engine.ts";
import type { LeasedItem } from "../../item/item.ts";
import { readOptions } from "../../item/item-options.ts";
import type { Db, SqlValue, Step } from "./db.ts";
import { queueNo } from "./jobs.ts";
import { objectOf } from "./rows.ts";

/** Idempotent, because the response to a commit can get lost. No other process uses the same id. */
export function* registerHolder(db: Db, holder: NewHolder): Step<Holder> {
  const { id, host, pid, processStart, ttlMs } = holder;
  const expiresAt = db.now + ttlMs;
  yield* db.run(
    `INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at
       WHERE holders.gone = 0 AND holders.expires_at > 0`,
    ...[id, yield* queueNo(db, holder.queue), host, pid, processStart, ttlMs, expiresAt],
  );
  return { ...holder, expiresAt, expired: false };
}

export function* heartbeat(db: Db, holderId: string): Step<boolean> {
  const expiry = `${db.sql.typed("?", "bigint")} + ttl_ms`;
  const sql = `UPDATE holders SET expires_at = ${expiry} WHERE id = ? AND gone = 0 AND expires_at > 0`;
  return (yield* db.run(sql, db.now, holderId)) > 0;
}

/**
 * Sets the expiry to 0, which no heartbeat changes. `unregisterHolder` waits for a lease that commits at the
 * same time. The holder does not start that item, because its heartbeat is too old.
 */
export function* revoke(
  db: Db,
  holderId: string,
  { isProcessDead }: { readonly isProcessDead: boolean },
): Step<boolean> {
  const until = isProcessDead ? Number.MAX_SAFE_INTEGER : db.now;
  const sql = "UPDATE holders SET expires_at = 0 WHERE id = ? AND gone = 0 AND expires_at <= ?";
  return (yield* db.run(sql, holderId, until)) > 0;
}

/** Locks the row first: a concurrent lease by the holder either commits before or is refused. */
export function* unregisterHolder(db: Db, holderId: string): Step<boolean> {
  const sql = `SELECT no FROM holders WHERE id = ? ${db.sql.forUpdate}`;
  const holder = yield* db.get<{ no: number }>(sql, holderId);
  if (holder === undefined) return true;
  if ((yield* db.get(`${db.sql.heldBy("?")} LIMIT 1`, holder.no)) !== undefined) return false;
  yield* db.run("UPDATE holders SET gone = 1 WHERE no = ?", holder.no);
  yield* db.deleteLeases(holder.no);
  return true;
}

export function* listHolders(db: Db, { queue }: { readonly queue?: string } = {}): Step<Holder[]> {
  const ofQueue = "AND h.queue = (SELECT no FROM queues WHERE name = ?)";
  const rows = yield* db.all<object>(
    `SELECT h.id, q.name AS queue, h.host, h.pid, h.process_start, h.ttl_ms, h.expires_at
       FROM holders h JOIN queues q ON q.no = h.queue WHERE h.gone = 0 ${queue === undefined ? "" : ofQueue} ORDER BY h.no`,
    ...(queue === undefined ? [] : [queue]),
  );
  return rows.map((row) => {
    const holder = objectOf<Omit<Holder, "expired">>(row);
    return { ...holder, expired: holder.expiresAt <= db.now };
  });
}

/** Lists the items that a holder has leased; `also` is a further condition, whose first parameter is `?2`. */
export function* listLeases(
  db: Db,
  holderId: string,
  also = "",
  ...values: readonly SqlValue[]
): Step<LeasedItem[]> {
  const held = db.sql.heldBy("(SELECT no FROM holders WHERE id = ?1)");
  const rows = yield* db.all<object>(
    `SELECT i.ref, q.name AS queue, i.item_id, p.data, p.name, p.options, i.attempts AS attempt, i.attempts_counted, i.lost_count, i.revision,
            i.redrives AS redrive_count, i.position AS "index", i.expires_at, i.started_at
       FROM (${held} ${also}) held ${db.sql.joinInOrder} items i ON i.ref = held.ref
            JOIN queues q ON q.no = i.queue JOIN payloads p ON p.ref = i.ref
      ORDER BY i.ref`,
    holderId,
    ...values,
  );
  return rows.map((row) => {
    const { options, ...item } = objectOf<LeasedItem & { readonly options?: string }>(row, {
      json: ["data"],
    });
    return { ...item, ...readOptions(options) };
  });
}
