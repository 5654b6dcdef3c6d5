/** One transaction: statements with values, the store's clock, the letter lock, notifications. */
import { assert } from "../../std/assert.ts";
import type { Clock } from "../../std/clock.ts";
import { type Scalar, storable, type Value } from "./arrays.ts";
import { versionHoldsIn } from "./migrate.ts";

export type { Value } from "./arrays.ts";

/**
 * The part of an answer to return: its rows as objects or as column lists, or only how many rows were
 * written.
 */
export type AnswerForm = "rows" | "tuples" | "count";

export interface Answer {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
}

export interface TxOptions {
  readonly send: (sql: string, values: readonly Scalar[], form: AnswerForm) => Promise<Answer>;
  /** Sends several statements without values in one text. */
  readonly script: (sql: string) => Promise<unknown>;
  /** Resolves to the server's time when BEGIN is answered; undefined if no step needs the time. */
  readonly begun?: Promise<number>;
  readonly clock: Clock | undefined;
  readonly schema: string;
  /** The LISTEN channel of the store. */
  readonly channel: string;
  readonly connection: number;
  /** The counter shard. Default: derived from the connection. */
  readonly shard?: number;
  /** The transaction id, if it is already known or not needed. Default: read on demand. */
  readonly number?: string;
}

/** The server's time, in milliseconds. */
export const CLOCK = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
/** The server's time when the transaction began, in milliseconds. */
export const BEGAN_AT = "(extract(epoch FROM now()) * 1000)::bigint";

/** The time in a statement that receives `Tx.timeIfKnown` as this parameter: `timeIn("?2")`. */
export function timeIn(parameter: string): string {
  return `coalesce(${parameter}::bigint, ${BEGAN_AT})`;
}

/**
 * A condition that takes the event lock, which a transaction holds from before it draws event ids until its end; see
 * events.ts. It fails if the store has another version.
 */
export function takesEventsLock({
  events,
  store,
  lock,
}: Readonly<Record<"events" | "store" | "lock", string>>): string {
  const take = `pg_advisory_xact_lock_shared(hashtext(${lock}), (last_value >> 16)::int)`;
  return `(SELECT ${take} FROM ${events} WHERE ${versionHoldsIn(store)}) IS NOT NULL`;
}

/** The key of the advisory lock for events. */
export function eventsLock(schema: string): string {
  return `redrive events ${schema}`;
}

/** The event lock for a statement that may run without BEGIN. */
export const EVENTS_LOCKED = takesEventsLock({
  events: "event_ids",
  store: "store",
  lock: `'${eventsLock("")}' || current_schema()`,
});

/** Workers update different counter rows, so that they do not wait for each other's transactions. */
export const SHARDS = 16;
/** PostgreSQL refuses longer payloads; an empty one means every queue. */
const NOTIFICATION_BYTES_MAX = 7000;

export class Tx {
  readonly schema: string;
  /** The counter shard of this transaction. */
  readonly shard: number;
  readonly #options: TxOptions;
  readonly #parting: Promise<unknown>[] = [];
  #now: number | undefined;
  #hasLetterLock = false;
  #isOver = false;
  #number: string | null = null;

  constructor(options: TxOptions) {
    this.schema = options.schema;
    this.shard = options.shard ?? options.connection % SHARDS;
    this.#number = options.number ?? null;
    this.#options = options;
  }

  /** Waits until BEGIN is answered, which sets the time. */
  async begun(): Promise<void> {
    const now = await this.#options.begun;
    assert(now !== undefined, "the beginning of what is sent at once is waited for");
    this.#now ??= this.#options.clock?.now() ?? now; // if the letter lock was taken in the meantime, its time counts
  }

  /** The store's time when the transaction began or when it got the letter lock. */
  get now(): number {
    assert(this.#now !== undefined, "the time is asked for before the transaction has begun");
    return this.#now;
  }

  /**
   * Like `now`, but null until BEGIN is answered. The statement then reads the clock itself; see `timeIn`.
   */
  get timeIfKnown(): number | null {
    return this.#now ?? this.#options.clock?.now() ?? null;
  }

  /**
   * Adds statements whose results are not needed. Later statements, including COMMIT, are sent without waiting for them. Call it
   * only once the transaction id is known.
   */
  part(...statements: readonly Promise<unknown>[]): void {
    for (const statement of statements) {
      statement.catch(() => {}); // reported by `parted`
      this.#parting.push(statement);
    }
  }

  /** Rejects when one of the statements of `part` has failed. */
  async parted(): Promise<void> {
    await Promise.all(this.#parting);
  }

  /** Marks that COMMIT is being sent. Sending a statement after it is a bug. */
  end(): void {
    this.#isOver = true;
  }

  async all<Row>(sql: string, ...values: Value[]): Promise<Row[]> {
    return (await this.#send(sql, values)).rows as Row[];
  }

  /** Returns each row as a list of its columns. */
  async tuples<Tuple extends readonly unknown[]>(sql: string, ...values: Value[]): Promise<Tuple[]> {
    return (await this.#send(sql, values, "tuples")).rows as Tuple[];
  }

  async get<Row>(sql: string, ...values: Value[]): Promise<Row | undefined> {
    return (await this.#send(sql, values)).rows[0] as Row | undefined;
  }

  /** Returns how many rows were written. */
  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.#send(sql, values, "count")).rowCount ?? 0;
  }

  /** Runs several statements without values. */
  async script(sql: string): Promise<void> {
    await this.#options.script(sql);
  }

  /** Inserts many rows in order with one statement. `into` determines the types: `insert("notes (ref, at, text)", rows)`. */
  async insert(into: string, rows: readonly (readonly Scalar[])[], onConflict = ""): Promise<number> {
    if (rows.length === 0) return 0;
    const { table, columns } = readInto(into);
    const list = columns.join(", ");
    const objects = rows.map((row) => objectOf(columns, row));
    return this.run(
      `INSERT INTO ${table} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${table}, ?::json) ${onConflict}`,
      JSON.stringify(objects),
    );
  }

  /**
   * Takes the letter lock: until the transaction ends, no other changes letters, groups, group records or operations. Must
   * be called before any row is locked, to avoid deadlocks.
   */
  async lockLetters(): Promise<void> {
    if (this.#hasLetterLock) return;
    const row = await this.get<{ now: number }>(
      `SELECT ${CLOCK} AS now
         FROM (SELECT pg_advisory_xact_lock(hashtextextended(?, 0)) OFFSET 0) taken`,
      `redrive letters ${this.schema}`,
    );
    this.#hasLetterLock = true;
    this.#now = this.#options.clock?.now() ?? row?.now ?? this.#now;
  }

  /** Notifies waiting workers of the queue when the transaction commits. */
  async notify(queue: string): Promise<void> {
    await this.run("SELECT pg_notify(?, ?)", ...this.notificationOf(queue));
  }

  /** Returns the arguments of `pg_notify`, for a statement that sends the notification itself. */
  notificationOf(queue: string): readonly [channel: string, word: string] {
    return [this.#options.channel, Buffer.byteLength(queue) > NOTIFICATION_BYTES_MAX ? "" : queue];
  }

  /** Like `notify`, for queue numbers. */
  async notifyAll(queues: readonly number[]): Promise<void> {
    if (queues.length === 0) return;
    await this.run(
      `SELECT pg_notify(?, CASE WHEN octet_length(name) > ${NOTIFICATION_BYTES_MAX} THEN '' ELSE name END)
         FROM queues WHERE no = ANY (?::bigint[])`,
      this.#options.channel,
      queues,
    );
  }

  /**
   * Returns the transaction id, for querying its status later; null if the transaction has written nothing.
   */
  async number(): Promise<string | null> {
    if (this.#number !== null) return this.#number;
    const row = await this.get<{ xid: string | null }>(
      "SELECT pg_current_xact_id_if_assigned()::text AS xid",
    );
    this.#number = row?.xid ?? null;
    return this.#number;
  }

  #send(sql: string, values: readonly Value[], form: AnswerForm = "rows"): Promise<Answer> {
    assert(!this.#isOver, "a statement is sent after the end of its transaction");
    return this.#options.send(sql, values.map(storable), form);
  }
}

function readInto(into: string): { table: string; columns: string[] } {
  const [, table = "", columns = ""] = /^(\w+) \((.*)\)$/s.exec(into) ?? [];
  return { table, columns: columns.split(/,\s*/) };
}

function objectOf(columns: readonly string[], row: readonly Scalar[]): Record<string, Scalar> {
  return Object.fromEntries(columns.map((column, at) => [column, storable(row[at] ?? null)]));
}
