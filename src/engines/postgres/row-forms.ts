/** How copies between stores read and write tables that PostgreSQL stores in another form than the common rows. */
import { type Table, tableNamed } from "../../item/tables.ts";
import { ATTEMPT_COLUMNS, RUNNING } from "../sql/attempts.ts";
import { HELD } from "./dialect.ts";

export interface Form {
  /** A relation with the common rows. Default: the table. */
  readonly relation?: string;
  /** Statements that insert the rows, with an array parameter per column. Default: one insert into the same columns. */
  readonly inserts?: readonly string[];
  /** An expression for the sequence that numbers the rows. */
  readonly sequence?: string;
}

const QUEUE_COUNTERS = namesOf("queues", ["no", "name", "spent_until"]);

const ATTEMPT = namesOf("attempts", []).join(", ");

/** Forms by table name. A table without a form is copied as it is. */
export const FORMS: Readonly<Record<string, Form>> = {
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
    // Running attempts are few, and are found by the leases of their holders.
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

export function rowsOf(columns: Table["columns"]): string {
  const lists = columns.map(({ kind }, at) => `?${at + 1}::${kind === "int" ? "bigint" : "text"}[]`);
  return `unnest(${lists.join(", ")}) AS r (${columns.map((column) => column.name).join(", ")})`;
}

function serial(table: string, column: string): string {
  return `pg_get_serial_sequence('${table}', '${column}')`;
}
