/** From a row to the object that it stores. */
import { parseJson } from "../../std/json.ts";

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
 * The object that a row stores: `created_at` becomes `createdAt`, a null is left out, texts of the `json` columns are
 * parsed, and the numbers of the `flags` columns are booleans.
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
