/**
 * Reads and writes the common rows of a store, for copies between stores. What PostgreSQL stores in another form (sharded
 * counters, `ready_items`) is converted when it is read and derived when it is written.
 */
import type { RowPage } from "../../engine.ts";
import { TABLES, type Table, tableNamed } from "../../item/tables.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import { copyDiffers, pageFrom, rowPage, type Tuple } from "../sql/rows.ts";
import type { Scalar } from "./arrays.ts";
import { recallMessages } from "./bury.ts";
import { FORMS, rowsOf } from "./row-forms.ts";
import { lineUp } from "./row-line.ts";
import type { Tx } from "./session.ts";

/** Returns rows in the order of the key, starting after the given key. */
export async function readRows(
  tx: Tx,
  name: string,
  asked: { readonly after: Json; readonly limit: number },
): Promise<RowPage> {
  const table = tableNamed(name);
  const { after, limit } = pageFrom(asked);
  const columns = table.columns.map((column) => column.name).join(", ");
  const key = table.key.join(", ");
  const beyond = after.length === 0 ? "" : `WHERE (${key}) > (${after.map(() => "?").join(", ")})`;
  const tuples = await tx.tuples<Tuple>(
    `SELECT ${columns} FROM ${FORMS[name]?.relation ?? name} ${beyond} ORDER BY ${key} LIMIT ?`,
    ...after,
    limit,
  );
  return rowPage(table, tuples, limit);
}

/** Skips rows that exist already. */
export async function writeRows(tx: Tx, name: string, rows: readonly JsonObject[]): Promise<void> {
  if (rows.length === 0) return;
  const table = tableNamed(name);
  const form = FORMS[name];
  try {
    for (const insert of form?.inserts ?? [insertOf(table)]) await tx.run(insert, ...listsOf(table, rows));
  } catch (error) {
    throw asDiffering(error, name);
  }
  if (form?.sequence !== undefined) await raise(tx, form.sequence, largest(rows, table.key.at(-1) ?? ""));
  if (name === "items") await lineUp(tx, rows);
  if (name === "letters" || name === "resolved_letters") {
    await recallMessages(
      tx,
      name,
      rows.map((row) => Number(row.no)),
    );
  }
}

function insertOf({ name, columns }: Table): string {
  const names = columns.map((column) => column.name).join(", ");
  return `INSERT INTO ${name} (${names}) SELECT * FROM ${rowsOf(columns)} ON CONFLICT DO NOTHING`;
}

function listsOf({ columns }: Table, rows: readonly JsonObject[]): Scalar[][] {
  return columns.map(({ name }) => rows.map((row) => (row[name] ?? null) as Scalar));
}

function largest(rows: readonly JsonObject[], column: string): number {
  return rows.reduce((most, row) => Math.max(most, Number(row[column])), 0);
}

/** Raises the sequence, so that new rows get higher numbers than the copied ones. */
async function raise(tx: Tx, sequence: string, to: number): Promise<void> {
  await tx.run(
    `SELECT setval(s, greatest(?::bigint, coalesce(pg_sequence_last_value(s), 0)))
       FROM (SELECT (${sequence})::regclass AS s) named`,
    to,
  );
}

/** The SQLSTATE class of constraint violations. */
const RULE_BROKEN = "23";

function asDiffering(error: unknown, table: string): unknown {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" && code.startsWith(RULE_BROKEN) ? copyDiffers(table, error) : error;
}

/** Deletes all rows and restarts all sequences. */
export async function deleteRows(tx: Tx): Promise<void> {
  const names = TABLES.map(({ name }) => name).filter((name) => name !== "sequences");
  await tx.run(
    `TRUNCATE ${[...names, "queue_counts", "ready_items", "ordered_items", "ordering_heads", "leases"].join(", ")} RESTART IDENTITY`,
  );
  await tx.run("SELECT setval('event_ids', 1, false)");
  await tx.run("UPDATE letter_numbers SET last = 0, latest_at = 0, unordered = 0");
}
