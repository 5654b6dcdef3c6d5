/** Items in PostgreSQL as they are looked at: found by id, listed by age, and what the done ones left. */
import type { ItemQuery, ItemResult } from "../../engine.ts";
import { compact } from "../../item/failure.ts";
import type { Item } from "../../item/item.ts";
import { priorityOf } from "../../item/priority.ts";
import type { ItemState } from "../../item/state.ts";
import type { Json } from "../../kit/json.ts";
import { queueNo } from "./jobs.ts";
import type { Tx } from "./session.ts";

interface ItemRow {
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string | null;
  readonly name: string | null;
  readonly state: ItemState;
  readonly priority: number;
  readonly due_at: number;
  readonly expires_at: number | null;
  readonly lane: string | null;
  readonly attempts: number;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
  readonly redrives: number;
  readonly requeued_from: string | null;
  readonly requeued_as: readonly string[] | null;
}

const COLUMNS = `
  i.ref, q.name AS queue, i.item_id, p.data, p.name, i.state, i.priority, i.due_at, i.expires_at, i.lane, i.attempts,
  i.spent, i.losses, i.revision, i.redrives, (SELECT o.item_id FROM items o WHERE o.ref = i.origin) AS requeued_from,
  (SELECT array_agg(c.item_id::text ORDER BY c.ref) FROM items c WHERE c.origin = i.ref) AS requeued_as`;

/** A prefix is a range of the unique index, sought once per queue. */
export async function findItems(
  tx: Tx,
  idOrPrefix: string,
  where: { readonly queue?: string; readonly limit: number },
): Promise<Item[]> {
  const rows = await tx.all<ItemRow>(
    `SELECT ${COLUMNS}
       FROM (SELECT i.* FROM queues q JOIN items i ON i.queue = q.no AND i.item_id >= ?1 AND i.item_id < ?2
              WHERE ?3::text IS NULL OR q.name = ?3 ORDER BY i.item_id <> ?1, i.ref LIMIT ?4) i
            JOIN queues q ON q.no = i.queue LEFT JOIN payloads p ON p.ref = i.ref
      ORDER BY i.item_id <> ?1, i.ref`,
    idOrPrefix,
    `${idOrPrefix}\u{10ffff}`,
    where.queue ?? null,
    where.limit,
  );
  return rows.map(itemOf);
}

/** By the number of the item, which the primary key orders. */
export async function listItems(tx: Tx, query: ItemQuery): Promise<Item[]> {
  const { queue, states, itemIds, after = 0, limit } = query;
  const named = itemIds === undefined ? "" : "AND item_id = ANY (?5::text[])";
  const rows = await tx.all<ItemRow>(
    `SELECT ${COLUMNS}
       FROM (SELECT * FROM items WHERE ref > ?1 AND queue = ?2 AND (?3::text[] IS NULL OR state = ANY (?3::text[]))
                ${named} ORDER BY ref LIMIT ?4) i
            JOIN queues q ON q.no = i.queue LEFT JOIN payloads p ON p.ref = i.ref
      ORDER BY i.ref`,
    after,
    await queueNo(tx, queue),
    states ?? null,
    limit,
    ...(itemIds === undefined ? [] : [itemIds]),
  );
  return rows.map(itemOf);
}

function itemOf(row: ItemRow): Item {
  return compact({
    ref: row.ref,
    queue: row.queue,
    itemId: row.item_id,
    data: row.data === null ? null : (JSON.parse(row.data) as Json),
    state: row.state,
    dueAt: row.due_at,
    attempts: row.attempts,
    spent: row.spent,
    losses: row.losses,
    revision: row.revision,
    redriveCount: row.redrives,
    name: row.name ?? undefined,
    priority: priorityOf(row.priority),
    expiresAt: row.expires_at ?? undefined,
    lane: row.lane ?? undefined,
    requeuedFrom: row.requeued_from ?? undefined,
    requeuedAs: row.requeued_as ?? undefined,
  });
}

/** By the number of the item, which the primary key orders. */
export async function listResults(
  tx: Tx,
  queue: string,
  page: { readonly after: number; readonly limit: number },
): Promise<ItemResult[]> {
  const rows = await tx.all<{ ref: number; item_id: string; result: string | null }>(
    `SELECT i.ref, i.item_id, a.result
       FROM (SELECT ref, item_id, attempts FROM items WHERE ref > ? AND queue = ? AND state = 'done'
              ORDER BY ref LIMIT ?) i
            LEFT JOIN attempts a ON a.ref = i.ref AND a.number = i.attempts
      ORDER BY i.ref`,
    page.after,
    await queueNo(tx, queue),
    page.limit,
  );
  return rows.map((row) => ({
    ref: row.ref,
    itemId: row.item_id,
    result: row.result === null ? null : (JSON.parse(row.result) as Json),
  }));
}
