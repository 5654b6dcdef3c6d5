/** Converts database rows to objects. */
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
