/** Finds items by id, lists them by age, and lists the results of done items. */
import type { ItemQuery, ItemResult } from "../../engine.ts";
import { type Item, type Lease, priorityOf } from "../../item/item.ts";
import { readOptions } from "../../item/item-options.ts";
import { type Json, parseJson, stringifyJson } from "../../std/json.ts";
import type { Db, SqlValue, Step } from "./db.ts";
import { countQueue, queueNo } from "./jobs.ts";
import { objectOf } from "./rows.ts";

type StoredItem = Omit<Item, "priority" | "progress"> & {
  readonly priority: number;
  readonly options?: string;
  readonly progressAttempt?: number;
  readonly progressAt?: number;
  readonly progress?: Json;
  readonly requeuedAs?: readonly string[];
};

function itemOf(row: object): Item {
  const {
    priority,
    requeuedAs = [],
    options,
    progress,
    progressAttempt,
    progressAt,
    ...item
  } = objectOf<StoredItem>(row, { json: ["data", "requeued_as", "progress"] });
  const reported = progressAttempt !== undefined && progressAt !== undefined;
  return {
    ...item,
    ...readOptions(options),
    ...(reported && { progress: { attempt: progressAttempt, at: progressAt, value: progress ?? null } }),
    data: item.data ?? null,
    priority: priorityOf(priority),
    ...(requeuedAs.length > 0 && { requeuedAs }),
  };
}

/** Reads the items that a statement selects, ordered by its columns `rank` and `ref`. */
function* readItems(db: Db, chosen: string, ...values: readonly SqlValue[]): Step<Item[]> {
  const rows = yield* db.all<object>(
    `SELECT i.ref, q.name AS queue, i.item_id, p.data, p.name, p.options, i.state, i.priority, i.due_at, i.expires_at, i.ordering_key,
            i.attempts, i.attempts_counted, i.lost_count, i.revision, i.redrives AS redrive_count,
            (SELECT o.item_id FROM items o WHERE o.ref = i.origin) AS requeued_from,
            (SELECT ${db.sql.jsonArray("c.item_id ORDER BY c.ref")} FROM items c WHERE c.origin = i.ref) AS requeued_as,
            r.attempt AS progress_attempt, r.at AS progress_at, r.value AS progress
       FROM (${chosen}) i JOIN queues q ON q.no = i.queue LEFT JOIN payloads p ON p.ref = i.ref
            LEFT JOIN progress r ON r.ref = i.ref
      ORDER BY i.rank, i.ref`,
    ...values,
  );
  return rows.map(itemOf);
}

/** Finds items by id or prefix. Searches a range of the unique index in the queue, or once per queue. */
export function* findItems(
  db: Db,
  idOrPrefix: string,
  { queue, limit }: { readonly queue?: string; readonly limit: number },
): Step<Item[]> {
  if (queue !== undefined && limit === 1) {
    // The exact item comes first, and a prefix may begin very many ids.
    const exact = yield* readItems(
      db,
      "SELECT i.*, 0 AS rank FROM items i WHERE i.queue = (SELECT no FROM queues WHERE name = ?2) AND i.item_id = ?1",
      idOrPrefix,
      queue,
    );
    if (exact.length > 0) return exact;
  }
  const ofQueue = queue === undefined ? "true" : "q.name = ?4";
  return yield* readItems(
    db,
    `SELECT i.*, CASE i.item_id WHEN ?1 THEN 0 ELSE 1 END AS rank
       FROM queues q ${db.sql.joinInOrder} items i ON i.queue = q.no AND i.item_id >= ?1 AND i.item_id < ?2
      WHERE ${ofQueue} ORDER BY rank, i.ref LIMIT ?3`,
    idOrPrefix,
    `${idOrPrefix}\u{10ffff}`,
    limit,
    ...(queue === undefined ? [] : [queue]),
  );
}

export function* listItems(db: Db, query: ItemQuery): Step<Item[]> {
  const { queue, states, itemIds, after = 0, limit } = query;
  const { typed, among } = db.sql;
  const isSorted = itemIds === undefined && (yield* countQueue(db, queue)).total <= SORTED_MAX;
  return yield* readItems(
    db,
    `SELECT i.*, 0 AS rank FROM items i
      WHERE ${isSorted ? OF_QUEUE : seek(db, query)}
        AND (${typed("?3", "text[]")} IS NULL OR ${among("i.state", "?3", "text")})
      ORDER BY ${isSorted ? "+" : ""}i.ref LIMIT ?4`,
    after,
    yield* queueNo(db, queue),
    states ?? null,
    limit,
    ...(itemIds === undefined ? [] : [itemIds]),
  );
}

/** All items of a small queue are read and sorted, because those of other queues may lie between them. */
const SORTED_MAX = 2000;
const OF_QUEUE = "+i.ref > ?1 AND i.queue = ?2";

/**
 * Chooses the fastest access path: by ids, by SQLite's index of held items, or by number. The `+` before a
 * column prevents the use of an index.
 */
function seek(db: Db, { states, itemIds }: ItemQuery): string {
  if (itemIds !== undefined) {
    return `+i.ref > ?1 AND i.queue = ?2 AND ${db.sql.among("i.item_id", "?5", "text")}`;
  }
  const isHeld = states?.length === 1 && states[0] === "held";
  return isHeld ? "i.ref > ?1 AND i.state = 'held' AND i.queue = ?2" : "i.ref > ?1 AND +i.queue = ?2";
}

/** Lists the results of done items by item number, the order of the primary key. */
export function* listResults(
  db: Db,
  queue: string,
  page: { readonly after: number; readonly limit: number },
): Step<ItemResult[]> {
  const rows = yield* db.all<{ ref: number; item_id: string; result: string | null }>(
    `SELECT i.ref, i.item_id, a.result
       FROM (SELECT ref, item_id, attempts FROM items WHERE ref > ? AND +queue = ? AND state = 'done'
              ORDER BY ref LIMIT ?) i
            LEFT JOIN attempts a ON a.ref = i.ref AND a.number = i.attempts
      ORDER BY i.ref`,
    page.after,
    yield* queueNo(db, queue),
    page.limit,
  );
  return rows.map((row) => ({
    ref: row.ref,
    itemId: row.item_id,
    result: row.result === null ? null : (parseJson(row.result) as Json),
  }));
}

/** Writes nothing unless this attempt is still running. */
export function* writeProgress(db: Db, { ref, attempt }: Lease, value: Json): Step<boolean> {
  const written = yield* db.run(
    `INSERT INTO progress (ref, attempt, at, value)
     SELECT i.ref, i.attempts, ${db.sql.typed("?1", "bigint")}, ${db.sql.typed("?2", "text")} FROM items i
      WHERE i.ref = ${db.sql.typed("?3", "bigint")} AND i.state = 'leased' AND i.attempts = ${db.sql.typed("?4", "bigint")}
     ON CONFLICT (ref) DO UPDATE SET attempt = excluded.attempt, at = excluded.at, value = excluded.value`,
    ...[db.now, stringifyJson(value), ref, attempt],
  );
  return written > 0;
}
