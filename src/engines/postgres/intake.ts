/** Adds items in batches of one statement; each id is added only once. Replaces the data of waiting items if the caller requests it. */

import type { AddOptions, AddReport } from "../../engine.ts";
import { type RedriveError, settingsChanged } from "../../errors.ts";
import type { NewItem } from "../../item/item.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { EventLog } from "../sql/events.ts";
import { noQueue } from "../sql/jobs.ts";
import { type AddOutcome, AddTotals, meetAgain } from "../sql/replace.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { INSERT_NEW, INSERT_UNKNOWN, type InsertedPart, insert, insertOne } from "./insert-items.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
import { CommitInDoubt, type Session, type Tx } from "./session.ts";
import { asConflict, isTaken } from "./trouble.ts";

/** Safe under concurrency: the unique index on (queue, item_id) decides. */
export async function addItems(
  session: Session,
  queueName: string,
  items: readonly NewItem[],
  options: AddOptions = {},
): Promise<AddReport> {
  const intake = intakeOf(queueName, items, options);
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
  const intake = { ...intakeOf(queueName, items, options), isWithin: true };
  if (isAddedAtOnce(items, options)) return addAtOnce(tx, { ...intake, expectNew: true }, items);
  return addTo(tx, { ...intake, expectNew: false }, items);
}

function intakeOf(queueName: string, items: readonly NewItem[], options: AddOptions) {
  assert(!items.some(({ itemId }) => itemId === ""), `an item of "${queueName}" has no id`);
  const spec = options.spec === undefined ? null : stringifyJson(options.spec);
  return { queueName, replacer: options.replace?.author, spec, listsExisting: options.listsExisting };
}

function isPlain({ orderingKey }: NewItem): boolean {
  return orderingKey === undefined;
}

function isAddedAtOnce(items: readonly NewItem[], { generatedIds = false }: AddOptions): boolean {
  return generatedIds && items.length <= PART_MAX && items.every(isPlain);
}

/**
 * Adds one item in one round trip, by far the most common call. If the answer is lost, an item that is there with the same
 * data counts as added: nothing shows whether it was there before.
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
  const { existingIds, ...report } = await session.untilKnown(look);
  const existing = existingIds && { existingIds: report.changedIds };
  return { ...report, ...existing, added: report.added + report.existing, existing: 0 };
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
  /** The author of replacements; undefined if existing items are kept unchanged. */
  readonly replacer: string | undefined;
  /** Whether the ids are probably new, so that existing ones need not be looked up first. */
  readonly expectNew: boolean;
  /** The settings that the queue is expected to have. */
  readonly spec: string | null;
  /** Whether the items are added inside a caller's transaction. */
  readonly isWithin?: boolean;
  readonly listsExisting?: boolean | undefined;
}

/** May be called before BEGIN is answered. */
async function addTo(tx: Tx, intake: Intake, items: readonly NewItem[]): Promise<AddReport> {
  const { queueName, replacer, expectNew } = intake;
  const runs = replacer === undefined || expectNew ? [items] : await runsOf(tx, queueName, items);
  const totals = new AddTotals(intake);
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
