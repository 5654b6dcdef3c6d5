/** Converts database rows: to objects, and to the common form in which one store is copied into another. */
import type { RowPage } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { rowOf, type Table } from "../../item/tables.ts";
import { assert } from "../../std/assert.ts";
import { type Json, parseJson } from "../../std/json.ts";

export type Tuple = readonly (string | number | null)[];

/** Which rows are read, in key order. */
export interface Page {
  /** The key of the last row of the previous page; empty at the beginning. */
  readonly after: Tuple;
  readonly limit: number;
}

export function pageFrom({ after, limit }: { readonly after: Json; readonly limit: number }): Page {
  if (after === null) return { after: [], limit };
  assert(Array.isArray(after), "rows are read after a key, which is a list");
  return { after: after as Tuple, limit };
}

export function rowPage({ columns, key }: Table, tuples: readonly Tuple[], limit: number): RowPage {
  const names = columns.map(({ name }) => name);
  const rows = tuples.map((values) => rowOf(names, values));
  const last = rows.at(-1);
  const isEnd = last === undefined || rows.length < limit;
  return { rows, next: isEnd ? null : key.map((column) => last[column] ?? null) };
}

/** The error for a row that was written after the table it references had been read. */
export function copyDiffers(table: string, cause: unknown): RedriveError {
  return new RedriveError("copy_differs", `Rows of ${table} conflict with existing rows.`, {
    cause,
    hint: "The source store changed during the copy. Run the same command again when no other process is using the store.",
  });
}

const propertyNames = new Map<string, string>();

function propertyOf(column: string): string {
  let name = propertyNames.get(column);
  if (name === undefined) {
    name = column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    propertyNames.set(column, name);
  }
  return name;
}

/**
 * Converts a row to an object: `created_at` becomes `createdAt`, nulls are left out, `json` columns are parsed and `flags`
 * columns become booleans.
 */
export function objectOf<T>(
  row: object,
  { json = [], flags = [] }: { readonly json?: readonly string[]; readonly flags?: readonly string[] } = {},
): T {
  const object: Record<string, unknown> = {};
  for (const [column, value] of Object.entries(row)) {
    if (value === null) continue;
    const read = json.includes(column) ? parseJson(value as string) : value;
    object[propertyOf(column)] = flags.includes(column) ? value === 1 : read;
  }
  return object as T;
}
