/** Computes row counts and SHA-256 digests of a store's tables. Equal stores have equal digests in any engine. */
import { createHash } from "node:crypto";
import type { Engine } from "../engine.ts";
import { TABLES, type Table } from "../item/tables.ts";
import { type JsonObject, stringifyJson } from "../std/json.ts";
import { rowsOf } from "./row-pages.ts";

/** The row count and digest of one table. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  /** SHA-256 in hexadecimal. */
  readonly digest: string;
}

/** Returns the sums of all tables in the order of `TABLES`. */
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

/** Returns the names of the tables that differ. */
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
