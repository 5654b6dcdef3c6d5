/** Shortens JSON values that are too long for an answer, and reports what was omitted. */
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";

export interface Size {
  readonly charactersMax: number;
  /** The maximum for each list and object. */
  readonly entriesMax: number;
  readonly depthMax: number;
}

/** From complete documents to a few words of each. The last size always fits into an answer. */
export const SIZES: readonly Size[] = [
  { charactersMax: 4000, entriesMax: 100, depthMax: 12 },
  { charactersMax: 1500, entriesMax: 50, depthMax: 8 },
  { charactersMax: 600, entriesMax: 20, depthMax: 6 },
  { charactersMax: 250, entriesMax: 10, depthMax: 5 },
  { charactersMax: 120, entriesMax: 5, depthMax: 4 },
  { charactersMax: 40, entriesMax: 3, depthMax: 3 },
];

/** The size of records in lists. */
export const BRIEF: Size = { charactersMax: 300, entriesMax: 12, depthMax: 4 };

/** Shortens each field of a document. `cut` describes the omissions by field name. */
export function shrinkDocument(
  document: JsonObject,
  size: Size,
): { readonly document: JsonObject; readonly cut: readonly string[] } {
  const cut: string[] = [];
  const fields = Object.entries(document).map(([key, value]) => {
    const lost = { characters: 0, entries: 0 };
    const short = shrink(value, size, lost);
    if (lost.entries > 0) cut.push(`${key}: ${lost.entries} more entries`);
    if (lost.characters > 0) cut.push(`${key}: ${lost.characters} more characters`);
    return [key, short];
  });
  return { document: Object.fromEntries(fields) as JsonObject, cut };
}

type Lost = { characters: number; entries: number };

function shrink(value: Json, size: Size, lost: Lost, depth = 0): Json {
  if (typeof value === "string") return shortText(value, size.charactersMax, lost);
  if (typeof value === "bigint") return shortText(String(value), size.charactersMax, lost); // the SDK cannot serialize bigints
  if (value === null || typeof value !== "object") return value;
  const isList = Array.isArray(value);
  const all: readonly (readonly [string, Json])[] = isList
    ? value.map((one, index) => [String(index), one as Json] as const)
    : Object.entries(value as JsonObject);
  const kept = depth < size.depthMax ? all.slice(0, size.entriesMax) : [];
  const more = all.length - kept.length;
  lost.entries += more;
  const short = kept.map(
    ([key, one]) => [shortText(key, size.charactersMax, lost), shrink(one, size, lost, depth + 1)] as const,
  );
  const note = `cut: ${more} more`;
  if (isList) return [...short.map(([, one]) => one), ...(more > 0 ? [note] : [])];
  const object: Record<string, Json> = Object.create(null); // a field may be named __proto__
  for (const [key, one] of short) object[key] = one;
  if (more > 0) object["…"] = note;
  return object;
}

function shortText(text: string, max: number, lost: Lost): string {
  const shown = visible(text);
  if (shown.length <= max) return shown;
  lost.characters += shown.length - max;
  const kept = shown.slice(0, max).replace(/[\ud800-\udbff]$/, ""); // half of a character
  return `${kept}… [cut: ${shown.length - max} more characters]`;
}

/**
 * Characters that are invisible to people but visible to a model, or that reorder text: zero-width
 * characters, directional marks, tags. Joiners, which emoji and some scripts need, are not included.
 */
const HIDDEN =
  /[\u{200b}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2028}\u{2029}\u{2060}-\u{2069}\u{feff}\u{e0000}-\u{e007f}]/gu;

/** Replaces hidden characters by their codes, so that everything in an answer is visible. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns the value if it is an object, or else an empty object. */
export function fieldsOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
