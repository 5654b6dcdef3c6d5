/** Selects the items of a map phase. The stages are, in this order: read, filter, sort, distinct, offset, max_items. */
import type { Readable } from "node:stream";
import { RedriveError } from "../errors.ts";
import { findField, Identity } from "../intake/identity.ts";
import { openInput } from "../intake/input.ts";
import { type IntakeRecord, invalidInput, type Origin } from "../intake/origin.ts";
import { parseInputJson } from "../intake/parse-json.ts";
import { openRecords } from "../intake/read-items.ts";
import type { NewItem } from "../item/item.ts";
import { FILTER_VARIABLES, requireExpression } from "../std/expression.ts";
import { canonicalJson, compact, isJsonObject, type Json, stringifyJson } from "../std/json.ts";
import { nearest } from "../std/nearest.ts";
import { shorten } from "../triage/clean.ts";
import { selectNodes } from "./json-path.ts";
import type { MapPhase, SortKey } from "./model.ts";

/** How many records each stage dropped. These counts and `selected` add up to `read`. */
export type SelectionCounts = Readonly<
  Record<"read" | "filtered" | "duplicates" | "skipped" | "beyond" | "selected", number>
>;

export interface Selection {
  readonly items: readonly NewItem[];
  readonly counts: SelectionCounts;
}

export type SelectionRules = Pick<
  MapPhase,
  "jsonPath" | "idField" | "filter" | "sortBy" | "distinct" | "offset" | "maxItems"
>;

type SelectionInput = { readonly file: string } | { readonly stream: Readable; readonly name: string };

/** Reads the input and selects items. With `json_path` the input is one JSON document, else any format of `redrive map`. */
export async function selectFrom(input: SelectionInput, rules: SelectionRules): Promise<Selection> {
  const path = "file" in input ? input.file : "-";
  const streams = "file" in input ? {} : { stdin: input.stream };
  if (rules.jsonPath === undefined) {
    const { origin, runs } = await openRecords({ path }, streams);
    const records: IntakeRecord[] = [];
    for await (const run of runs) for (const record of run) records.push(record);
    return select(records, rules, origin);
  }
  const { name, chunks } = await openInput(path, streams.stdin ?? process.stdin);
  const document = await readDocument(chunks, "name" in input ? input.name : name);
  return selectItems(document, rules, "name" in input ? input.name : name);
}

export async function selectItems(
  source: Json,
  rules: SelectionRules,
  name = "the input",
): Promise<Selection> {
  const origin: Origin = { name, format: "json", sniffed: false };
  const nodes = rules.jsonPath === undefined ? arrayOf(source, origin) : selectNodes(source, rules.jsonPath);
  const records = nodes.map((data, index) => ({ data, line: index + 1 }));
  return select(records, rules, { ...origin, format: "null" }); // messages count records, not lines
}

function select(records: readonly IntakeRecord[], rules: SelectionRules, origin: Origin): Selection {
  const matching = filter(records, rules.filter, origin);
  const sorted = sortRecords(matching, rules.sortBy);
  const { idField, distinct: distinctBy } = rules;
  const identity = new Identity(origin, compact({ idField, distinct: distinctBy }));
  const distinct = sorted.map((record) => identity.itemOf(record)).filter((item) => item !== undefined);
  requireUniqueIds(distinct, rules, origin);
  const rest = distinct.slice(rules.offset);
  const items = rules.maxItems === undefined ? rest : rest.slice(0, rules.maxItems);
  const counts = {
    read: records.length,
    filtered: records.length - matching.length,
    duplicates: matching.length - distinct.length,
    skipped: distinct.length - rest.length,
    beyond: rest.length - items.length,
    selected: items.length,
  };
  return { items, counts };
}

function filter(
  records: readonly IntakeRecord[],
  text: string | undefined,
  origin: Origin,
): readonly IntakeRecord[] {
  if (text === undefined) return records;
  const evaluate = requireExpression(text, FILTER_VARIABLES, "filter");
  return records.filter((record) => {
    const answer = evaluate({ item: record.data });
    if (answer.ok) return answer.value;
    const problem = `the filter "${text}" cannot be evaluated: ${answer.message}`;
    const { message } = invalidInput(origin, record, problem, { hint: "" });
    const item = shorten(stringifyJson(record.data), EXCERPT_CHARS_MAX);
    const hint = "Guard fields that some items lack: has(item.x) && item.x > 3.";
    throw new RedriveError("filter_invalid", `${message}. The item is ${item}`, { hint });
  });
}

const EXCERPT_CHARS_MAX = 120;

/** Rejects duplicate ids: two records with one id would become a single item, and one would be lost silently. */
function requireUniqueIds(items: readonly NewItem[], { idField }: SelectionRules, origin: Origin): void {
  if (idField === undefined) return;
  const seen = new Set<string>();
  for (const { itemId } of items) {
    if (seen.has(itemId)) {
      const hint = `Choose an id_field that is unique for each record, or drop duplicates with distinct: ${idField}.`;
      const message = `${origin.name}: two records have the ${idField} "${itemId}".`;
      throw new RedriveError("input_invalid", message, { hint });
    }
    seen.add(itemId);
  }
}

async function readDocument(chunks: AsyncIterable<Buffer>, name: string): Promise<Json> {
  const pieces: Buffer[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  const text = new TextDecoder("utf-8", { ignoreBOM: false }).decode(Buffer.concat(pieces));
  return parseInputJson(text, { name, format: "json", sniffed: false }, { line: 1 });
}

function arrayOf(document: Json, origin: Origin): readonly Json[] {
  if (Array.isArray(document)) return document as readonly Json[];
  throw invalidInput(origin, { line: 1 }, "expected a JSON array", {
    hint: "Add the path of the items, e.g. json_path: $.items[*].",
  });
}

/**
 * Parses `priority DESC NULLS LAST, name`. By default, keys sort in ascending order with missing values last.
 */
export function parseSortKeys(text: string): readonly SortKey[] {
  return text.split(",").map((part) => {
    const match = KEY.exec(part.trim());
    if (!match) {
      const message = `"${part.trim()}" is not a sort key. Write FIELD [ASC|DESC] [NULLS FIRST|LAST]`;
      throw new RedriveError("usage", message);
    }
    const [, path = "", order = "asc", nulls = "last"] = match;
    const isFirst = nulls.toLowerCase() === "first";
    return { path, descending: order.toLowerCase() === "desc", nulls: isFirst ? "first" : "last" };
  });
}

const KEY = /^([^\s,]+)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?$/i;

/** Returns a sorted copy. Throws when no record has the field of a key. */
function sortRecords(records: readonly IntakeRecord[], keys: readonly SortKey[]): readonly IntakeRecord[] {
  if (keys.length === 0 || records.length === 0) return records;
  const data = records.map((record) => record.data);
  const readers = keys.map(({ path }) => readerOf(path, data));
  const valuesOf = (record: IntakeRecord) => readers.map((read) => read(record.data) ?? null);
  const keyed = records.map((record) => ({ record, values: valuesOf(record) }));
  keyed.sort((a, b) => compareAll(a.values, b.values, keys));
  return keyed.map(({ record }) => record);
}

type Read = (data: Json) => Json | undefined;

/** `item.x` means the field `x`, as in `filter`, unless the records have a field named `item`. `item` is the whole record. */
function readerOf(path: string, data: readonly Json[]): Read {
  const own: Read = (one) => findField(one, path);
  const inItem: Read = path === "item" ? (one) => one : (one) => findField(one, path.replace(/^item\./, ""));
  const read = [own, inItem].find((reader) => data.some((one) => reader(one) !== undefined));
  if (read !== undefined) return read;
  const examples = data.slice(0, EXAMPLES_MAX);
  const fields = [...new Set(examples.flatMap((one) => (isJsonObject(one) ? Object.keys(one) : [])))];
  const meant = nearest(path.replace(/^item\./, ""), fields);
  const shown = fields.slice(0, FIELDS_SHOWN_MAX).join(", ") || "none";
  throw new RedriveError("input_invalid", `sort_by: no item has the field "${path}".`, {
    hint: meant === undefined ? `Available fields: ${shown}.` : `Did you mean ${meant}?`,
  });
}

const EXAMPLES_MAX = 100;
const FIELDS_SHOWN_MAX = 20;

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

/** Orders types: booleans, numbers, strings, lists, objects. Strings compare by code units, independent of the locale. */
function compareValues(a: Json, b: Json): number {
  const ranks = rankOf(a) - rankOf(b);
  if (ranks !== 0) return ranks;
  if (typeof a === "object" || typeof b === "object") return order(canonicalJson(a), canonicalJson(b));
  return order(a, b);
}

function order<T extends string | number | bigint | boolean>(a: T, b: T): number {
  return a < b ? -1 : Number(a > b);
}

function rankOf(value: Json): number {
  if (Array.isArray(value)) return 3;
  return { boolean: 0, number: 1, bigint: 1, string: 2, object: 4 }[typeof value as "boolean"] ?? 5;
}
