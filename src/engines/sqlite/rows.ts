/**
 * Reads and writes the rows of a store in an engine-independent form, for copies. Derived rows (counts by age and attempts,
 * ordering keys) are not copied but computed at the destination. No events are written.
 */
import type { RowPage } from "../../engine.ts";
import { TABLES, type Table, tableNamed } from "../../item/tables.ts";
import { assert } from "../../std/assert.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import { RUNNING } from "../sql/attempts.ts";
import { copyDiffers, type Page, pageFrom, rowPage, type Tuple } from "../sql/rows.ts";
import { numberBurials } from "./bury.ts";
import { recountRanges } from "./letters-by-age.ts";
import { OrderingKeys } from "./ordering-keys.ts";
import type { Session, Value } from "./session.ts";

/** Reads a page of rows in key order, after the given key. */
export function readRows(
  session: Session,
  name: string,
  asked: { readonly after: Json; readonly limit: number },
): RowPage {
  const table = tableNamed(name);
  const tuples = (READERS[name] ?? readTuples)(session, table, pageFrom(asked));
  return rowPage(
    table,
    tuples.map((values) => values.map(given)),
    asked.limit,
  );
}

/** PostgreSQL cannot store NUL characters, so they are replaced by the NUL symbol. */
function given(value: Value): Value {
  return typeof value === "string" && value.includes("\0") ? value.replaceAll("\0", "\u2400") : value;
}

function readTuples(session: Session, table: Table, { after, limit }: Page): Tuple[] {
  const key = table.key.map((column) => sourceOf(table, column)).join(", ");
  const beyond = after.length === 0 ? "" : `WHERE (${key}) > (${after.map(() => "?").join(", ")})`;
  return session.tuples<Tuple>(
    `SELECT ${sourcesOf(table)} FROM ${relationOf(table)} ${beyond} ORDER BY ${key} LIMIT ?`,
    ...after,
    limit,
  );
}

/**
 * Reads events by queue, starting with events that have no queue. The index has this order, but NULL cannot
 * be a cursor.
 */
function readEvents(session: Session, table: Table, { after, limit }: Page): Tuple[] {
  const [queue = 0, id = 0] = after;
  const sql = `SELECT ${sourcesOf(table)} FROM events`;
  const ofNone =
    queue === 0
      ? session.tuples<Tuple>(`${sql} WHERE queue IS NULL AND id > ? ORDER BY id LIMIT ?`, id, limit)
      : [];
  const rest = session.tuples<Tuple>(
    `${sql} WHERE (queue, id) > (?, ?) ORDER BY queue, id LIMIT ?`,
    ...[queue, queue === 0 ? 0 : id, limit - ofNone.length],
  );
  return [...ofNone, ...rest];
}

/** Includes running attempts, which are stored in the rows of the few leased items. */
function readAttempts(session: Session, table: Table, { after, limit }: Page): Tuple[] {
  const ended = readTuples(session, table, { after, limit });
  const running = session.tuples<Tuple>(
    `SELECT ${sourcesOf(table)} FROM (${RUNNING} INDEXED BY items_leased WHERE i.state = 'leased' AND (i.ref, i.attempts) > (?, ?))
      ORDER BY ref LIMIT ?`,
    ...[after[0] ?? 0, after[1] ?? 0, limit],
  );
  if (running.length === 0) return ended;
  const [ref, number] = table.key.map((key) => table.columns.findIndex(({ name }) => name === key));
  const at = (row: Tuple, column = 0) => Number(row[column]);
  const order = (a: Tuple, b: Tuple) => at(a, ref) - at(b, ref) || at(a, number) - at(b, number);
  return [...ended, ...running].sort(order).slice(0, limit);
}

const READERS: Readonly<Record<string, typeof readTuples>> = { events: readEvents, attempts: readAttempts };

/** Tables without a number column, which use SQLite's `rowid`. */
const WITHOUT_NUMBER = ["late_results", "notes", "group_notes"];

function sourceOf({ name }: Table, column: string): string {
  if (name === "events" && column === "queue") return "coalesce(queue, 0)";
  return column === "no" && WITHOUT_NUMBER.includes(name) ? "rowid" : column;
}

function sourcesOf(table: Table): string {
  return table.columns.map((column) => sourceOf(table, column.name)).join(", ");
}

/** Only the sequence of letters is copied. */
function relationOf({ name }: Table): string {
  if (name !== "sequences") return name;
  return "(SELECT name, seq AS last FROM sqlite_sequence WHERE name = 'letters' AND seq > 0)";
}

/** Inserts rows and keeps existing ones. Rows must be written after the rows that they reference, or together with them. */
export function writeRows(session: Session, name: string, rows: readonly JsonObject[]): void {
  try {
    if (name === "sequences") raiseSequence(session, rows);
    else if (name === "attempts") insertAttempts(session, rows);
    else insertRows(session, tableNamed(name), rows);
  } catch (error) {
    throw asDiffering(error, name);
  }
  if (name === "items") alignOrderingKeys(session, rows);
  if (name === "letters") {
    recountRanges(
      session,
      rows.map((row) => Number(row.no)),
    );
  }
}

function insertRows(session: Session, table: Table, rows: readonly JsonObject[]): void {
  const { name, columns } = table;
  const into = columns.map((column) => (column.name === "queue" ? "queue" : sourceOf(table, column.name)));
  const isEvent = name === "events";
  session.insert(
    `${name} (${into.join(", ")})`,
    rows.map((row) =>
      columns.map((column) => {
        const value = row[column.name] as Value;
        return isEvent && column.name === "queue" && value === 0 ? null : value;
      }),
    ),
    "ON CONFLICT DO NOTHING",
  );
}

/** A running attempt is written to the row of its item. */
function insertAttempts(session: Session, rows: readonly JsonObject[]): void {
  const isRunning = ({ outcome }: JsonObject) => outcome === "running";
  insertRows(
    session,
    tableNamed("attempts"),
    rows.filter((row) => !isRunning(row)),
  );
  for (const { ref, number, started_at } of rows.filter(isRunning)) {
    session.run(
      "UPDATE items SET started_at = ? WHERE ref = ? AND attempts = ? AND state = 'leased'",
      ...[Number(started_at), Number(ref), Number(number)],
    );
  }
}

function alignOrderingKeys(session: Session, rows: readonly JsonObject[]): void {
  const keys = new OrderingKeys();
  for (const { queue, ordering_key } of rows)
    keys.moved(Number(queue), typeof ordering_key === "string" ? ordering_key : null);
  keys.write(session);
}

/** Raises the sequence, so that the number of a deleted letter is not reused. */
function raiseSequence(session: Session, rows: readonly JsonObject[]): void {
  for (const { name, last } of rows) {
    assert(name === "letters", `there is no sequence "${name}"`);
    numberBurials(session, Number(last));
  }
}

const CONSTRAINT = 19;

function asDiffering(error: unknown, table: string): unknown {
  const code: unknown = error instanceof Error ? Reflect.get(error, "errcode") : undefined;
  return typeof code === "number" && (code & 0xff) === CONSTRAINT ? copyDiffers(table, error) : error;
}

/** Tables that are derived from other rows. */
const DERIVED = ["letters_by_age", "letters_by_attempts"];

/** Deletes referencing rows before referenced ones. */
export function deleteRows(session: Session): void {
  for (const name of DERIVED) session.run(`DELETE FROM ${name}`);
  for (const { name } of [...TABLES].reverse()) {
    session.run(
      name === "sequences" ? "DELETE FROM sqlite_sequence WHERE name = 'letters'" : `DELETE FROM ${name}`,
    );
  }
}
