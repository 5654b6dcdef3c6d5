/** The statements that insert items on PostgreSQL, with their payloads, events, counters and notifications. */
import type { NewItem } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import { optionsText } from "../../item/item-options.ts";
import { stringifyJson } from "../../std/json.ts";
import { column } from "./arrays.ts";
import { recordAlike } from "./events.ts";
import { type Tx, timeIn } from "./session.ts";
import { EVENTS_LOCKED } from "./tx.ts";

export interface InsertedRow {
  readonly queue: number;
  readonly taken: number;
  readonly ids: string | null;
  readonly keys: string | null;
}

export type InsertedPart = InsertedRow | undefined;

/** The queue, and the settings that the items were checked against; null without a check. */
interface Target {
  readonly queueName: string;
  readonly spec: string | null;
}

export interface Part {
  readonly items: readonly NewItem[];
  /** How many items of earlier parts are not yet counted. */
  readonly skipped: number;
  /** The counter shard that the statement updates itself; null when the caller counts later. */
  readonly shard: number | null;
}

export function insert(
  tx: Tx,
  sql: string,
  { queueName, spec }: Target,
  { items, skipped, shard }: Part,
): Promise<InsertedPart> {
  return tx.get<InsertedRow>(
    sql,
    queueName,
    tx.timeIfKnown,
    items.map(({ itemId }) => itemId),
    column(items, ({ dueAt }) => dueAt),
    items.map(({ priority }) => rankOf(priority ?? "normal")),
    column(items, ({ expiresAt }) => expiresAt),
    column(items, ({ orderingKey }) => orderingKey),
    items.map(({ data }) => stringifyJson(data)),
    column(items, ({ name }) => name),
    column(items, optionsText),
    skipped,
    spec,
    shard,
    ...tx.notificationOf(queueName),
  );
}

/**
 * Skips existing ids unless all are new, then draws row numbers, so that inserts into other tables need not read `items`. A
 * concurrent insert of the same id violates the unique index, and the transaction is retried.
 */
const insertSql = (given: string) => `
  WITH here AS MATERIALIZED (
         SELECT no AS queue, ready + leased + held + done + dead + skipped + discarded + ?11::bigint AS position,
                ${timeIn("?2")} AS now
           FROM queue_totals
          WHERE name = ?1 AND ${EVENTS_LOCKED} AND (?12::text IS NULL OR EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND spec = ?12::text))),
       given AS MATERIALIZED (${given}),
       added AS (
         INSERT INTO items (ref, queue, item_id, position, state, due_at, priority, expires_at, ordering_key)
         SELECT ref, queue, item_id, position + step, 'ready', due_at, priority, expires_at, ordering_key FROM given),
       kept AS (INSERT INTO payloads (ref, data, name, options) SELECT ref, data, name, options FROM given),
       placed AS (
         INSERT INTO ready_items (queue, priority, due_at, ref)
         SELECT queue, priority, due_at, ref FROM given WHERE ordering_key IS NULL),
       ordered AS (
         INSERT INTO ordered_items (queue, ordering_key, ref)
         SELECT queue, ordering_key, ref FROM given WHERE ?7::text[] IS NOT NULL AND ordering_key IS NOT NULL),
       counted AS (
         INSERT INTO queue_counts (shard, queue, ready)
         SELECT ?13::integer, queue, count(*) FROM given WHERE ?13::integer IS NOT NULL GROUP BY queue
         ON CONFLICT (queue, shard) DO UPDATE SET ready = queue_counts.ready + excluded.ready),
       recorded AS (${recordAlike("(SELECT now FROM here)", {
         type: "item_queued",
         relation: "(SELECT queue, ref, NULL::integer AS attempt, step FROM given)",
         order: "step",
       })})
  SELECT h.queue, n.taken, CASE WHEN n.taken > 0 THEN pg_notify(?14, ?15) END,
         (SELECT json_agg(DISTINCT ordering_key)::text FROM given WHERE ?7::text[] IS NOT NULL AND ordering_key IS NOT NULL) AS keys,
         CASE WHEN n.taken < cardinality(?3::text[]) THEN (SELECT coalesce(json_agg(item_id), '[]')::text FROM given) END AS ids
    FROM here h CROSS JOIN (SELECT count(*) AS taken FROM given) n`;

const GIVEN = `
  h.queue, h.position, h.now, g.item_id, coalesce(g.due_at, h.now) AS due_at, g.priority, g.expires_at, g.ordering_key, g.data, g.name, g.options
    FROM here h CROSS JOIN
         unnest(?3::text[], ?4::bigint[], ?5::integer[], ?6::bigint[], ?7::text[], ?8::text[], ?9::text[], ?10::text[])
         WITH ORDINALITY AS g (item_id, due_at, priority, expires_at, ordering_key, data, name, options, at)`;

export const INSERT_NEW = insertSql(`SELECT nextval('items_ref_seq') AS ref, g.at - 1 AS step, ${GIVEN}`);
export const INSERT_UNKNOWN = insertSql(`
  SELECT nextval('items_ref_seq') AS ref, row_number() OVER () - 1 AS step, g.*
    FROM (SELECT ${GIVEN} WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.queue = h.queue AND i.item_id = g.item_id)
           ORDER BY g.at) g`);

export function insertOne(tx: Tx, { queueName, spec }: Target, item: NewItem): Promise<InsertedPart> {
  const { itemId, dueAt = null, priority = "normal", expiresAt = null, data, name = null } = item;
  return tx.get<InsertedRow>(
    INSERT_ONE,
    ...[queueName, tx.timeIfKnown, itemId, dueAt, rankOf(priority), expiresAt],
    ...[
      stringifyJson(data),
      name,
      optionsText(item) ?? null,
      spec,
      tx.shard,
      ...tx.notificationOf(queueName),
    ],
  );
}

/** The statement above for one item without an ordering key: a smaller plan, which takes half as long to start. */
const INSERT_ONE = `
  WITH here AS MATERIALIZED (
         SELECT no AS queue, ready + leased + held + done + dead + skipped + discarded AS position, ${timeIn("?2")} AS now
           FROM queue_totals
          WHERE name = ?1 AND ${EVENTS_LOCKED}
            AND (?10::text IS NULL OR EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND spec = ?10::text))),
       given AS MATERIALIZED (
         SELECT nextval('items_ref_seq') AS ref, h.queue, h.position, h.now, coalesce(?4::bigint, h.now) AS due_at
           FROM here h
          WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.queue = h.queue AND i.item_id = ?3::text)),
       added AS (
         INSERT INTO items (ref, queue, item_id, position, state, due_at, priority, expires_at)
         SELECT ref, queue, ?3::text, position, 'ready', due_at, ?5::integer, ?6::bigint FROM given),
       kept AS (INSERT INTO payloads (ref, data, name, options) SELECT ref, ?7::text, ?8::text, ?9::text FROM given),
       placed AS (
         INSERT INTO ready_items (queue, priority, due_at, ref) SELECT queue, ?5::integer, due_at, ref FROM given),
       counted AS (
         INSERT INTO queue_counts (shard, queue, ready) SELECT ?11::integer, queue, 1 FROM given
         ON CONFLICT (queue, shard) DO UPDATE SET ready = queue_counts.ready + 1),
       recorded AS (
         INSERT INTO events (id, at, type, queue, span, ref)
         SELECT nextval('event_ids'), now, 'item_queued', queue, 1, ref FROM given)
  SELECT h.queue, n.taken, CASE WHEN n.taken > 0 THEN pg_notify(?12, ?13) END
    FROM here h CROSS JOIN (SELECT count(*) AS taken FROM given) n`;
