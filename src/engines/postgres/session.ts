/**
 * Runs the transactions of one PostgreSQL store. Retries after conflicts, prepares statements by their text,
 * and converts server errors. The rest of this folder uses it instead of `pg`.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { RedriveError } from "../../errors.ts";
import type { Clock } from "../../std/clock.ts";
import { type Address, readAddress } from "./address.ts";
import type { Scalar } from "./arrays.ts";
import { CommitInDoubt, wasCommitted } from "./commit-status.ts";
import { Connections, connectionNumber } from "./connections.ts";
import { afterStart, Outbox, send, within } from "./pipelining.ts";
import { type Statement, Statements } from "./statements.ts";
import { type TransactionStart, TransactionStarts } from "./transaction-settings.ts";
import { isConflict, isConnectionLoss, storeError } from "./trouble.ts";
import { type AnswerForm, BEGAN_AT, Tx } from "./tx.ts";

export { CommitInDoubt } from "./commit-status.ts";
export { Tx, timeIn, type Value } from "./tx.ts";

export interface SessionOptions {
  readonly url: string;
  /** Default: the database's clock. */
  readonly clock?: Clock;
  /** How long a write waits for locks. Default 30 s. */
  readonly busyMsMax?: number;
  /** How many connections the pool has at most, unless the URL has `pool`. */
  readonly connectionsMax?: number;
  /** How long to ask for the status of a commit whose answer was lost. Default 5 s. */
  readonly doubtMsMax?: number;
  /**
   * A pool shared by several sessions of a process (`connectionsTo`); its creator ends it. Default: a
   * separate pool.
   */
  readonly connections?: pg.Pool;
}

/** After this many conflicts in a row, the store is reported as busy. */
const TRIES_MAX = 20;
const WRITE_MS_MAX = 120_000;
/**
 * The timeout of statements that the server answers immediately. After this time the connection is probably
 * dead.
 */
const BEGIN_MS_MAX = 15_000;
const ANSWER_MS_MIN = 1_000;
/** The timeout for reads, which the server itself does not limit. */
const READ_MS_MAX = 600_000;
/** The client waits this much longer than the server's own timeout before it treats the connection as dead. */
const GRACE_MS = 5_000;

/** The statement that initialised each connection's settings; sessions may share connections. */
const keptSettings = new WeakMap<pg.PoolClient, string>();

export class Session {
  readonly address: Address;
  readonly clock: Clock | undefined;
  /** The LISTEN channel of the store. */
  readonly channel: string;
  readonly #connections: Connections;
  readonly #statements = new Statements();
  readonly #starts: TransactionStarts;
  readonly #doubtMsMax: number;
  /** How long the server may take for its first answer after connecting. */
  readonly #answerMsMax: number;
  #prepares: boolean;
  /** Whether a connection keeps its settings; behind a pooler it does not. */
  #isDirect = false;

  constructor(options: SessionOptions) {
    this.address = readAddress(options.url);
    this.clock = options.clock;
    this.#prepares = this.address.prepares ?? false;
    this.#doubtMsMax = options.doubtMsMax ?? 5_000;
    const { schema } = this.address;
    this.channel = `redrive_${createHash("sha256").update(schema).digest("hex").slice(0, 16)}`;
    this.#starts = new TransactionStarts(schema, options.busyMsMax ?? 30_000);
    this.#answerMsMax = Math.min(BEGIN_MS_MAX, Math.max(ANSWER_MS_MIN, options.busyMsMax ?? BEGIN_MS_MAX));
    this.#connections = new Connections(options);
  }

  /** Opens a connection outside of the pool; `prepare` runs before it connects. The caller ends it. */
  connect(prepare: (client: pg.Client) => void): Promise<pg.Client> {
    return this.#connections.connect(prepare);
  }

  /** Runs the steps in one durable transaction. They run again after a conflict, so side effects must be repeatable. */
  write<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.writePipelined(afterStart(steps), limits);
  }

  /** Like `write`, for steps that send their first statements together with BEGIN and wait for `tx.begun` themselves. */
  writePipelined<T>(steps: (tx: Tx) => Promise<T>, limits: Limits = {}): Promise<T> {
    const given = { timeoutMs: WRITE_MS_MAX, ...limits };
    return this.#untilWon(() => this.#attempt(this.#starts.writing(given.timeoutMs), steps, given));
  }

  /**
   * Like `write`, for steps that send everything before they wait. It takes one round trip, and each statement commits
   * separately (behind a pooler, all in one transaction). A statement with events takes the event lock itself (`EVENTS_LOCKED`). If
   * the connection is lost, the outcome is unknown: it throws a `CommitInDoubt` without an answer.
   */
  writeAutocommit<T>(steps: (tx: Tx) => Promise<T>, limits: Limits = {}): Promise<T> {
    const given = { timeoutMs: WRITE_MS_MAX, ...limits };
    return this.#untilWon(() => this.#attemptAtOnce(this.#starts.writing(given.timeoutMs), steps, given));
  }

  /**
   * Repeats the action that resolves an in-doubt transaction while the store is unreachable, for at most
   * `doubtMsMax`.
   */
  async untilKnown<T>(action: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#doubtMsMax;
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const isAway = error instanceof RedriveError && error.code === "store_unavailable";
        if (!isAway || this.#connections.isClosed || performance.now() > deadline) throw error;
      }
      await pause(50 + Math.random() * 100);
    }
  }

  /** Runs the steps on one snapshot of the store. */
  readSnapshot<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#read(this.#starts.snapshotRead, steps, limits);
  }

  /** Runs the steps so that each statement sees everything committed before it. */
  readCommitted<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#read(this.#starts.committedRead, steps);
  }

  /**
   * For reads that send all statements before they wait: one round trip and one snapshot. They cannot use
   * `tx.now`. Their query plans do not depend on the values.
   */
  readPipelined<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#convertingErrors(() => this.#attemptAtOnce(this.#starts.pipelinedRead, steps, limits));
  }

  /** Runs a transaction that does not rely on any table, for creating the schema. */
  prepare<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#untilWon(() => this.#attempt(this.#starts.preparation, afterStart(steps)));
  }

  /**
   * Returns true behind a pooler, which may switch connections. Statements are then not prepared unless the
   * URL requests it.
   */
  async findPooler(): Promise<boolean> {
    const isPooled = await this.#convertingErrors(() =>
      this.#connections.lend(async (client) => {
        const { rows } = await client.query(within("SELECT pg_backend_pid() AS pid", this.#answerMsMax));
        return rows[0]?.pid !== connectionNumber(client);
      }),
    );
    this.#prepares = this.address.prepares ?? !isPooled;
    this.#isDirect = !isPooled;
    return isPooled;
  }

  /** Returns the time in milliseconds, from the injected clock or else from the database. */
  async now(): Promise<number> {
    if (this.clock) return this.clock.now();
    const ask = within(`SELECT ${BEGAN_AT} AS now`, BEGIN_MS_MAX);
    return this.#convertingErrors(() =>
      this.#connections.lend(async (client) => timeOf(await send(client, ask))),
    );
  }

  /** See `Connections.keepStore`. */
  keepStore(): Promise<void> {
    return this.#convertingErrors(() => this.#connections.keepStore());
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #read<T>(start: TransactionStart, steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#convertingErrors(() => this.#attempt(start, afterStart(steps), limits));
  }

  /** Repeats the attempt after conflicts with other transactions. */
  async #untilWon<T>(attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!isConflict(error)) throw storeError(error, this.address.shown);
        if (tries >= TRIES_MAX) throw this.#busy();
      }
      await pause(Math.random() * 2 ** Math.min(tries, 7));
    }
  }

  /** Converts errors of `pg` and the server. */
  async #convertingErrors<T>(action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw storeError(error, this.address.shown);
    }
  }

  async #attempt<T>(
    start: TransactionStart,
    steps: (tx: Tx) => Promise<T>,
    { timeoutMs = READ_MS_MAX, silenceMs = BEGIN_MS_MAX }: Limits = {},
  ): Promise<T> {
    return this.#connections.lend(async (client) => {
      const beganAt = performance.now();
      const begun = this.#open(client, start, silenceMs);
      begun.catch(() => {}); // reported by `Tx.begun`
      const tx = this.#over(client, timeoutMs, { begun });
      const answer = await this.#carryOut(client, { tx, begun }, steps);
      const commit = () => send(client, within("COMMIT", timeoutMs + GRACE_MS));
      if (start.isWriting) await this.#commit(commit, tx, { answer, beganAt });
      else await commit();
      return answer;
    });
  }

  #attemptAtOnce<T>(
    start: TransactionStart,
    steps: (tx: Tx) => Promise<T>,
    { timeoutMs = READ_MS_MAX, silenceMs = BEGIN_MS_MAX }: Limits = {},
  ): Promise<T> {
    return this.#connections.lend(async (client) => {
      const outbox = new Outbox();
      const tx = this.#over(client, timeoutMs, { outbox });
      const asked = steps(tx);
      tx.end();
      const { isWriting } = start;
      const isBare = this.#isDirect && (isWriting || outbox.count === 1);
      const begun = isBare ? this.#keepSettings(client, silenceMs) : this.#open(client, start, silenceMs);
      const answered = outbox.send();
      const committing = isBare ? undefined : send(client, within("COMMIT", timeoutMs + GRACE_MS));
      // The connection is not reused until every statement is answered. The first error is the cause of the
      // others.
      await Promise.allSettled([begun, answered, asked, committing]);
      try {
        await begun;
        const answer = await asked;
        if (committing !== undefined) requireCommit(await committing);
        return answer;
      } catch (error) {
        if (!isWriting || !isConnectionLoss(error)) throw error;
        throw new CommitInDoubt(this.address.shown, { cause: error });
      }
    });
  }

  /** Sends BEGIN. Returns the server's time. */
  async #open(
    client: pg.PoolClient,
    { begin, setting }: TransactionStart,
    silenceMs: number,
  ): Promise<number> {
    try {
      const [, answer] = await Promise.all([
        send(client, within(begin, silenceMs)),
        send(client, this.#query({ sql: setting, values: [], asTuples: false, timeoutMs: silenceMs })),
      ]);
      return timeOf(answer);
    } catch (error) {
      this.#connections.spoil(client); // the connection has no search path now
      throw error;
    }
  }

  /** Sets the settings that statements without BEGIN rely on, once per connection. */
  async #keepSettings(client: pg.PoolClient, silenceMs: number): Promise<void> {
    if (keptSettings.get(client) === this.#starts.kept) return;
    keptSettings.set(client, this.#starts.kept);
    try {
      await send(client, within(this.#starts.kept, silenceMs));
    } catch (error) {
      keptSettings.delete(client);
      throw error;
    }
  }

  #over(
    client: pg.PoolClient,
    timeoutMs: number,
    { begun, outbox }: { readonly begun?: Promise<number>; readonly outbox?: Outbox },
  ): Tx {
    const speak = (sql: string, values: readonly Scalar[], form: AnswerForm) =>
      send(
        client,
        this.#query({ sql, values, asTuples: form === "tuples", timeoutMs: timeoutMs + GRACE_MS }),
      );
    return new Tx({
      send: outbox ? (...statement) => outbox.hold(() => speak(...statement)) : speak,
      script: (sql) => client.query(sql),
      ...(begun && { begun }),
      clock: this.clock,
      schema: this.address.schema,
      channel: this.channel,
      connection: connectionNumber(client),
    });
  }

  #query(asked: {
    readonly sql: string;
    readonly values: readonly Scalar[];
    readonly asTuples: boolean;
    readonly timeoutMs: number;
  }): pg.QueryConfig {
    const { values, asTuples, timeoutMs } = asked;
    const { text, name }: Statement = this.#statements.of(asked.sql);
    return {
      ...within(text, timeoutMs),
      values: values as Scalar[],
      ...(this.#prepares && name !== undefined && { name }),
      ...(asTuples && { rowMode: "array" }),
    };
  }

  async #carryOut<T>(
    client: pg.PoolClient,
    { tx, begun }: { readonly tx: Tx; readonly begun: Promise<number> },
    steps: (tx: Tx) => Promise<T>,
  ): Promise<T> {
    try {
      return await steps(tx);
    } catch (error) {
      // If ROLLBACK fails, the connection is discarded; the first error is more useful.
      if (!isConnectionLoss(error)) await client.query(within("ROLLBACK", BEGIN_MS_MAX)).catch(() => {});
      await begun; // a statement that failed before is the cause
      await tx.parted();
      throw error;
    }
  }

  async #commit(
    commit: () => Promise<pg.QueryResult>,
    tx: Tx,
    sent: { readonly answer: unknown; readonly beganAt: number },
  ): Promise<void> {
    const xid = await tx.number();
    try {
      tx.end();
      const [parted, committed] = await Promise.allSettled([tx.parted(), commit()]);
      if (parted.status === "rejected") throw parted.reason;
      if (committed.status === "rejected") throw committed.reason;
      requireCommit(committed.value);
    } catch (error) {
      if (xid === null || !isConnectionLoss(error)) throw error;
      const doubt = { xid, beganAt: sent.beganAt, doubtMsMax: this.#doubtMsMax };
      const isCommitted = await wasCommitted((prepare) => this.connect(prepare), doubt);
      if (isCommitted === null)
        throw new CommitInDoubt(this.address.shown, { answer: sent.answer, cause: error });
      if (!isCommitted) throw error; // rolled back, as if the connection had been lost before the commit
    }
  }

  #busy(): RedriveError {
    return new RedriveError(
      "store_busy",
      `The store ${this.address.shown} is too busy: a step conflicted with other transactions ${TRIES_MAX} times in a row.`,
      { hint: "Try again with fewer concurrent workers." },
    );
  }
}

function requireCommit({ command }: pg.QueryResult): void {
  if (command !== "COMMIT") throw new RedriveError("store_unavailable", "The transaction was rolled back.");
}

function timeOf({ rows }: pg.QueryResult): number {
  const now: unknown = rows[0]?.now;
  return typeof now === "number" ? now : 0;
}

/** How long a transaction may take. */
export interface Limits {
  /** The timeout of each statement. Default 120 s; 600 s for reads. */
  readonly timeoutMs?: number;
  /** The timeout of statements that the server answers immediately. Default 15 s. */
  readonly silenceMs?: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
