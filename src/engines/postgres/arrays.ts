/**
 * Converts values for PostgreSQL. Builds array literals itself, because `pg` is several times slower for lists of numbers.
 */
import pg from "pg";

export type Scalar = string | number | boolean | null;
/** A list is passed as a PostgreSQL array; the statement must specify its type: `= ANY (?::bigint[])`. */
export type Value = Scalar | readonly Scalar[];

/**
 * PostgreSQL cannot store NUL characters, so they are replaced by the NUL symbol. In JSON they are escaped
 * and kept.
 */
export function storable(value: Value): Scalar {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\u2400") : value;
  return isList(value) ? arrayOf(value) : value;
}

/**
 * Returns the values of all items as one parameter; null if no item has a value, so that `unnest` fills in
 * nulls.
 */
export function column<One>(
  ones: readonly One[],
  of: (one: One) => string | number | undefined,
): readonly Scalar[] | null {
  return ones.some((one) => of(one) !== undefined) ? ones.map((one) => of(one) ?? null) : null;
}

function isList(value: Value): value is readonly Scalar[] {
  return Array.isArray(value);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression has to find them
const SPECIAL = /[\0-\x1f]|\p{Surrogate}/u;

/** Formats the list as JSON in braces, unless a text contains characters that JSON escapes differently. */
function arrayOf(list: readonly Scalar[]): string {
  const isPlain = list.every((value) => typeof value !== "string" || !SPECIAL.test(value));
  return isPlain ? `{${JSON.stringify(list).slice(1, -1)}}` : `{${list.map(literalOf).join(",")}}`;
}

function literalOf(value: Scalar): string {
  if (typeof value !== "string") return String(value);
  return `"${value.replace(/["\\]/g, "\\$&").replaceAll("\0", "\u2400")}"`;
}

const INT8 = 20;
const NUMERIC = 1700;
const INT8_ARRAY = 1016;

/** Integers and sums become numbers, because no column exceeds the safe range. */
export function getTypeParser(oid: number, format?: "text" | "binary") {
  if (oid === INT8 || oid === NUMERIC) return Number;
  if (oid === INT8_ARRAY) return (text: string) => text.slice(1, -1).split(",").filter(Boolean).map(Number);
  return pg.types.getTypeParser(oid, format as "text");
}
