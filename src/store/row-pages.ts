/** The rows of a table, a page at a time, without the records of copies. Pages are as large as their rows allow: many small ones, few large ones. */
import type { Engine, RowPage } from "../engine.ts";
import type { Table } from "../item/row.ts";
import type { Json, JsonObject } from "../kit/json.ts";

const ROWS_MIN = 64;
const ROWS_MAX = 4096;
/** So much text a page is to have, about. */
const PAGE_CHARS = 4 * 1024 * 1024;

/** From the beginning, or from the row after the given key on. The next page is read while who asked works on this one. */
export async function* rowsOf(engine: Engine, table: Table, after: Json = null): AsyncGenerator<RowPage> {
  let limit = ROWS_MIN;
  let page: RowPage | null = await engine.readRows(table.name, { after, limit });
  while (page !== null) {
    const { rows, next }: RowPage = page;
    limit = limitAfter(rows, limit);
    const ahead: Promise<RowPage | null> =
      next === null ? Promise.resolve(null) : readSoon(engine, table, { after: next, limit });
    if (rows.length > 0) yield { rows: rows.filter((row) => !isOfCopies(table, row)), next };
    page = await ahead;
  }
}

/** The documents that say how far a copy is: they are about a store, not of it. */
export const COPY_PREFIX = "copy/";

function isOfCopies(table: Table, row: JsonObject): boolean {
  return table.name === "documents" && String(row.name).startsWith(COPY_PREFIX);
}

/** After whoever got a page has begun with it: an engine that reads at once would keep them waiting. */
function readSoon(
  engine: Engine,
  table: Table,
  page: { readonly after: Json; readonly limit: number },
): Promise<RowPage> {
  const reading = new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
    engine.readRows(table.name, page),
  );
  reading.catch(() => undefined); // told to who asks for the page; nobody does when the copy has failed meanwhile
  return reading;
}

/** At most four times as many as before, for the next rows may be larger. */
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
