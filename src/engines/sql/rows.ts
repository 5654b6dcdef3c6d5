/** The rows of a store as every engine exports and imports them, for a copy from one store into another. */
import type { RowPage } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { rowOf, type Table } from "../../item/tables.ts";
import { assert } from "../../std/assert.ts";
import type { Json } from "../../std/json.ts";

export type Tuple = readonly (string | number | null)[];

/** Which rows are read, in the order of their keys. */
export interface Page {
  /** The key of the row before; empty at the beginning. */
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

/** A row without its referenced row was written after the referenced table was read. */
export function copyDiffers(table: string, cause: unknown): WorkError {
  return new WorkError("copy_differs", `Rows of ${table} do not fit those that are there.`, {
    cause,
    hint: "The store that is copied was changed meanwhile. Run the same copy again when nobody works with it.",
  });
}
