/** Validates items before they are added. Does not use a schema, which is too slow for thousands of items per call. */
import { type NewItem, PRIORITIES } from "../../item/item.ts";
import { CONTEXT_BYTES_MAX, RETRIES_MAX } from "../../item/item-options.ts";
import type { QueueItem } from "../../queue/add-items.ts";
import { backoff as backoffSchema } from "../../queue/settings-schema.ts";
import { describeValue, invalidInput, suggestion } from "../../std/check-input.ts";
import { jsonProblem, toJsonData } from "./json-data.ts";

/** Returns the problem with a field's value, or undefined. */
type FieldCheck = (value: unknown) => string | undefined;
type Fields<T> = { readonly [Key in keyof Required<T>]: FieldCheck };

const COMMON = {
  name: text,
  priority: (value) =>
    (PRIORITIES as readonly unknown[]).includes(value)
      ? undefined
      : `expected one of ${PRIORITIES.join(", ")}`,
  dueAt: time,
  expiresAt: time,
  orderingKey: text,
  retries: (value) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= RETRIES_MAX
      ? undefined
      : `expected a whole number from 0 to ${RETRIES_MAX}`,
  backoff: (value) =>
    backoffSchema.safeParse(value).success
      ? undefined
      : 'expected the result of parseBackoff, for example parseBackoff("fixed:1s")',
  context,
} satisfies Partial<Fields<QueueItem>>;

const QUEUE_ITEM: Fields<QueueItem> = { ...COMMON, data, key: text };
const NEW_ITEM: Fields<NewItem> = { ...COMMON, data, itemId: text };

/** Returns the items with their data as JSON, or throws a `usage` error that names the item and the field. */
export function checkQueueItems(items: readonly QueueItem[], caller: string): readonly QueueItem[] {
  return checkItems(items, { caller, fields: QUEUE_ITEM, required: ["data"] });
}

export function checkNewItems(items: readonly NewItem[], caller: string): readonly NewItem[] {
  return checkItems(items, { caller, fields: NEW_ITEM, required: ["itemId", "data"] });
}

interface Check<T> {
  readonly caller: string;
  readonly fields: Fields<T>;
  readonly required: readonly (keyof T & string)[];
}

function checkItems<T extends { readonly data: NewItem["data"] }>(
  items: readonly T[],
  check: Check<T>,
): readonly T[] {
  if (!Array.isArray(items))
    throw invalidInput(check.caller, [
      { text: `items: expected a list, but this is ${describeValue(items)}`, field: "items" },
    ]);
  return items.map((item: T, index) => {
    checkItem(item, `items[${index}]`, check);
    const json = toJsonData(item.data);
    return json === item.data ? item : { ...item, data: json };
  });
}

function checkItem<T>(item: T, name: string, { caller, fields, required }: Check<T>): void {
  const invalid = (field: string, text: string, hint?: string) =>
    invalidInput(caller, [{ text, field, ...(hint && { hint }) }]);
  if (typeof item !== "object" || item === null || Array.isArray(item))
    throw invalid(name, `${name}: expected an object with data, but this is ${describeValue(item)}`);
  for (const key of required) {
    if (item[key] === undefined) throw invalid(`${name}.${key}`, `${name}.${key} is missing`);
  }
  for (const [key, value] of Object.entries(item)) {
    if (value === undefined) continue;
    const field = `${name}.${key}`;
    if (!Object.hasOwn(fields, key))
      throw invalid(field, `${name}: unknown field "${key}"`, suggestion(key, Object.keys(fields)));
    const problem = fields[key as keyof T](value);
    if (problem !== undefined)
      throw invalid(field, `${field}: ${problem}, but this is ${describeValue(value)}`);
  }
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? undefined : "expected a text";
}

function time(value: unknown): string | undefined {
  if (typeof value === "number" && Number.isSafeInteger(Math.round(value))) return undefined;
  return "expected milliseconds since the epoch, such as Date.now() or date.getTime()";
}

function context(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "expected an object";
  const problem = jsonProblem(value);
  if (problem !== undefined) return `expected an object that can be represented as JSON (${problem})`;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > CONTEXT_BYTES_MAX
    ? `expected at most ${CONTEXT_BYTES_MAX} bytes of JSON, not ${bytes}`
    : undefined;
}

function data(value: unknown): string | undefined {
  const problem = jsonProblem(value);
  return problem === undefined ? undefined : `expected data that can be represented as JSON (${problem})`;
}
