/**
 * The port that SQL code written once goes through. A step is a generator: on SQLite it runs to its end without a pause, on
 * PostgreSQL it yields the promises that it waits for. Statements are written with `?` or `?1`; what the two databases write
 * differently comes from the dialect.
 */
import type { LetterFilter } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import type { Work, Worked } from "./advance.ts";
import type { ClockStep } from "./clock-steps.ts";
import type { Deltas } from "./deltas.ts";
import type { EventLog } from "./event-log.ts";

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
  writeEvents(events: EventLog): Step<void>;
  /** Sums of counters for `writeDeltas`. */
  newDeltas(): Deltas;
  writeDeltas(deltas: Deltas): Step<void>;
  /** The letters of the ready items that an operation has sent; nobody leases them before the transaction ends. */
  lockReadyLetters(
    operation: number,
  ): Step<readonly { readonly no: number; readonly grp: number; readonly ref: number }[]>;
  /** Before ready items get another state in which they block nobody: takes them out of what can be leased. */
  beforeUnready(refs: readonly number[]): Step<void>;
  /** Before items are deleted: deletes what only this engine has of them. */
  beforeDelete(refs: readonly number[]): Step<void>;
  /** Moves the due times of items by a step of the clock. Returns how many. */
  moveDueTimes(step: ClockStep): Step<number>;
  /** Deletes the record of what a holder was given, which only PostgreSQL has. */
  deleteLeases(holder: number): Step<void>;
  /** Deletes what only this engine has of the queue of a job that is being deleted. */
  deleteQueueState(queue: number): Step<void>;
  /** Before ready items get a state in which they still block younger ones of their ordering keys. */
  withdraw(refs: readonly number[]): Step<void>;
  /** After ready items got another state: the right items of their ordering keys can be leased. */
  realign(refs: readonly number[]): Step<void>;
  /** After items became ready: they can be leased, and workers are notified. */
  offer(refs: readonly number[]): Step<void>;
  /** Numbers for new items, rising. */
  takeRefs(count: number): Step<readonly number[]>;
  /** The number of the newest burial, also when its letter has left. */
  lastBurial(): Step<number>;
  /** Takes the next numbers, for letters with times of their own. Returns the first. */
  takeBurials(count: number, latestAt: number): Step<number>;
  /** Where the letters are that a filter means. */
  lettersMatching(filter: LetterFilter): Step<readonly MatchingLetters[]>;
  /** The error by which the transaction is tried again because another one was faster. */
  lostRace(what: string): Error;
  /** Redrives the next letters of a selection by one statement, where the engine has it; else null. */
  redriveNext(work: Work): Step<Worked | null>;
  /** After the last failures of letters may have changed: their texts are indexed again where there is an index. */
  reindexTexts(letterSequences: readonly number[]): Step<void>;
}

export type ColumnType = "bigint" | "text";

/** FROM and WHERE of letters `l`, and the expression of their items' state. */
export interface MatchingLetters extends Fragment {
  readonly state: string;
}

/** Part of a statement, with what is bound to its question marks. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** What the two databases write differently. */
export interface Dialect {
  /** Whether the column has one of the values of a parameter that is a list. */
  among(column: string, parameter: string, type?: "bigint" | "text"): string;
  /** A parameter whose type PostgreSQL cannot infer. */
  typed(parameter: string, type: "bigint" | "text" | "boolean" | "text[]"): string;
  /** The larger of two values. */
  larger(a: string, b: string): string;
  /** The smaller of two values. */
  smaller(a: string, b: string): string;
  /** Rows as a relation with these columns, for FROM: `relation("r", { ref: "bigint", data: "text" }, rows)`. */
  relation(
    name: string,
    columns: Readonly<Record<string, ColumnType>>,
    rows: readonly (readonly Scalar[])[],
  ): Fragment;
  /** Whether the column has one of the values of a SELECT, which may name columns of tables before it. */
  amongSelected(column: string, select: string): string;
  /** A JSON array, as text, of the values of a group of rows: `jsonArray("item_id ORDER BY ref")`. */
  jsonArray(values: string): string;
  /** The text of a key of a JSON object, compared by code points. */
  jsonText(column: string, key: string): string;
  /** Joins the row of a table that has this value in its key: `lookUp("items i", "ref", "s.ref")`. One seek for each row before it. */
  lookUp(table: string, key: string, value: string): string;
  /** The same where there may be no such row. */
  lookUpAny(table: string, key: string, value: string): string;
  /** The number at an index, from 0, of a parameter that is a list. */
  element(list: string, index: string): string;
  /** A SELECT of the numbers `ref` of the items that a holder has leased. */
  heldBy(holder: string): string;
  /** Names the index where the planner would choose another one. */
  indexedBy(index: string): string;
  /** Joins in the order written where the planner would choose another one. */
  readonly joinInOrder: string;
  /** The condition of the index of errors, which is used by a query that has exactly this text. */
  readonly errors: string;
  /** Whether a statement for each row is faster than one for all of a few rows: it costs no round trip. */
  readonly isRowByRow: boolean;
  /** A text column in the order of its bytes. */
  inBytes(column: string): string;
  /** Ends a SELECT whose rows must not change before the transaction ends. */
  readonly forUpdate: string;
  readonly forShare: string;
  /** The column by which notes and late results are numbered. */
  readonly serial: string;
  /** Queues with their counters. */
  readonly queueTotals: string;
  /** The relation that has each selected letter with its status. */
  readonly selected: string;
  /** The columns of a letter besides its number, item, group and time of burial. */
  readonly letterHeader: Readonly<Record<string, ColumnType>>;
  /** The message of the last failure of a letter `l`, by which groups are split. */
  readonly lastMessage: string;
}

/** Runs a step that never waits. */
export function runNow<T>(step: Step<T>): T {
  const result = step.next();
  assert(result.done, "a step of SQLite waits for nothing");
  return result.value;
}

/** Runs a step and waits for what it yields. An error of a statement is thrown inside the step. */
export async function runAwaiting<T>(step: Step<T>): Promise<T> {
  const result = step.next();
  return result.done ? result.value : finish(step, result.value);
}

async function finish<T>(step: Step<T>, waited: Promise<unknown>): Promise<T> {
  let result = await settle(step, waited);
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

/** Runs steps of which none needs what another one answers: their statements are sent without a wait in between. */
export function* together<Steps extends readonly Step<unknown>[]>(
  ...steps: Steps
): Step<{ [At in keyof Steps]: Steps[At] extends Step<infer T> ? T : never }> {
  const begun = steps.map((step) => begin(step));
  const isOver = begun.every((one) => !(one instanceof Promise));
  return (isOver ? begun : yield Promise.all(begun)) as never;
}

function begin<T>(step: Step<T>): T | Promise<T> {
  const result = step.next();
  return result.done ? result.value : finish(step, result.value);
}

/** What one engine does at once and the other one asynchronously, as part of a step. */
export function* wait<T>(value: T | Promise<T>): Step<T> {
  return (value instanceof Promise ? yield value : value) as T;
}
