/**
 * `sort_by`: how it is written and what it means. Values of different kinds have a fixed order, so that the same input
 * always gives the same sequence; items that are equal keep theirs.
 */
import type { Filled } from "../attempt/template-parts.ts";
import { WorkError } from "../errors.ts";
import { findField } from "../intake/field.ts";
import { canonicalJson, isJsonObject, type Json } from "../kit/json.ts";
import { nearest } from "../kit/nearest.ts";
import type { SortKey } from "./model.ts";

/** Reads `priority DESC NULLS LAST, name`. Without a word a key is ascending; missing values come last. */
export function parseSortKeys(text: string): Filled<readonly SortKey[]> {
  const keys: SortKey[] = [];
  for (const part of text.split(",")) {
    const match = KEY.exec(part.trim());
    if (!match) {
      return {
        ok: false,
        message: `"${part.trim()}" is not a sort key. Write FIELD [ASC|DESC] [NULLS FIRST|LAST]`,
      };
    }
    const [, path = "", order, nulls] = match;
    keys.push({
      path,
      descending: order?.toLowerCase() === "desc",
      nulls: nulls?.toLowerCase() === "first" ? "first" : "last",
    });
  }
  return { ok: true, value: keys };
}

const KEY = /^([^\s,]+)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?$/i;

/** In order; the input is left alone. A field that no record has is an error. */
export function sortBy<T>(
  records: readonly T[],
  keys: readonly SortKey[],
  dataOf: (record: T) => Json,
): readonly T[] {
  if (keys.length === 0 || records.length === 0) return records;
  const data = records.map(dataOf);
  const readers = keys.map(({ path }) => readerOf(path, data));
  const keyed = records.map((record, index) => ({
    record,
    values: readers.map((read) => read(data[index] ?? null) ?? null),
  }));
  keyed.sort((a, b) => compareAll(a.values, b.values, keys));
  return keyed.map(({ record }) => record);
}

type Read = (data: Json) => Json | undefined;

/** `item.x` is the field `x`, as in `filter`, unless the records have a field `item` of their own; `item` is all of it. */
function readerOf(path: string, data: readonly Json[]): Read {
  const own: Read = (one) => findField(one, path);
  const inItem: Read = path === "item" ? (one) => one : (one) => findField(one, path.replace(/^item\./, ""));
  const read = [own, inItem].find((reader) => data.some((one) => reader(one) !== undefined));
  if (read !== undefined) return read;
  const fields = [...new Set(data.slice(0, LOOKED_AT_MAX).flatMap(fieldsOf))];
  const meant = nearest(path.replace(/^item\./, ""), fields);
  throw new WorkError("input_invalid", `sort_by: no item has the field "${path}".`, {
    hint:
      meant === undefined
        ? `Their fields are: ${fields.slice(0, FIELDS_SHOWN_MAX).join(", ") || "none"}.`
        : `Did you mean ${meant}?`,
  });
}

const LOOKED_AT_MAX = 100;
const FIELDS_SHOWN_MAX = 20;

function fieldsOf(data: Json): readonly string[] {
  return isJsonObject(data) ? Object.keys(data) : [];
}

function compareAll(a: readonly Json[], b: readonly Json[], keys: readonly SortKey[]): number {
  for (const [index, key] of keys.entries()) {
    const order = compareBy(key, a[index] ?? null, b[index] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function compareBy({ descending, nulls }: SortKey, a: Json, b: Json): number {
  if (a === null || b === null) {
    const order = Number(b === null) - Number(a === null);
    return nulls === "first" ? order : -order;
  }
  return descending ? compareValues(b, a) : compareValues(a, b);
}

/** Booleans, numbers, strings, lists, objects. Text goes by its code units, whatever language the machine speaks. */
function compareValues(a: Json, b: Json): number {
  const ranks = rankOf(a) - rankOf(b);
  if (ranks !== 0) return ranks;
  if (typeof a === "object" || typeof b === "object") return order(canonicalJson(a), canonicalJson(b));
  return order(a, b);
}

function order<T extends string | number | boolean>(a: T, b: T): number {
  return a < b ? -1 : Number(a > b);
}

function rankOf(value: Json): number {
  if (Array.isArray(value)) return 3;
  return { boolean: 0, number: 1, string: 2, object: 4 }[typeof value as "boolean"] ?? 5;
}
