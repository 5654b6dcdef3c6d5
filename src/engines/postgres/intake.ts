/** Adds items in batches of one statement; each id is added only once. Replaces the data of waiting items if the caller requests it. */

import type { AddOptions, AddReport } from "../../engine.ts";
import { type RedriveError, settingsChanged } from "../../errors.ts";
import type { NewItem } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import { optionsText } from "../../item/item-options.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { EventLog } from "../sql/events.ts";
import { noQueue } from "../sql/jobs.ts";
import { type AddOutcome, AddTotals, meetAgain } from "../sql/replace.ts";
import { column } from "./arrays.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn } from "./db.ts";
import { recordAlike, writeEvents } from "./events.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
import { CommitInDoubt, type Session, type Tx, timeIn } from "./session.ts";
import { asConflict, isTaken } from "./trouble.ts";
import { EVENTS_LOCKED } from "./tx.ts";

/** Safe under concurrency: the unique index on (queue, item_id) decides. */
export async function addItems(
  session: Session,
  queueName: string,
  items: readonly NewItem[],
  options: AddOptions = {},
): Promise<AddReport> {
  assert(!items.some(({ itemId }) => itemId === ""), `an item of "${queueName}" has no id`);
  const spec = options.spec === undefined ? null : stringifyJson(options.spec);
  const intake = { queueName, replacer: options.replace?.author, spec };
  const [only] = items;
  if (only !== undefined && items.length === 1 && isPlain(only) && options.replace === undefined)
    return addOne(session, intake, only);
  if (isAddedAtOnce(items, options)) return addMadeUp(session, intake, items);
  let expectNew = options.expectNew === true;
  return session.writePipelined((tx) => {
    const asFound = { ...intake, expectNew };
    expectNew = false; // the second try checks for existing ids first
    return addTo(tx, asFound, items);
  });
}

/**
 * Adds items inside a caller's transaction, which cannot be repeated. A conflict with another transaction is
 * therefore resolved by the statement that encounters it.
 */
export async function addItemsWithin(
  tx: Tx,
  queueName: string,
  items: readonly NewItem[],
  options: AddOptions = {},
): Promise<AddReport> {
  assert(!items.some(({ itemId }) => itemId === ""), `an item of "${queueName}" has no id`);
  const spec = options.spec === undefined ? null : stringifyJson(options.spec);
  const intake = { queueName, replacer: options.replace?.author, spec, isWithin: true };
  if (isAddedAtOnce(items, options)) return addAtOnce(tx, { ...intake, expectNew: true }, items);
  return addTo(tx, { ...intake, expectNew: false }, items);
}

function isPlain({ orderingKey }: NewItem): boolean {
  return orderingKey === undefined;
}

function isAddedAtOnce(items: readonly NewItem[], { generatedIds = false }: AddOptions): boolean {
  return generatedIds && items.length <= PART_MAX && items.every(isPlain);
}

/**
 * Adds one item in one round trip, by far the most common call. If the answer is lost, an item that is there with the same
 * data counts as added: whether it was there before cannot be told.
 */
async function addOne(session: Session, intake: Omit<Intake, "expectNew">, item: NewItem) {
  let isInDoubt = false;
  try {
    const row = await session.writeAutocommit((tx) => insertOne(tx, intake, item));
    if (row === undefined) throw queueMissing(intake);
    if (row.taken === 1) return { added: 1, existing: 0, changed: 0, changedIds: [], replaced: 0 };
  } catch (error) {
    isInDoubt = error instanceof CommitInDoubt;
    if (!isInDoubt && !isTaken(error)) throw error;
  }
  const again = { ...intake, expectNew: false };
  const look = () => session.writePipelined((tx) => addTo(tx, again, [item]));
  if (!isInDoubt) return look();
  const report = await session.untilKnown(look);
  return { ...report, added: report.added + report.existing, existing: 0 };
}

/** Adds items with generated ids in one round trip. If the answer is lost, the ids show what was added. */
async function addMadeUp(
  session: Session,
  intake: Omit<Intake, "expectNew">,
  items: readonly NewItem[],
): Promise<AddReport> {
  try {
    return await session.writeAutocommit((tx) => addAtOnce(tx, { ...intake, expectNew: true }, items));
  } catch (error) {
    if (!(error instanceof CommitInDoubt) && !isTaken(error)) throw error;
  }
  const again = { ...intake, expectNew: false };
  const report = await session.untilKnown(() => session.writePipelined((tx) => addTo(tx, again, items)));
  return { ...report, added: report.added + report.existing, existing: 0 };
}

/** Runs in `Session.writeAutocommit`, so it sends everything in one round trip. */
async function addAtOnce(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<AddReport> {
  const part = { items, skipped: 0, shard: tx.shard };
  const row = await insert(tx, INSERT_NEW, intake, part);
  if (row === undefined) throw queueMissing(intake);
  return { added: row.taken, existing: 0, changed: 0, changedIds: [], replaced: 0 };
}

interface Intake {
  readonly queueName: string;
  /** The author of replacements; undefined when existing items stay as they are. */
  readonly replacer: string | undefined;
  /** Whether the ids are probably new, so that existing ones need not be looked up first. */
  readonly expectNew: boolean;
  /** The settings that the queue is expected to have. */
  readonly spec: string | null;
  /** Whether the items are added inside a caller's transaction. */
  readonly isWithin?: boolean;
}

/** May be called before BEGIN is answered. */
async function addTo(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<AddReport> {
  const { queueName, replacer, expectNew } = intake;
  const runs = replacer === undefined || expectNew ? [items] : await runsOf(tx, queueName, items);
  const totals = new AddTotals();
  for (const run of runs) {
    const { queue, again, taken } = await addRun(tx, intake, run);
    const outcomes = again.length === 0 ? [] : await meet(tx, queue, again, replacer);
    totals.added += taken;
    totals.met(again, outcomes);
  }
  if (totals.replaced > 0) tx.part(tx.notify(queueName));
  return totals.report(items.length);
}

async function meet(
  tx: Tx,
  queue: number,
  again: readonly NewItem[],
  replacer: string | undefined,
): Promise<AddOutcome[]> {
  await tx.begun();
  const events = new EventLog(tx.now);
  const outcomes = await runOn(tx, (db) => meetAgain({ db, queue, events }, again, replacer));
  await writeEvents(tx, events);
  return outcomes;
}

/** Groups consecutive new items. An item that may replace another one is added alone, so that events keep their order. */
async function runsOf(tx: Tx, queueName: string, items: readonly NewItem[]): Promise<NewItem[][]> {
  const [rows] = await Promise.all([
    tx.all<{ item_id: string }>(
      "SELECT item_id FROM items WHERE queue = (SELECT no FROM queues WHERE name = ?) AND item_id = ANY (?::text[])",
      queueName,
      items.map(({ itemId }) => itemId),
    ),
    tx.begun(),
  ]);
  const met = new Set(rows.map(({ item_id: itemId }) => itemId));
  const runs: NewItem[][] = [];
  let isOpen = false;
  for (const item of items) {
    const isNew = !met.has(item.itemId);
    if (isNew && isOpen) runs.at(-1)?.push(item);
    else runs.push([item]);
    isOpen = isNew;
    met.add(item.itemId);
  }
  return runs;
}

interface Run {
  readonly queue: number;
  /** The given items whose ids already exist, in the given order. */
  readonly again: readonly NewItem[];
  /** How many items were added. */
  readonly taken: number;
}

async function addRun(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<Run> {
  if (intake.expectNew) return { ...(await insertItems(tx, intake, items)), again: [] };
  const first = new Map<string, number>();
  for (const [at, { itemId }] of items.entries()) if (!first.has(itemId)) first.set(itemId, at);
  const isFirst = (item: NewItem, at: number) => first.get(item.itemId) === at;
  const firsts = first.size === items.length ? items : items.filter(isFirst);
  const { queue, taken, takenIds } = await insertItems(tx, intake, firsts);
  if (taken === items.length) return { queue, again: [], taken };
  const isTaken = takenIds === null ? () => true : ({ itemId }: NewItem) => takenIds.has(itemId);
  return { queue, again: items.filter((item, at) => !isFirst(item, at) || !isTaken(item)), taken };
}

interface Inserted {
  readonly queue: number;
  readonly taken: number;
  /** The ids of the added items; null means all. */
  readonly takenIds: ReadonlySet<string> | null;
}

interface InsertedRow {
  readonly queue: number;
  readonly taken: number;
  readonly ids: string | null;
  readonly keys: string | null;
}

/** Inserts the new items as ready, records their events and notifies waiting workers. */
async function insertItems(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<Inserted> {
  const send = () => (intake.expectNew ? insertNew : insertUnknown)(tx, intake, items);
  const rows = await (intake.isWithin ? untilUndisturbed(send) : asConflict(send));
  const [row] = rows;
  if (row === undefined || rows.includes(undefined)) throw queueMissing(intake);
  const { queue, ids } = row;
  const keys = rows.flatMap((one) => JSON.parse(one?.keys ?? "[]") as string[]);
  await alignOrderingKeys(
    tx,
    keys.map((ordering_key) => ({ queue, ordering_key })),
  );
  const taken = rows.reduce((sum, one) => sum + (one?.taken ?? 0), 0);
  const deltas = new CounterDeltas();
  deltas.queue(queue, "ready", taken);
  tx.part(deltas.write(tx));
  return { queue, taken, takenIds: ids === null ? null : new Set(JSON.parse(ids) as string[]) };
}

/** Here a violated unique index undoes only its own statement; the next one finds the item of the other transaction. */
async function untilUndisturbed<T>(send: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await send();
    } catch (error) {
      if (!isTaken(error) || tries === CONFLICTS_MAX) throw error;
    }
  }
}

const CONFLICTS_MAX = 5;

/** The queue does not exist, or its settings changed while items were being added. */
function queueMissing({ queueName, spec }: Pick<Intake, "queueName" | "spec">): RedriveError {
  return spec === null ? noQueue(queueName) : settingsChanged(queueName);
}

type InsertedPart = InsertedRow | undefined;

async function insertUnknown(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<InsertedPart[]> {
  const [row] = await Promise.all([
    insert(tx, INSERT_UNKNOWN, intake, { items, skipped: 0, shard: null }),
    tx.number(),
    tx.begun(),
  ]);
  return [row];
}

/** Sends the items in parts: the server works on one part while the next one is serialized. */
async function insertNew(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<InsertedPart[]> {
  const sent: Promise<InsertedPart>[] = [];
  for (let at = 0; at === 0 || at < items.length; at += PART_MAX) {
    if (at > 0) await new Promise(setImmediate);
    const part = { items: items.slice(at, at + PART_MAX), skipped: at, shard: null };
    sent.push(insert(tx, INSERT_NEW, intake, part));
    sent.at(-1)?.catch(() => {}); // reported below
  }
  const [rows] = await Promise.all([Promise.all(sent), tx.number(), tx.begun()]);
  return rows;
}

const PART_MAX = 1000;

interface Part {
  readonly items: readonly NewItem[];
  /** How many items of earlier parts are not yet counted. */
  readonly skipped: number;
  /** The counter shard that the statement updates itself; null when the caller counts later. */
  readonly shard: number | null;
}

function insert(
  tx: Tx,
  sql: string,
  { queueName, spec }: Intake,
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
       told AS (${recordAlike("item_queued", {
         relation: "(SELECT queue, ref, NULL::integer AS attempt, step FROM given)",
         order: "step",
         at: "(SELECT now FROM here)",
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

const INSERT_NEW = insertSql(`SELECT nextval('items_ref_seq') AS ref, g.at - 1 AS step, ${GIVEN}`);
const INSERT_UNKNOWN = insertSql(`
  SELECT nextval('items_ref_seq') AS ref, row_number() OVER () - 1 AS step, g.*
    FROM (SELECT ${GIVEN} WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.queue = h.queue AND i.item_id = g.item_id)
           ORDER BY g.at) g`);

function insertOne(
  tx: Tx,
  { queueName, spec }: Pick<Intake, "queueName" | "spec">,
  item: NewItem,
): Promise<InsertedPart> {
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
       told AS (
         INSERT INTO events (id, at, type, queue, span, ref)
         SELECT nextval('event_ids'), now, 'item_queued', queue, 1, ref FROM given)
  SELECT h.queue, n.taken, CASE WHEN n.taken > 0 THEN pg_notify(?12, ?13) END
    FROM here h CROSS JOIN (SELECT count(*) AS taken FROM given) n`;
