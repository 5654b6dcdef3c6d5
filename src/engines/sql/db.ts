/**
 * The database interface of the SQL code that both engines share. A step is a generator: SQLite runs it to
 * the end synchronously, PostgreSQL awaits the promises that it yields. Statements use `?` or `?1`; the
 * dialect provides the SQL that differs between the two databases.
 */
import type { LetterFilter } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import type { Work, Worked } from "./advance.ts";
import type { ClockStep } from "./clock-steps.ts";
import type { Deltas } from "./deltas.ts";
import type { EventLog } from "./events.ts";

/** Work in one transaction. Nothing happens until `yield*` runs it inside another step. */
export type Step<T> = Generator<Promise<unknown>, T, unknown>;

export type Scalar = string | number | boolean | null;
/** A list is bound as one parameter; see `Dialect.among`. */
export type SqlValue = Scalar | readonly Scalar[];

/** Anything that reads rows: a session of SQLite, or a transaction of PostgreSQL. */
interface Reader {
  readonly now: number;
  get<Row>(sql: string, ...values: readonly SqlValue[]): Row | undefined | Promise<Row | undefined>;
  all<Row>(sql: string, ...values: readonly SqlValue[]): Row[] | Promise<Row[]>;
}

/** The part of `Db` that both databases implement in the same way. */
export abstract class ReadingDb {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  get now(): number {
    return this.#reader.now;
  }

  get<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row | undefined> {
    return call(() => this.#reader.get<Row>(sql, ...values));
  }

  all<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row[]> {
    return call(() => this.#reader.all<Row>(sql, ...values));
  }
}

/** One transaction of a store. */
export interface Db {
  readonly sql: Dialect;
  /** The store's time. */
  readonly now: number;
  get<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row | undefined>;
  all<Row>(sql: string, ...values: readonly SqlValue[]): Step<Row[]>;
  /** Returns how many rows were written. */
  run(sql: string, ...values: readonly SqlValue[]): Step<number>;
  /** Inserts rows in order: `insert("notes (ref, at, author, text)", rows)`. */
  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict?: string): Step<number>;
  /** Notifies watchers of the queue after the transaction has ended. */
  notify(queue: { readonly no: number; readonly name: string }): Step<void>;
  writeEvents(events: EventLog): Step<void>;
  /** Creates an empty collection of counter changes for `writeDeltas`. */
  newDeltas(): Deltas;
  writeDeltas(deltas: Deltas): Step<void>;
  /** Locks the ready items that an operation has redriven, so that no worker leases them, and returns their letters. */
  lockReadyLetters(
    operation: number,
  ): Step<readonly { readonly no: number; readonly grp: number; readonly ref: number }[]>;
  /**
   * Withdraws ready items from leasing, before they enter a state that no longer blocks other items with
   * their ordering key.
   */
  beforeUnready(refs: readonly number[]): Step<void>;
  /** Deletes the rows that only this engine stores for items, before the items are deleted. */
  beforeDelete(refs: readonly number[]): Step<void>;
  /** Moves the due times of items by a clock step. Returns how many items were moved. */
  moveDueTimes(step: ClockStep): Step<number>;
  /** Deletes a holder's lease records. Only PostgreSQL has such records. */
  deleteLeases(holder: number): Step<void>;
  /** Deletes the rows that only this engine stores for a queue, when its job is deleted. */
  deleteQueueState(queue: number): Step<void>;
  /**
   * Makes ready items unavailable for leasing, before they enter a state in which they still block their
   * ordering keys.
   */
  withdraw(refs: readonly number[]): Step<void>;
  /**
   * Makes the next items of the ordering keys available for leasing, after ready items have changed state.
   */
  realign(refs: readonly number[]): Step<void>;
  /** Makes items available for leasing and notifies workers, after the items became ready. */
  offer(refs: readonly number[]): Step<void>;
  /** Allocates numbers for new items, in ascending order. */
  takeRefs(count: number): Step<readonly number[]>;
  /** The number of the newest burial, even if its letter no longer exists. */
  lastBurial(): Step<number>;
  /**
   * Allocates numbers for letters that were buried elsewhere, no later than `latestAt`. Returns the first
   * number.
   */
  takeBurials(count: number, latestAt: number): Step<number>;
  /** The letters that match a filter, as one query per table or state. */
  lettersMatching(filter: LetterFilter): Step<readonly MatchingLetters[]>;
  /** Returns the error that makes the engine retry the transaction because a concurrent one was faster. */
  lostRace(what: string): Error;
  /**
   * Redrives the next selected letters with one statement; returns null if the engine does not support this.
   */
  redriveNext(work: Work): Step<Worked | null>;
  /** Updates the text index, if the engine has one, after the last failures of letters may have changed. */
  reindexTexts(letterSequences: readonly number[]): Step<void>;
}

export type ColumnType = "bigint" | "text";

/** The FROM and WHERE clauses of letters `l`, and an expression for the state of their items. */
export interface MatchingLetters extends Fragment {
  readonly state: string;
}

/** Part of a statement, with the values of its parameters. */
export interface Fragment {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** SQL that differs between the two databases. */
export interface Dialect {
  /** A condition: the column equals one of the values of a list parameter. */
  among(column: string, parameter: string, type?: "bigint" | "text"): string;
  /** A parameter with an explicit type, where PostgreSQL cannot infer it. */
  typed(parameter: string, type: "bigint" | "text" | "boolean" | "text[]"): string;
  larger(a: string, b: string): string;
  smaller(a: string, b: string): string;
  /** Rows as a relation with these columns, for FROM: `relation("r", { ref: "bigint", data: "text" }, rows)`. */
  relation(
    name: string,
    columns: Readonly<Record<string, ColumnType>>,
    rows: readonly (readonly Scalar[])[],
  ): Fragment;
  /**
   * A condition: the column equals one of the values of a SELECT, which may use columns of preceding tables.
   */
  amongSelected(column: string, select: string): string;
  /** An aggregate that returns the values of a group of rows as JSON text: `jsonArray("item_id ORDER BY ref")`. */
  jsonArray(values: string): string;
  /** An expression: the rows of an ordered SELECT as the JSON text of a list of objects; null or an empty list if there are none. */
  jsonRows(select: string, columns: readonly string[]): string;
  /** The text at a key of a JSON object, compared by code points. */
  jsonText(column: string, key: string): string;
  /** Joins the row of a table by its key, with one seek per preceding row: `lookUp("items i", "ref", "s.ref")`. */
  lookUp(table: string, key: string, value: string): string;
  /** Like `lookUp`, as a left join. */
  lookUpAny(table: string, key: string, value: string): string;
  /** The number at a zero-based index of a list parameter. */
  element(list: string, index: string): string;
  /** A SELECT of the `ref` of all items that a holder has leased. */
  heldBy(holder: string): string;
  /** Forces an index where the planner would choose a different one. */
  indexedBy(index: string): string;
  /** The join that keeps the written order where the planner would choose a different one. */
  readonly joinInOrder: string;
  /**
   * The condition of the partial index of errors. A query uses the index only if it contains exactly this
   * text.
   */
  readonly errors: string;
  /**
   * Whether one statement per row is faster than one statement for several rows, because there is no round
   * trip.
   */
  readonly isRowByRow: boolean;
  /** Sorts a text column by its bytes. */
  inBytes(column: string): string;
  /** The end of a SELECT in FROM that the planner does not merge with the outer SELECT. */
  readonly separately: string;
  /** The end of a SELECT that locks its rows until the transaction ends. */
  readonly forUpdate: string;
  readonly forShare: string;
  /** The column that numbers notes and late results. */
  readonly serial: string;
  /** Queues with their counters. */
  readonly queueTotals: string;
  /** The relation that contains selected letters with their status. */
  readonly selected: string;
  /** The columns of a letter besides its number, item, group and burial time. */
  readonly letterHeader: Readonly<Record<string, ColumnType>>;
  /** The message of a letter's last failure, which is used to split groups. */
  readonly lastMessage: string;
}

/** Runs a step that never yields a promise. */
export function runNow<T>(step: Step<T>): T {
  const result = step.next();
  assert(result.done, "a step of SQLite waits for nothing");
  return result.value;
}

/** Runs a step and awaits what it yields. An error of a statement is thrown inside the step. */
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

/** Runs independent steps concurrently: their statements are sent without waiting in between. */
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

/** A step that consists of one call. SQLite runs it synchronously, PostgreSQL awaits it. */
export function* call<T>(run: () => T | Promise<T>): Step<T> {
  const answer = run();
  return (answer instanceof Promise ? yield answer : answer) as T;
}
