/** Converts the parameters of statements to values that SQLite can store, and writes statements for many rows of them. */
import type { SqlValue } from "../sql/db.ts";

export type Value = string | number | null;

/** A parameter of a statement; a list is bound as a JSON array, for `json_each`. */
export type Given = SqlValue;

/** Returns the same array if no value needs conversion, which is the usual case. */
export function bound(values: readonly Given[]): readonly Value[] {
  for (const value of values) if (!isValue(value)) return values.map(stored);
  return values as readonly Value[];
}

function isValue(value: Given): value is Value {
  return value === null || (typeof value !== "object" && typeof value !== "boolean");
}

function stored(value: Given): Value {
  if (isValue(value)) return value;
  return typeof value === "boolean" ? Number(value) : JSON.stringify(value);
}

/** Returns a function that writes the INSERT of many rows. The texts are kept, because they are the keys of prepared statements. */
export function insertTexts(): (into: string, rows: number, values: number, onConflict: string) => string {
  const texts = new Map<string, string>();
  return (into, rows, values, onConflict) => {
    const key = `${rows} ${into} ${onConflict}`;
    const known = texts.get(key);
    if (known !== undefined) return known;
    const row = `(${Array(values / rows)
      .fill("?")
      .join(", ")})`;
    const text = `INSERT INTO ${into} VALUES ${Array(rows).fill(row).join(", ")} ${onConflict}`;
    texts.set(key, text);
    return text;
  };
}
