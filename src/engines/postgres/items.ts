/** Items in PostgreSQL as they are looked at: found by id, listed by age, and what the done ones left. */
import type { ItemQuery, ItemResult } from "../../engine.ts";
import type { Item } from "../../item/item.ts";
import { type Json, parseJson } from "../../std/json.ts";
import { type ItemRow, itemOf } from "../item-row.ts";
import { queueNo } from "./jobs.ts";
import type { Tx } from "./session.ts";

interface FoundRow extends ItemRow {
  readonly requeued_as: readonly string[] | null;
}

const found = (row: FoundRow) => itemOf(row, row.requeued_as ?? []);

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
  const rows = await tx.all<FoundRow>(
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
  return rows.map(found);
}

/** By the number of the item, which the primary key orders. */
export async function listItems(tx: Tx, query: ItemQuery): Promise<Item[]> {
  const { queue, states, itemIds, after = 0, limit } = query;
  const named = itemIds === undefined ? "" : "AND item_id = ANY (?5::text[])";
  const rows = await tx.all<FoundRow>(
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
  return rows.map(found);
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
    result: row.result === null ? null : (parseJson(row.result) as Json),
  }));
}
