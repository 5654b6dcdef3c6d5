/** Items come into SQLite here, and are found again by id. */
import type { AddReport, ItemResult } from "../../engine.ts";
import type { Item, NewItem } from "../../item/item.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../kit/assert.ts";
import { canonicalJson, type Json } from "../../kit/json.ts";
import { EventLog } from "./events.ts";
import { countQueue, queueNo } from "./jobs.ts";
import type { Session } from "./session.ts";
import { Tally } from "./tally.ts";

const CHANGED_IDS_MAX = 10;

/** Safe under concurrency: the unique index on (queue, item_id) decides, in one write transaction. */
export function addItems(session: Session, queueName: string, items: readonly NewItem[]): AddReport {
  const queue = queueNo(session, queueName);
  const now = session.clock.now();
  const tally = new Tally();
  const events = new EventLog(now);
  const place = countQueue(session, queueName).total;
  let added = 0;
  const changedIds: string[] = [];
  for (const item of items) {
    const ref = insertItem(session, queue, { itemId: item.itemId, place: place + added, now });
    if (ref !== null) {
      session.run("INSERT INTO payloads (ref, data) VALUES (?, ?)", ref, JSON.stringify(item.data));
      events.add({ type: "item_queued" }, { queue, ref });
      added += 1;
    } else if (!hasSameData(session, queue, item)) {
      changedIds.push(item.itemId);
    }
  }
  tally.queue(queue, "ready", added);
  events.write(session);
  tally.write(session);
  return {
    added,
    existing: items.length - added - changedIds.length,
    changed: changedIds.length,
    changedIds: changedIds.slice(0, CHANGED_IDS_MAX),
  };
}

function insertItem(
  session: Session,
  queue: number,
  { itemId, place, now }: { readonly itemId: string; readonly place: number; readonly now: number },
): number | null {
  const result = session.run(
    "INSERT INTO items (queue, item_id, place, state, due_at) VALUES (?, ?, ?, 'ready', ?) ON CONFLICT DO NOTHING",
    queue,
    itemId,
    place,
    now,
  );
  return result.changes === 0 ? null : Number(result.lastInsertRowid);
}

/** What it came in with counts, not what was made of it here. Of a purged item nobody knows it any more. */
function hasSameData(session: Session, queue: number, item: NewItem): boolean {
  const row = session.get<{ purged: number; data: string | null }>(
    `SELECT i.purged, coalesce(a.before, p.data) AS data FROM items i LEFT JOIN payloads p ON p.ref = i.ref
            LEFT JOIN amendments a ON a.ref = i.ref AND a.revision = 2
      WHERE i.queue = ? AND i.item_id = ?`,
    queue,
    item.itemId,
  );
  assert(row, `item ${item.itemId} is neither new nor there`);
  if (row.purged === 1) return true;
  return canonicalJson(JSON.parse(row.data ?? "null") as Json) === canonicalJson(item.data);
}

interface ItemRow {
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string | null;
  readonly state: ItemState;
  readonly due_at: number;
  readonly attempts: number;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
  readonly redrives: number;
}

/** A prefix is a range of the unique index, sought once per queue. */
export function findItems(
  session: Session,
  idOrPrefix: string,
  where: { readonly queue?: string; readonly limit: number },
): Item[] {
  const rows = session.all<ItemRow>(
    `SELECT i.ref, q.name AS queue, i.item_id, p.data, i.state, i.due_at, i.attempts, i.spent, i.losses, i.revision,
            i.redrives
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
  return rows.map(itemOf);
}

function itemOf(row: ItemRow): Item {
  return {
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
  };
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
    result: row.result === null ? null : (JSON.parse(row.result) as Json),
  }));
}
