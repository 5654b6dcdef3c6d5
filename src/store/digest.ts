/** What a store's rows come to, table by table: a count and a SHA-256. Equal stores have equal sums, in whichever engine. */
import { createHash } from "node:crypto";
import type { Engine } from "../engine.ts";
import { TABLES, type Table } from "../item/row.ts";
import type { JsonObject } from "../kit/json.ts";
import { rowsOf } from "./row-pages.ts";

/** The rows of one table. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

/** Of every table, in the order of `TABLES`. */
export async function sumsOf(engine: Engine): Promise<readonly TableSum[]> {
  const sums: TableSum[] = [];
  for (const table of TABLES) sums.push(await sumOf(engine, table));
  return sums;
}

/** Of one table. */
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

/** Whether two stores have the same rows. The names of the tables in which they differ. */
export function differences(one: readonly TableSum[], other: readonly TableSum[]): readonly string[] {
  const found = new Map(other.map((sum) => [sum.table, sum]));
  return one
    .filter(({ table, rows, digest }) => {
      const twin = found.get(table);
      return twin?.rows !== rows || twin.digest !== digest;
    })
    .map(({ table }) => table);
}

/**
 * The name that a store has among stores: what its first event and its first job say. It stays as long as the store
 * does, wherever it lies; null while nothing has happened in it.
 */
export async function identityOf(engine: Engine): Promise<string | null> {
  const first = async (table: string) => (await engine.readRows(table, { after: null, limit: 1 })).rows[0];
  const [event, job] = [await first("events"), await first("jobs")];
  if (event === undefined || job === undefined) return null;
  const text = JSON.stringify([event.at, event.type, event.data, job.id, job.created_at]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
