/**
 * Reads and writes the common rows of a store, for copies between stores. Data that PostgreSQL stores in
 * another form (sharded counters, `ready_items`) is converted when it is read and derived when it is written.
 */
import type { RowPage } from "../../engine.ts";
import { TABLES, type Table, tableNamed } from "../../item/tables.ts";
import type { Json, JsonObject } from "../../std/json.ts";
import { ATTEMPT_COLUMNS, RUNNING } from "../sql/attempts.ts";
import { copyDiffers, pageFrom, rowPage, type Tuple } from "../sql/rows.ts";
import type { Scalar } from "./arrays.ts";
import { recallMessages } from "./bury.ts";
import { HELD } from "./dialect.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
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

/** Skips rows that already exist. */
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

interface Form {
  /** A relation with the common rows. Default: the table. */
  readonly relation?: string;
  /** Statements that insert the rows, with an array parameter per column. Default: one insert into the same columns. */
  readonly inserts?: readonly string[];
  /** An expression for the sequence that numbers the rows. */
  readonly sequence?: string;
}

const QUEUE_COUNTERS = namesOf("queues", ["no", "name", "spent_until"]);

const ATTEMPT = namesOf("attempts", []).join(", ");

/** Forms by table name. A table without a form is copied unchanged. */
const FORMS: Readonly<Record<string, Form>> = {
  queues: {
    relation:
      "(SELECT t.*, q.spent_until::bigint AS spent_until FROM queue_totals t JOIN queues q ON q.no = t.no) queues",
    inserts: [
      into("queues", "queues (no, name, spent_until)", "no, name, spent_until"),
      into(
        "queues",
        `queue_counts (queue, shard, ${QUEUE_COUNTERS.join(", ")})`,
        `no, 0, ${QUEUE_COUNTERS.join(", ")}`,
      ),
    ],
    sequence: serial("queues", "no"),
  },
  jobs: { sequence: serial("jobs", "no") },
  holders: { sequence: serial("holders", "no") },
  operations: { sequence: serial("operations", "no") },
  selections: { relation: "selected" },
  items: {
    relation: `(SELECT ${namesOf("items", ["holder"]).join(", ")},
                       CASE state WHEN 'leased' THEN holder END AS holder FROM items) items`,
    sequence: serial("items", "ref"),
  },
  attempts: {
    // There are few running attempts, and they are found through the leases of their holders.
    relation: `(SELECT ${ATTEMPT_COLUMNS} FROM attempts
                UNION ALL ${RUNNING} WHERE i.ref IN (SELECT i.ref FROM ${HELD})) attempts`,
    inserts: [
      `${into("attempts", `attempts (${ATTEMPT})`, ATTEMPT, "WHERE outcome <> 'running'")}`,
      `UPDATE items i SET started_at = r.started_at FROM ${givenRows("attempts")}
        WHERE r.outcome = 'running' AND i.ref = r.ref AND i.attempts = r.number AND i.state = 'leased'`,
      `INSERT INTO leases (holder, refs) SELECT r.holder, array_agg(r.ref) FROM ${givenRows("attempts")}
        WHERE r.outcome = 'running' GROUP BY r.holder`,
    ],
  },
  groups: { sequence: serial("groups", "no") },
  late_results: { sequence: serial("late_results", "no") },
  notes: { sequence: serial("notes", "no") },
  group_notes: { sequence: serial("group_notes", "no") },
  group_fixes: { sequence: serial("group_fixes", "no") },
  corrections: { sequence: serial("corrections", "no") },
  events: {
    relation: `(SELECT ${namesOf("events", ["refs"]).join(", ")}, array_to_json(refs)::text AS refs FROM events) events`,
    inserts: [
      into(
        "events",
        `events (${namesOf("events", ["refs"]).join(", ")}, refs)`,
        `${namesOf("events", ["refs"]).join(", ")}, translate(refs, '[]', '{}')::bigint[]`,
      ),
    ],
    sequence: "'event_ids'",
  },
  counters: {
    relation: `(SELECT queue, name, sum(value)::bigint AS value FROM counters WHERE queue <> 0 GROUP BY queue, name) counters`,
    inserts: [into("counters", "counters (queue, name, shard, value)", "queue, name, 0, value")],
  },
  sequences: {
    relation: "(SELECT 'letters' AS name, last FROM letter_numbers WHERE last > 0) sequences",
    inserts: [
      // The numbers of the copied letters may not follow the order of their burial times.
      `UPDATE letter_numbers SET last = greatest(letter_numbers.last, r.last), unordered = greatest(letter_numbers.unordered, r.last),
              latest_at = greatest(latest_at, (SELECT max(buried_at) FROM letters), (SELECT max(buried_at) FROM resolved_letters))
         FROM ${givenRows("sequences")} WHERE r.name = 'letters'`,
    ],
  },
};

function namesOf(table: string, without: readonly string[]): readonly string[] {
  const names = tableNamed(table).columns.map((column) => column.name);
  return names.filter((name) => !without.includes(name));
}

function into(table: string, target: string, select: string, where = ""): string {
  return `INSERT INTO ${target} SELECT ${select} FROM ${givenRows(table)} ${where} ON CONFLICT DO NOTHING`;
}

/** The given rows as a relation `r`, with one array parameter per column. */
function givenRows(table: string): string {
  return rowsOf(tableNamed(table).columns);
}

function rowsOf(columns: Table["columns"]): string {
  const lists = columns.map(({ kind }, at) => `?${at + 1}::${kind === "int" ? "bigint" : "text"}[]`);
  return `unnest(${lists.join(", ")}) AS r (${columns.map((column) => column.name).join(", ")})`;
}

function serial(table: string, column: string): string {
  return `pg_get_serial_sequence('${table}', '${column}')`;
}

/** Idempotent. Notifies no workers, because none uses a store while it is being copied. */
async function lineUp(tx: Tx, rows: readonly JsonObject[]): Promise<void> {
  const refs = rows.map(({ ref }) => Number(ref));
  await tx.run(
    `INSERT INTO ready_items (queue, priority, due_at, ref, operation)
     SELECT queue, priority, due_at, ref, operation FROM items
      WHERE ref = ANY (?::bigint[]) AND state = 'ready' AND ordering_key IS NULL ON CONFLICT DO NOTHING`,
    refs,
  );
  const keys = rows.flatMap(({ queue, ordering_key }) =>
    typeof ordering_key === "string" ? [{ queue: Number(queue), ordering_key }] : [],
  );
  if (keys.length === 0) return;
  await tx.run(
    `INSERT INTO ordered_items (queue, ordering_key, ref, leased)
     SELECT queue, ordering_key, ref, CASE state WHEN 'leased' THEN 1 ELSE 0 END FROM items
      WHERE ref = ANY (?::bigint[]) AND ordering_key IS NOT NULL AND state IN ('ready', 'leased', 'held') ON CONFLICT DO NOTHING`,
    refs,
  );
  await alignOrderingKeys(tx, keys);
}
