/** Items in SQLite as they are looked at: found by id, listed by age, and what the done ones left. */
import type { ItemQuery, ItemResult } from "../../engine.ts";
import type { Item } from "../../item/item.ts";
import { type Json, parseJson } from "../../std/json.ts";
import { type ItemRow, itemOf } from "../item-row.ts";
import { queueNo } from "./jobs.ts";
import type { Session } from "./session.ts";

interface FoundRow extends ItemRow {
  readonly requeued_as: string;
}

const found = (row: FoundRow) => itemOf(row, JSON.parse(row.requeued_as) as string[]);

const COLUMNS = `
  i.ref, q.name AS queue, i.item_id, p.data, p.name, i.state, i.priority, i.due_at, i.expires_at, i.lane, i.attempts, i.spent,
  i.losses, i.revision, i.redrives, (SELECT o.item_id FROM items o WHERE o.ref = i.origin) AS requeued_from,
  (SELECT json_group_array(n.item_id) FROM (SELECT c.item_id FROM items c WHERE c.origin = i.ref ORDER BY c.ref) n) AS requeued_as`;

/** A prefix is a range of the unique index, sought once per queue. */
export function findItems(
  session: Session,
  idOrPrefix: string,
  where: { readonly queue?: string; readonly limit: number },
): Item[] {
  const rows = session.all<FoundRow>(
    `SELECT ${COLUMNS}
       FROM queues q CROSS JOIN items i ON i.queue = q.no AND i.item_id >= ? AND i.item_id < ?
            LEFT JOIN payloads p ON p.ref = i.ref
      WHERE ? IS NULL OR q.name = ?
      ORDER BY i.item_id <> ?, i.ref LIMIT ?`,
    idOrPrefix,
    `${idOrPrefix}\u{10ffff}`,
    where.queue ?? null,
    where.queue ?? null,
    idOrPrefix,
    where.limit,
  );
  return rows.map(found);
}

/** By the number of the item, which the primary key orders; the held ones, of which there are few, have their own index. */
export function listItems(session: Session, query: ItemQuery): Item[] {
  const { queue, states, itemIds, after = 0, limit } = query;
  const rows = session.all<FoundRow>(
    `SELECT ${COLUMNS}
       FROM items i CROSS JOIN queues q ON q.no = i.queue LEFT JOIN payloads p ON p.ref = i.ref
      WHERE ${sievedBy(query)}
        AND (?3 IS NULL OR i.state IN (SELECT value FROM json_each(?3)))
      ORDER BY i.ref LIMIT ?4`,
    after,
    queueNo(session, queue),
    states === undefined ? null : JSON.stringify(states),
    limit,
    ...(itemIds === undefined ? [] : [JSON.stringify(itemIds)]),
  );
  return rows.map(found);
}

/** By what is found quickest: the ids, the index of held items, or a walk by number. */
function sievedBy({ states, itemIds }: ItemQuery): string {
  if (itemIds !== undefined) {
    return "+i.ref > ?1 AND i.queue = ?2 AND i.item_id IN (SELECT value FROM json_each(?5))";
  }
  const isHeld = states?.length === 1 && states[0] === "held";
  return isHeld ? "i.ref > ?1 AND i.state = 'held' AND i.queue = ?2" : "i.ref > ?1 AND +i.queue = ?2";
}

/** By the number of the item, which the primary key orders. */
export function listResults(
  session: Session,
  queue: string,
  page: { readonly after: number; readonly limit: number },
): ItemResult[] {
  const rows = session.all<{ ref: number; item_id: string; result: string | null }>(
    `SELECT i.ref, i.item_id, a.result FROM items i JOIN attempts a ON a.ref = i.ref AND a.number = i.attempts
      WHERE i.ref > ? AND +i.queue = ? AND i.state = 'done' ORDER BY i.ref LIMIT ?`,
    page.after,
    queueNo(session, queue),
    page.limit,
  );
  return rows.map((row) => ({
    ref: row.ref,
    itemId: row.item_id,
    result: row.result === null ? null : (parseJson(row.result) as Json),
  }));
}
