/**
 * Values on their way to PostgreSQL. Lists are written as its array literals here, because `pg` takes several times as long
 * for lists of numbers, of which there are many.
 */

export type Scalar = string | number | boolean | null;
/** A list is an array of PostgreSQL; write its type into the statement: `= ANY (?::bigint[])`. */
export type Value = Scalar | readonly Scalar[];

/** PostgreSQL has no text with a NUL in it: its picture takes its place. In JSON it is escaped, and stays what it is. */
export function storable(value: Value): Scalar {
  if (typeof value === "string") return value.includes("\0") ? value.replaceAll("\0", "\u2400") : value;
  return isList(value) ? arrayOf(value) : value;
}

/** A list with what each has; null when none has any: then nothing is sent, and `unnest` fills up with nulls. */
export function column<One>(
  ones: readonly One[],
  of: (one: One) => string | number | undefined,
): readonly Scalar[] | null {
  return ones.some((one) => of(one) !== undefined) ? ones.map((one) => of(one) ?? null) : null;
}

function isList(value: Value): value is readonly Scalar[] {
  return Array.isArray(value);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SPECIAL = /[\0-\x1f]|\p{Surrogate}/u;

/** As JSON writes a list, in other brackets; unless a text has something of which JSON makes more than PostgreSQL does. */
function arrayOf(list: readonly Scalar[]): string {
  const isPlain = list.every((value) => typeof value !== "string" || !SPECIAL.test(value));
  return isPlain ? `{${JSON.stringify(list).slice(1, -1)}}` : `{${list.map(literalOf).join(",")}}`;
}

function literalOf(value: Scalar): string {
  if (typeof value !== "string") return String(value);
  return `"${value.replace(/["\\]/g, "\\$&").replaceAll("\0", "\u2400")}"`;
}
