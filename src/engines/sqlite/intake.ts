/**
 * Adds items; each id is added only once. If the caller requests it, replaces the data of waiting items, as a
 * new revision.
 */
import type { AddOptions, AddReport } from "../../engine.ts";
import { settingsChanged } from "../../errors.ts";
import type { NewItem } from "../../item/item.ts";
import { rankOf } from "../../item/item.ts";
import { optionsText } from "../../item/item-options.ts";
import { type JsonObject, stringifyJson } from "../../std/json.ts";
import { EventLog } from "../sql/events.ts";
import { countQueue, queueNo } from "../sql/jobs.ts";
import { AddTotals, meetAgain } from "../sql/replace.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { isOccupied } from "./ordering-keys.ts";
import type { Session } from "./session.ts";

/** Safe under concurrency: the unique index on (queue, item_id) decides, in one write transaction. */
export function addItems(
  session: Session,
  queueName: string,
  items: readonly NewItem[],
  { replace, spec, listsExisting }: AddOptions = {},
): AddReport {
  const queue = runOn(session, (db) => queueNo(db, queueName));
  if (spec !== undefined && !hasSpec(session, queueName, spec)) throw settingsChanged(queueName);
  const now = session.now;
  const intake: Intake = { session, queue, now, events: new EventLog(now) };
  const position = runOn(session, (db) => countQueue(db, queueName)).total;
  const totals = new AddTotals({ listsExisting });
  const meet = (again: readonly NewItem[]) => {
    totals.met(
      again,
      runOn(session, (db) => meetAgain({ ...intake, db }, again, replace?.author)),
    );
  };
  for (const run of runsOf(items)) {
    const refs = bringIn(intake, run, position + totals.added);
    const again: NewItem[] = [];
    for (const [at, item] of run.entries()) {
      const ref = refs[at];
      if (ref !== undefined) {
        totals.added += 1;
        intake.events.add(QUEUED, { queue, ref });
      } else if (replace === undefined) again.push(item);
      else meet([item]); // one at a time, so that events keep the order of the items
    }
    if (again.length > 0) meet(again);
  }
  finish(intake, totals.added);
  if (totals.added + totals.replaced > 0) session.notify(queue);
  return totals.report(items.length);
}

/** The queue that items are added to, and the events that are written at the end. */
interface Intake {
  readonly session: Session;
  readonly queue: number;
  readonly now: number;
  readonly events: EventLog;
}

function finish({ session, queue, events }: Intake, added: number): void {
  const deltas = new CounterDeltas();
  deltas.queue(queue, "ready", added);
  writeEvents(session, events);
  deltas.write(session);
}

const QUEUED = { type: "item_queued" } as const;

/**
 * Groups items that have only data, which are by far the most common ones, so that one statement inserts
 * several.
 */
function* runsOf(items: readonly NewItem[]): Generator<readonly NewItem[]> {
  let run: NewItem[] = [];
  for (const item of items) {
    if (run.length === RUN_MAX || (run.length > 0 && !isBare(item))) {
      yield run;
      run = [];
    }
    if (isBare(item)) run.push(item);
    else yield [item];
  }
  if (run.length > 0) yield run;
}

/** Keeps the number of different statements small. */
const RUN_MAX = 32;

function isBare({ priority = "normal", expiresAt, orderingKey }: NewItem): boolean {
  return priority === "normal" && expiresAt === undefined && orderingKey === undefined;
}

/** Inserts a run. Returns the row number of each item; undefined if its id exists. */
function bringIn(intake: Intake, run: readonly NewItem[], position: number): readonly (number | undefined)[] {
  const [only] = run;
  if (run.length === 1 && only !== undefined) return [insertOne(intake, only, position)];
  const { session, queue, now } = intake;
  const { changes, lastInsertRowid } = session.insert(
    "items (queue, item_id, position, state, due_at)",
    run.map(({ itemId, dueAt = now }, at) => [queue, itemId, position + at, "ready", dueAt]),
    "ON CONFLICT DO NOTHING",
  );
  if (changes === 0) return [];
  const before = Number(lastInsertRowid) - changes; // SQLite assigns consecutive row numbers
  const isAll = changes === run.length;
  const refs = isAll ? run.map((_, at) => before + at + 1) : sortOut(session, before, position);
  insertPayloads(session, run, refs);
  return refs;
}

/**
 * Determines the row numbers of the new items if some ids exist or occur twice, and corrects their positions.
 */
function sortOut(session: Session, before: number, first: number): readonly (number | undefined)[] {
  const refs: (number | undefined)[] = [];
  const rows = session.tuples<[ref: number, position: number]>(
    "SELECT ref, position FROM items WHERE ref > ?",
    before,
  );
  for (const [ref, position] of rows) {
    refs[position - first] = ref;
    const right = first + ref - before - 1;
    if (right !== position) session.run("UPDATE items SET position = ? WHERE ref = ?", right, ref);
  }
  return refs;
}

function insertPayloads(
  session: Session,
  items: readonly NewItem[],
  refs: readonly (number | undefined)[],
): void {
  const hasOptions = items.some((item) => optionsText(item) !== undefined);
  session.insert(
    hasOptions ? "payloads (ref, data, name, options)" : "payloads (ref, data, name)",
    items.flatMap((item, at) => {
      const ref = refs[at];
      if (ref === undefined) return [];
      const row = [ref, stringifyJson(item.data), item.name ?? null];
      return [hasOptions ? [...row, optionsText(item) ?? null] : row];
    }),
  );
}

/** Inserts one item. Returns its row number; undefined if the id exists. */
function insertOne({ session, queue, now }: Intake, item: NewItem, position: number): number | undefined {
  const { changes, lastInsertRowid } = insertRow({ session, queue, now, item, position });
  if (changes === 0) return undefined;
  const ref = Number(lastInsertRowid);
  insertPayloads(session, [item], [ref]);
  return ref;
}

interface NewRow extends Omit<Intake, "events"> {
  readonly item: NewItem;
  readonly position: number;
}

function insertRow({ session, queue, now, item, position }: NewRow): ReturnType<Session["run"]> {
  const { itemId, dueAt = now, priority = "normal", expiresAt = null, orderingKey = null } = item;
  const waits = orderingKey !== null && isOccupied(session, queue, orderingKey) ? 1 : 0;
  return session.run(
    `INSERT INTO items (queue, item_id, position, state, due_at, priority, expires_at, ordering_key, waits)
     VALUES (?, ?, ?, 'ready', ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    queue,
    itemId,
    position,
    dueAt,
    rankOf(priority),
    expiresAt,
    orderingKey,
    waits,
  );
}

function hasSpec(session: Session, id: string, spec: JsonObject): boolean {
  return session.get("SELECT 1 FROM jobs WHERE id = ? AND spec = ?", id, stringifyJson(spec)) !== undefined;
}
