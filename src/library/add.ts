/** Adds items to a queue: checks the options and the data, and returns an outcome for each item. */
import * as z from "zod";
import { RedriveError } from "../errors.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import { isPostgresConnection, isSqliteConnection, type TransactionConnection } from "../item/transaction.ts";
import type { AddedItem, QueueItem } from "../queue/add-items.ts";
import * as t from "../std/check-input.ts";
import { compact, type Json } from "../std/json.ts";
import { jsonProblem, toJsonData } from "./checked/json-data.ts";
import { type StandardSchemaV1, schemaMismatch, validate } from "./standard-schema.ts";
import type { Backoff, Duration, Shape, Time } from "./values.ts";
import * as v from "./values.ts";

/** The options of one item. */
export interface AddOptions {
  /** The unique key of the item in the queue. Default: a generated id. */
  readonly key?: string;
  /** A display name. */
  readonly name?: string;
  /** Default: the priority of the queue. */
  readonly priority?: Priority;
  /** How long to wait before the item may run. */
  readonly delay?: Duration;
  /** When the item may run. Default: now. */
  readonly at?: Time;
  /** How long after its due time the item expires. Default: the queue's setting. */
  readonly expiresAfter?: Duration;
  /** After this time the item becomes a letter without being run. */
  readonly expiresAt?: Time;
  /** Items with the same ordering key run one at a time, oldest first. */
  readonly orderingKey?: string;
  /** How often the item is retried. Default: the queue's setting. */
  readonly retries?: number;
  /** How long to wait before each retry. Default: the queue's setting. */
  readonly backoff?: Backoff;
  /**
   * Your own connection with an open transaction on the same database: a client of `pg`, or a `DatabaseSync`
   * of `@photostructure/sqlite` that has the store's file open. A commit makes the item visible, a rollback
   * discards it. Default: the item is stored immediately.
   */
  readonly transaction?: TransactionConnection;
}

/** An item of `addMany`: its data and its options. */
export interface NewItem<Input> extends Omit<AddOptions, "transaction"> {
  readonly data: Input;
}

/** An item that the queue has accepted. */
export interface Added<Result> {
  /** The key, or the generated id. */
  readonly id: string;
  /**
   * `existing`: the queue has an item with this key and keeps it; `replaced`: the existing item got the new
   * data. If the connection to PostgreSQL was lost during the call, `added` is also returned for an item that
   * already existed with this key and this data.
   */
  readonly outcome: "added" | "existing" | "replaced";
  /** Waits for the result. Rejects with `item_dead` if the item becomes a letter; the letter is the error's `cause`. */
  result(options?: ResultOptions): Promise<Result>;
}

/** An item that the queue has refused, and why. */
export interface Refused {
  readonly outcome: "refused";
  /** The key that the caller passed. */
  readonly id?: string;
  readonly error: RedriveError;
}

/** How long to wait for a result. */
export interface ResultOptions {
  /** Rejects with `wait_timeout` after this time. Default: no limit. */
  readonly timeout?: Duration;
  /** Rejects with `interrupted` when it is aborted. */
  readonly signal?: AbortSignal;
}

const ADD = {
  key: t.name.optional(),
  name: t.text.optional(),
  priority: t.oneOf(PRIORITIES).optional(),
  delay: v.duration.optional(),
  at: v.time.optional(),
  expiresAfter: v.durationFrom(1).optional(),
  expiresAt: v.time.optional(),
  orderingKey: t.name.optional(),
  retries: v.retries.optional(),
  backoff: v.backoff.optional(),
};

const transaction = t.anyThat(
  (value) => isPostgresConnection(value) || isSqliteConnection(value),
  "a client of pg, or a DatabaseSync of @photostructure/sqlite, with an open transaction",
);

const addOptions = z.strictObject({
  ...ADD,
  transaction: transaction.optional(),
} satisfies Shape<AddOptions>);

export const addManyOptions = z.strictObject({ transaction: transaction.optional() });
const newItem = z.strictObject({ ...ADD, data: z.unknown() } satisfies Shape<NewItem<unknown>>);

export const resultOptions = z.strictObject({
  timeout: v.duration.optional(),
  signal: v.signal.optional(),
} satisfies Shape<ResultOptions>);

export interface AddRules {
  readonly queue: string;
  readonly schema: StandardSchemaV1 | undefined;
  /** Reads the store's clock, to which relative times refer. */
  readonly now: () => Promise<number>;
}

/** Checks one item. Throws `usage` for invalid options and `input_invalid` for invalid data. */
export async function checkedItem(data: unknown, options: AddOptions, rules: AddRules): Promise<QueueItem> {
  const given = t.parseInput(addOptions, options, { caller: "queue.add", name: "options" });
  exclusive(given, "delay", "at");
  exclusive(given, "expiresAfter", "expiresAt");
  const { key, name, priority, delay, at, expiresAfter, expiresAt, orderingKey, retries, backoff } = given;
  const json = await checkedData(data, rules);
  const isRelative = delay !== undefined || expiresAfter !== undefined;
  const now = isRelative ? await rules.now() : 0;
  const dueAt = delay === undefined ? at : now + delay;
  const end = expiresAfter === undefined ? expiresAt : Math.max(now, dueAt ?? now) + expiresAfter;
  const item: Undefinable<QueueItem> = {
    data: json,
    key,
    name,
    priority,
    dueAt,
    expiresAt: end,
    orderingKey,
    retries,
    backoff,
    context: undefined, // middleware sets it
  };
  return compact(item) as QueueItem;
}

type Undefinable<T> = { readonly [Key in keyof T]: T[Key] | undefined };

function exclusive(given: object, one: string, other: string): void {
  const { [one]: first, [other]: second } = given as Record<string, unknown>;
  if (first === undefined || second === undefined) return;
  throw t.invalidInput("queue.add", [
    {
      text: `options.${one} and options.${other} cannot be used together`,
      field: one,
      hint: "Give one of them.",
    },
  ]);
}

/** Checks the schema on a JSON copy of the data, because the handler gets that form. */
async function checkedData(data: unknown, { queue, schema }: AddRules): Promise<Json> {
  const problem = jsonProblem(data);
  if (problem !== undefined)
    throw new RedriveError("input_invalid", `The data cannot be stored as JSON: ${problem}.`, {
      field: "data",
      hint: "Data may contain texts, numbers, booleans, null, lists and plain objects.",
    });
  const json = toJsonData(data);
  if (schema === undefined) return json;
  const checked = await validate(schema, json);
  if (!checked.ok) throw schemaMismatch(queue, checked);
  return json;
}

/** Splits an item of `addMany` into its data and its options. */
export function splitItem(item: unknown, index: number): { data: unknown; options: AddOptions } {
  const name = `items[${index}]`;
  t.parseInput(newItem, item, { caller: "queue.addMany", name });
  const { data, ...options } = item as NewItem<unknown>;
  return { data, options };
}

/** The error for an item that the store refused. */
export function refusal(queue: string, { itemId, reason = "", because }: AddedItem): RedriveError {
  if (because === "key_taken")
    return new RedriveError("item_exists", `The queue ${queue} refused the item ${itemId}: ${reason}.`, {
      field: "key",
      hint: 'Use another key, or declare the queue with unique: "return" or "replace".',
    });
  return new RedriveError("input_invalid", `The queue ${queue} refused the item: ${reason}.`, {
    field: /^its key\b/.test(reason) ? "key" : "data",
  });
}
