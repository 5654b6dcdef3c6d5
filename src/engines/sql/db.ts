/**
 * The port that SQL code written once goes through. A step is a generator: on SQLite it runs to its end without a pause, on
 * PostgreSQL it yields the promises that it waits for. Statements are written with `?` or `?1`; what the two databases write
 * differently comes from the dialect.
 */
import type { EventDraft, EventSubject } from "../../item/event.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";

/** Work in one transaction: `yield*` runs it inside another step. */
export type Step<T> = Generator<Promise<unknown>, T, unknown>;

export type Scalar = string | number | boolean | null;
/** A list is one parameter; see `Dialect.among`. */
export type SqlValue = Scalar | readonly Scalar[];

/** One transaction of a store. */
export interface Db {
  readonly sql: Dialect;
  /** The store's clock. */
  readonly now: number;
  get<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row | undefined>;
  all<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row[]>;
  /** Returns how many rows were written. */
  run(sql: string, ...values: readonly SqlValue[]): Step<number>;
  /** Writes many rows, in their order: `insert("notes (ref, at, author, text)", rows)`. */
  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number>;
  /** Notifies who watches the queue, once the transaction is over. */
  notify(queue: { readonly no: number; readonly name: string }): Step<void>;
  writeEvent(draft: EventDraft, place: EventSubject): Step<void>;
  /** Changes counters: of queues, groups and operations. */
  count(change: (deltas: Deltas) => void): Step<void>;
  /** The letters of the ready items that an operation has sent; nobody leases them before the transaction ends. */
  lockReadyLetters(
    operation: number,
  ): Step<readonly { readonly no: number; readonly grp: number; readonly ref: number }[]>;
  /** Before ready items get another state: takes them out of what can be leased. */
  beforeUnready(refs: readonly number[]): Step<void>;
  /** After ready items got another state in which they are in nobody's way. */
  afterUnready(refs: readonly number[]): Step<void>;
  /** After the last failures of letters may have changed: their texts are indexed again where there is an index. */
  reindexTexts(letterSequences: readonly number[]): Step<void>;
}

/** Sums of counters that one transaction changes. */
export interface Deltas {
  move(queue: number, from: ItemState | null, to: ItemState): void;
  queue(queue: number, counter: ItemState | "letters" | "resolved" | "purged" | "evicted", by: number): void;
  group(group: number, counter: "away" | "resolved" | "discarded", by: number): void;
}

/** What the two databases write differently. */
export interface Dialect {
  /** Whether the column has one of the values of a parameter that is a list. */
  among(column: string, parameter: string, type?: "bigint" | "text"): string;
  /** A parameter whose type PostgreSQL cannot infer. */
  typed(parameter: string, type: "bigint" | "text" | "boolean"): string;
  /** The larger of two values. */
  larger(a: string, b: string): string;
  /** The smaller of two values. */
  smaller(a: string, b: string): string;
  /** Ends a SELECT whose rows must not change before the transaction ends. */
  readonly forUpdate: string;
  readonly forShare: string;
}

/** Runs a step that never waits. */
export function runNow<T>(step: Step<T>): T {
  const result = step.next();
  assert(result.done, "a step of SQLite waits for nothing");
  return result.value;
}

/** Runs a step and waits for what it yields. An error of a statement is thrown inside the step. */
export async function runAwaiting<T>(step: Step<T>): Promise<T> {
  let result = step.next();
  while (!result.done) result = await settle(step, result.value);
  return result.value;
}

async function settle<T>(
  step: Step<T>,
  waited: Promise<unknown>,
): Promise<IteratorResult<Promise<unknown>, T>> {
  let answer: unknown;
  try {
    answer = await waited;
  } catch (error) {
    return step.throw(error);
  }
  return step.next(answer);
}

/** What one engine does at once and the other one asynchronously, as part of a step. */
export function* wait<T>(value: T | Promise<T>): Step<T> {
  return (value instanceof Promise ? yield value : value) as T;
}
