/** Reads the rows of a table in pages whose row count adapts to the row size. Skips documents about copies and clocks. */
import type { Engine, RowPage } from "../engine.ts";
import { CLOCK_RECORD } from "../item/store-queries.ts";
import type { Table } from "../item/tables.ts";
import type { Json, JsonObject } from "../std/json.ts";

const ROWS_MIN = 64;
const ROWS_MAX = 4096;
/** The approximate size of a page of rows. */
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
function readDeferred(
  engine: Engine,
  table: Table,
  page: { readonly after: Json; readonly limit: number },
): Promise<RowPage> {
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
