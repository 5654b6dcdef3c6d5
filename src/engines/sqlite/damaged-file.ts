/**
 * Reads the readable rows of a damaged SQLite store. Opens the file read-only through SQLite and never
 * changes it. Rows on damaged pages are skipped: reading continues with the next readable key.
 */

import type { TableDamage } from "../../item/store-queries.ts";
import { TABLES, type Table } from "../../item/tables.ts";
import { DatabaseSync, type StatementSyncInstance, type Value } from "./session.ts";
import { isSqliteError } from "./store-error.ts";

const PAGE_ROWS = 256;
/** This many keys after a damaged row are tried one by one; after that, the steps grow. */
const SINGLE_STEPS_MAX = 500;
const STEP_GROWTH = 1.1;
const PROBLEMS_MAX = 100;

type Row = readonly Value[];

export class DamagedFile {
  readonly #db: InstanceType<typeof DatabaseSync>;
  readonly #statements = new Map<string, StatementSyncInstance>();

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true });
    this.#db.exec("PRAGMA busy_timeout = 2000");
    // Lets SQLite use the readable part of a damaged schema. The file stays read-only.
    this.#db.enableDefensive(false);
    this.#db.exec("PRAGMA writable_schema = ON");
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }

  /** The version of the schema; undefined when the first page cannot be read. */
  version(): number | undefined {
    const value = this.#read("PRAGMA user_version")?.[0]?.[0];
    return typeof value === "number" ? value : undefined;
  }

  /** The damage that SQLite's integrity check reports. */
  integrityProblems(): readonly string[] {
    const rows = this.#read(`PRAGMA integrity_check(${PROBLEMS_MAX})`);
    if (rows === undefined) return ["SQLite cannot read enough of the file to list the damage."];
    return rows.map(([line]) => String(line)).filter((line) => line !== "ok");
  }

  /** Counts the readable rows of every table. */
  survey(): readonly TableDamage[] {
    return TABLES.map((table) => this.readTable(table, () => undefined));
  }

  /** Calls `onRow` for every readable row, with its values in the order of `columnsOf`. */
  readTable(table: Table, onRow: (row: Row) => void): TableDamage {
    const source = table.name === "sequences" ? "sqlite_sequence" : table.name;
    if (this.#read(`SELECT 1 FROM ${source} LIMIT 0`) === undefined)
      return { table: table.name, rows: 0, gaps: 1 };
    const scan = new Scan(table, (sql, values) => this.#read(sql, values));
    let rows = 0;
    for (const row of scan.rows()) {
      rows += 1;
      onRow(row);
    }
    return { table: table.name, rows, gaps: scan.gaps };
  }

  #read(sql: string, values: readonly Value[] = []): Row[] | undefined {
    try {
      const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
      this.#statements.set(sql, statement);
      statement.setReturnArrays(true);
      return statement.all(...values) as unknown as Row[];
    } catch (error) {
      if (isSqliteError(error)) return undefined;
      throw error;
    }
  }
}

/**
 * Returns the columns of a table that are salvaged. For items, this includes the start time of a running
 * attempt.
 */
export function columnsOf({ name, columns }: Table): readonly string[] {
  const names = columns.map((column) => column.name);
  return name === "items" ? [...names, "started_at"] : names;
}

const TEXT_KEYED = ["group_records", "documents", "sequences"];
const NUMBERED_BY_SQLITE = ["late_results", "notes", "group_notes"];

/** Scans the rows of a table in key order. */
class Scan {
  gaps = 0;
  readonly #table: Table;
  readonly #key: readonly string[];
  readonly #keyAt: readonly number[];
  readonly #select: string;
  readonly #read: (sql: string, values: readonly Value[]) => Row[] | undefined;

  constructor(table: Table, read: (sql: string, values: readonly Value[]) => Row[] | undefined) {
    this.#table = table;
    const columns = columnsOf(table);
    const key = table.name === "events" ? ["id"] : table.key;
    const source = (column: string) =>
      column === "no" && NUMBERED_BY_SQLITE.includes(table.name) ? "rowid" : column;
    this.#key = key.map(source);
    this.#keyAt = key.map((column) => columns.indexOf(column));
    const from =
      table.name === "sequences"
        ? "(SELECT name, seq AS last FROM sqlite_sequence WHERE name = 'letters')"
        : `${table.name} NOT INDEXED`;
    this.#select = `SELECT ${columns.map(source).join(", ")} FROM ${from}`;
    this.#read = read;
  }

  *rows(): Generator<Row> {
    let where: Start = { compare: ">", key: [] };
    for (;;) {
      const page: Row[] | undefined = this.#page(where, PAGE_ROWS) ?? this.#page(where, 1);
      if (page !== undefined) {
        for (const row of page) if (this.#fits(row)) yield row;
        const last = page.at(-1);
        if (last === undefined) return;
        where = { compare: ">", key: this.#keyOf(last) };
        continue;
      }
      this.gaps += 1;
      if (TEXT_KEYED.includes(this.#table.name)) return yield* this.#backwards(where);
      const next = this.#afterGap(where);
      if (next === undefined) return;
      where = next;
    }
  }

  /** Finds the first readable key after a damaged page. Keys begin with a number. */
  #afterGap(where: Start): Start | undefined {
    const from = Number(where.key[0] ?? 0);
    const startAt = (step: number): Start => ({
      compare: ">=",
      key: [from + step, ...this.#key.slice(1).map(() => 0)],
    });
    const isReadable = (step: number) => this.#page(startAt(step), 1) !== undefined;
    let failed = 0;
    for (let step = 1; Number.isSafeInteger(from + step); ) {
      if (isReadable(step)) return startAt(firstBetween(failed, step, isReadable));
      failed = step;
      step = step < SINGLE_STEPS_MAX ? step + 1 : Math.ceil(step * STEP_GROWTH);
    }
    return undefined;
  }

  /** Reads from the end back to the damage, because text keys cannot be incremented. */
  *#backwards(where: Start): Generator<Row> {
    let end: readonly Value[] = [];
    const key = this.#key.join(", ");
    for (;;) {
      const conditions = [
        where.key.length > 0 && `(${key}) > (${placeholders(where.key)})`,
        end.length > 0 && `(${key}) < (${placeholders(end)})`,
      ].filter(Boolean);
      const limits = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
      const sql = `${this.#select} ${limits} ORDER BY ${key} DESC LIMIT 1`;
      const row = this.#read(sql, [...where.key, ...end])?.[0];
      if (row === undefined) return;
      const here = this.#keyOf(row);
      if (end.length > 0 && compareKeys(here, end) >= 0) return;
      if (this.#fits(row)) yield row;
      end = here;
    }
  }

  #page({ compare, key }: Start, limit: number): Row[] | undefined {
    const names = this.#key.join(", ");
    const where = key.length === 0 ? "" : `WHERE (${names}) ${compare} (${placeholders(key)})`;
    const rows = this.#read(`${this.#select} ${where} ORDER BY ${names} LIMIT ${limit}`, key);
    return rows !== undefined && this.#isInOrder({ compare, key }, rows) ? rows : undefined;
  }

  /** Detects rows that a damaged page returns out of order, because the scan would otherwise never end. */
  #isInOrder({ compare, key }: Start, rows: readonly Row[]): boolean {
    let before = key;
    return rows.every((row, at) => {
      const here = this.#keyOf(row);
      const order = before.length === 0 ? 1 : compareKeys(here, before);
      before = here;
      return order > 0 || (at === 0 && compare === ">=" && order === 0);
    });
  }

  #keyOf(row: Row): readonly Value[] {
    return this.#keyAt.map((at) => row[at] ?? 0);
  }

  /** Detects values of the wrong type, which a damaged page can return. */
  #fits(row: Row): boolean {
    const isWhole = this.#table.columns.every(({ kind }, at) => {
      const value = row[at];
      if (value === null) return true;
      return kind === "int" ? Number.isSafeInteger(value) : typeof value === "string";
    });
    if (!isWhole) this.gaps += 1;
    return isWhole;
  }
}

/** Returns the lowest readable number above `failed` such that all numbers above it are readable too. */
function firstBetween(failed: number, readable: number, isReadable: (step: number) => boolean): number {
  let low = failed;
  let high = readable;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isReadable(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** Compares keys column by column, by number or by code points. */
function compareKeys(left: readonly Value[], right: readonly Value[]): number {
  for (const [at, value] of left.entries()) {
    const other = right[at] ?? 0;
    if (typeof value === "number" && typeof other === "number") {
      if (value !== other) return value - other;
    } else if (value !== other) {
      return Buffer.compare(Buffer.from(String(value)), Buffer.from(String(other)));
    }
  }
  return 0;
}

interface Start {
  readonly compare: ">" | ">=";
  /** Empty to start at the beginning. */
  readonly key: readonly Value[];
}

function placeholders(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}
