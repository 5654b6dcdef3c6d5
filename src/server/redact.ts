/**
 * Masks item values that a role may not see, according to the `redact` rules of redrive.yml. Every JSON
 * response is processed here. A hidden value is also masked where it occurs in messages and output of the
 * same item.
 */
import type { RedactRule } from "../config/settings.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { mayAct } from "./auth/principal.ts";
import type { Role } from "./contract/route.ts";
import { RequestError } from "./problem.ts";
import { type GroupValues, maskGroupTexts, NO_GROUPS } from "./redact-groups.ts";

const MASK = "[redacted]";
/** Shorter values occur in almost every message. */
const VALUE_CHARS_MIN = 4;

export interface Redactor {
  /** Masks a document. Texts of groups whose hidden values are not given are removed. */
  document(value: unknown, groups?: GroupValues): unknown;
  /** The hidden values of an item's data. */
  values(data: Json): readonly string[];
  /** Masks an item's data. */
  data(data: Json): Json;
  /** Masks an item's values in its output. */
  text(text: string, data: Json): string;
}

/** Returns null if the role may see everything. */
export function redactorFor(rules: readonly RedactRule[], role: Role): Redactor | null {
  const paths = rules
    .filter(({ below }) => !mayAct(role, below))
    .flatMap((rule) => rule.paths.map((path): Path => path.split(".")));
  if (paths.length === 0) return null;
  return {
    document: (value, groups = NO_GROUPS) => maskDocument(value as Json, { paths, groups }),
    values: (data) => valuesAt(data, paths),
    data: (data) => maskTexts(maskData(data, paths), valuesAt(data, paths)),
    text: (text, data) => replaceAll(text, valuesAt(data, paths)),
  };
}

/** Rejects a route whose response cannot be masked, or whose filter could be used to guess hidden values. */
export function requireVisible(what: string): never {
  throw new RequestError(
    "forbidden",
    `The redact rules hide data from your role, so ${what} is not available.`,
  );
}

/** The parts of `a.b` or `list.*.b`; a leading `**` is any depth. */
type Path = readonly string[];

interface Hidden {
  readonly paths: readonly Path[];
  readonly groups: GroupValues;
}

function maskDocument(value: Json, hidden: Hidden): Json {
  if (Array.isArray(value)) return value.map((one) => maskDocument(one as Json, hidden));
  if (!isJsonObject(value)) return value;
  const { paths } = hidden;
  const data = "item_data" in value ? value.item_data : isItem(value) ? value.data : undefined;
  if (data !== undefined) return maskRecord(value, data, paths);
  const masked = maskFields(maskGroupTexts(value, hidden.groups, replaceAll), hidden);
  const { letter } = value;
  if (!isJsonObject(letter)) return masked;
  return maskTexts(
    masked,
    [letter.item_data, value.data].flatMap((one) => valuesAt(one as Json, paths)),
  );
}

function maskFields(value: JsonObject, hidden: Hidden): Json {
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      if (MESSAGES.includes(key)) return [key, MASK];
      if (key === "changes" && Array.isArray(one))
        return [key, one.map((change) => maskChange(change as Json))];
      if (key === "data" && "letter" in value) return [key, maskData(one as Json, hidden.paths)];
      return [key, maskDocument(one as Json, hidden)];
    }),
  ) as Json;
}

/** Messages of records without item data may contain any hidden value. */
const MESSAGES = ["message", "error_message", "stack_trace", "stdout_tail", "stderr_tail"];

function isItem(value: Readonly<Record<string, unknown>>): boolean {
  return "data" in value && "item_id" in value && "queue" in value && "state" in value;
}

/** Masks the current and former data of a letter or an item, and the hidden values in all of its texts. */
function maskRecord(record: Readonly<Record<string, unknown>>, data: unknown, paths: readonly Path[]): Json {
  const values = valuesAt(data as Json, paths);
  const former = Array.isArray(record.amendments) ? record.amendments : [];
  for (const one of former) if (isJsonObject(one)) values.push(...valuesAt(one.before as Json, paths));
  const masked = Object.fromEntries(
    Object.entries(record).map(([key, one]) => {
      if (key === "item_data" || key === "data") return [key, maskData(one as Json, paths)];
      if (key === "amendments") return [key, former.map((entry) => maskFormer(entry as Json, paths))];
      return [key, one];
    }),
  );
  // Former data of an item is not available here, so its messages could contain values that are no longer in
  // the data.
  const isUnsure = !("amendments" in record) && Number(record.revision) > 1;
  return maskTexts(isUnsure ? maskMessages(masked as Json) : (masked as Json), values);
}

function maskMessages(value: Json): Json {
  if (Array.isArray(value)) return value.map((one) => maskMessages(one as Json));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      MESSAGES.includes(key) ? MASK : maskMessages(one as Json),
    ]),
  ) as Json;
}

function maskFormer(amendment: Json, paths: readonly Path[]): Json {
  return isJsonObject(amendment)
    ? { ...amendment, before: maskData(amendment.before as Json, paths) }
    : amendment;
}

function maskChange(change: Json): Json {
  if (!isJsonObject(change)) return change;
  const { path = "" } = change;
  return { path, ...("before" in change && { before: MASK }), ...("after" in change && { after: MASK }) };
}

function maskData(data: Json, paths: readonly Path[]): Json {
  return paths.reduce<Json>(maskPath, data);
}

function maskPath(data: Json, path: Path): Json {
  const [step, ...rest] = path;
  if (step === undefined) return MASK;
  if (step === "**") return maskAnywhere(data, rest);
  if (Array.isArray(data))
    return data.map((one, index) =>
      step === "*" || step === String(index) ? maskPath(one as Json, rest) : one,
    );
  if (!isJsonObject(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, one]) => [
      key,
      step === "*" || step === key ? maskPath(one as Json, rest) : one,
    ]),
  ) as Json;
}

function maskAnywhere(data: Json, path: Path): Json {
  const here = maskPath(data, path);
  if (Array.isArray(here)) return here.map((one) => maskAnywhere(one as Json, path));
  if (!isJsonObject(here)) return here;
  return Object.fromEntries(
    Object.entries(here).map(([key, one]) => [key, maskAnywhere(one as Json, path)]),
  ) as Json;
}

/** The texts and numbers that the paths hide. */
function valuesAt(data: Json, paths: readonly Path[]): string[] {
  const values = new Set<string>();
  collectDifferences(data, maskData(data, paths), values);
  return [...values].filter((text) => text.length >= VALUE_CHARS_MIN).sort((a, b) => b.length - a.length);
}

function collectDifferences(before: Json, after: Json, into: Set<string>): void {
  if (after === MASK) collectTexts(before, into);
  else if (Array.isArray(before) && Array.isArray(after))
    for (const [index, one] of before.entries()) collectDifferences(one as Json, after[index] as Json, into);
  else if (isJsonObject(before) && isJsonObject(after))
    for (const [key, one] of Object.entries(before))
      collectDifferences(one as Json, after[key] as Json, into);
}

function collectTexts(value: Json, into: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) collectTexts(one as Json, into);
  else if (isJsonObject(value)) for (const one of Object.values(value)) collectTexts(one as Json, into);
  else if (typeof value === "string" || typeof value === "number" || typeof value === "bigint")
    into.add(String(value));
}

function maskTexts(value: Json, values: readonly string[]): Json {
  if (typeof value === "string") return replaceAll(value, values);
  if (Array.isArray(value)) return value.map((one) => maskTexts(one as Json, values));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, maskTexts(one as Json, values)]),
  ) as Json;
}

function replaceAll(text: string, values: readonly string[]): string {
  return values.reduce((masked, value) => masked.replaceAll(value, MASK), text);
}
