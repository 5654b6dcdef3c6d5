/** Reads the rows of a store in pages, and computes row counts and digests. Equal stores have equal digests in any engine. */
import { createHash } from "node:crypto";
import type { Engine, RowPage } from "../engine.ts";
import { CLOCK_RECORD } from "../item/store-queries.ts";
import { TABLES, type Table } from "../item/tables.ts";
import { type Json, type JsonObject, stringifyJson } from "../std/json.ts";

/** The row count and digest of one table. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
}

export async function sumsOf(engine: Engine): Promise<readonly TableSum[]> {
  const sums: TableSum[] = [];
  for (const table of TABLES) sums.push(await sumOf(engine, table));
  return sums;
}

export async function sumOf(engine: Engine, table: Table): Promise<TableSum> {
  const names = table.columns.map((column) => column.name);
  const hash = createHash("sha256");
  let rows = 0;
  for await (const page of rowsOf(engine, table)) {
    rows += page.rows.length;
    let text = "";
    for (const row of page.rows) text += lineOf(names, row);
    hash.update(text);
  }
  return { table: table.name, rows, digest: hash.digest("hex") };
}

function lineOf(names: readonly string[], row: JsonObject): string {
  return `${JSON.stringify(names.map((name) => row[name] ?? null))}\n`;
}

export function differences(one: readonly TableSum[], other: readonly TableSum[]): readonly string[] {
  const found = new Map(other.map((sum) => [sum.table, sum]));
  return one
    .filter(({ table, rows, digest }) => {
      const twin = found.get(table);
      return twin?.rows !== rows || twin.digest !== digest;
    })
    .map(({ table }) => table);
}

/** Identifies a store by its first event and first job, which a copy also has; null while the store is empty. */
export async function identityOf(engine: Engine): Promise<string | null> {
  const first = async (table: string) => (await engine.readRows(table, { after: null, limit: 1 })).rows[0];
  const [event, job] = [await first("events"), await first("jobs")];
  if (event === undefined || job === undefined) return null;
  const text = stringifyJson([event.at, event.type, event.data, job.id, job.created_at]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

const ROWS_MIN = 64;
const ROWS_MAX = 4096;
const PAGE_CHARS = 4 * 1024 * 1024;

/** Reads the rows from the start or after a key. Prefetches the next page while the caller processes the current one. */
export async function* rowsOf(engine: Engine, table: Table, after: Json = null): AsyncGenerator<RowPage> {
  let limit = ROWS_MIN;
  let page: RowPage | null = await engine.readRows(table.name, { after, limit });
  while (page !== null) {
    const { rows, next }: RowPage = page;
    limit = limitAfter(rows, limit);
    const ahead: Promise<RowPage | null> =
      next === null ? Promise.resolve(null) : readDeferred(engine, table, { after: next, limit });
    if (rows.length > 0) yield { rows: rows.filter((row) => !isAboutStore(table, row)), next };
    page = await ahead;
  }
}

/** The name prefix of documents with the progress of a copy. Store contents exclude them and the clock record. */
export const COPY_PREFIX = "copy/";

function isAboutStore(table: Table, row: JsonObject): boolean {
  return (
    table.name === "documents" && (row.name === CLOCK_RECORD || String(row.name).startsWith(COPY_PREFIX))
  );
}

/** Defers the read until the caller has started on the current page, because a synchronous engine blocks the thread. */
function readDeferred(engine: Engine, table: Table, page: { readonly after: Json; readonly limit: number }) {
  const reading = new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
    engine.readRows(table.name, page),
  );
  reading.catch(() => undefined); // handled where the page is awaited, or ignored if the copy has already failed
  return reading;
}

/** Returns the row limit of the next page. It grows at most fourfold, because the next rows may be larger. */
function limitAfter(rows: readonly JsonObject[], limit: number): number {
  const chars = rows.reduce((sum, row) => sum + charsOf(row), 1);
  const fitting = Math.floor((rows.length * PAGE_CHARS) / chars);
  return Math.max(1, Math.min(fitting, limit * 4, ROWS_MAX));
}

function charsOf(row: JsonObject): number {
  let chars = 0;
  for (const name in row) {
    const value = row[name];
    if (typeof value === "string") chars += value.length;
  }
  return chars;
}
