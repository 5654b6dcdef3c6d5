/**
 * The connections of one PostgreSQL store: transactions that are tried again as a whole when they lost against others,
 * statements prepared by their text, and the server's errors turned into ours. Everything else in this folder goes
 * through it; nothing of `pg` leaves it.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import { WorkError } from "../../errors.ts";
import type { Clock } from "../../std/clock.ts";
import { type Address, readAddress } from "./address.ts";
import type { Scalar } from "./arrays.ts";
import { CommitInDoubt, wasCommitted } from "./commit-status.ts";
import { Connections, connectionNumber } from "./connections.ts";
import { afterStart, Outbox, send, within } from "./pipelining.ts";
import { type Statement, Statements } from "./statements.ts";
import { type TransactionStart, TransactionStarts } from "./transaction-settings.ts";
import { isConflict, isConnectionLoss, storeError } from "./trouble.ts";
import { BEGAN_AT, Tx } from "./tx.ts";

export { CommitInDoubt } from "./commit-status.ts";
export { Tx, timeIn, type Value } from "./tx.ts";

export interface SessionOptions {
  readonly url: string;
  /** Default: the database's clock. */
  readonly clock?: Clock;
  /** How long a write waits for others that have what it needs locked. Default 30 s. */
  readonly busyMsMax?: number;
  /** How long it is asked what became of a commit whose answer was lost. Default 5 s. */
  readonly doubtMsMax?: number;
  /** Connections that several sessions of a process share (`connectionsTo`); who made them ends them. Default: its own. */
  readonly connections?: pg.Pool;
}

/** A transaction that lost this often in a row does not only have bad luck. */
const TRIES_MAX = 20;
const WRITE_MS_MAX = 120_000;
/** A link that is dead says nothing; what is answered at once is not waited for longer than this. */
const BEGIN_MS_MAX = 15_000;
const ANSWER_MS_MIN = 1_000;
/** The server itself does not limit what only reads. */
const READ_MS_MAX = 600_000;
/**
 * The server gives up first; when not even that is heard of, the connection is dead. What is sent by itself has no limit there but
 * that of its locks.
 */
const GRACE_MS = 5_000;

/** The statement by which each connection got what it keeps; sessions may share connections. */
const keptSettings = new WeakMap<pg.PoolClient, string>();

export class Session {
  readonly address: Address;
  readonly clock: Clock | undefined;
  /** On which who watches a queue listens. */
  readonly channel: string;
  readonly #connections: Connections;
  readonly #statements = new Statements();
  readonly #starts: TransactionStarts;
  readonly #doubtMsMax: number;
  /** How long a server that is connected to may take for its first answer. */
  readonly #answerMsMax: number;
  #prepares: boolean;
  /** Whether a connection keeps what is set on it. */
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

  /** Makes a connection beside the pool, prepared before it connects. The caller ends it. */
  connect(prepare: (client: pg.Client) => void): Promise<pg.Client> {
    return this.#connections.connect(prepare);
  }

  /**
   * Runs the steps in one durable transaction. They are run again, from the beginning, when it lost against another one;
   * what they keep outside must allow that.
   */
  write<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.writePipelined(afterStart(steps), limits);
  }

  /** The same for steps that send their first statements together with the beginning, and wait for `tx.begun` by themselves. */
  writePipelined<T>(steps: (tx: Tx) => Promise<T>, limits: Limits = {}): Promise<T> {
    const given = { timeoutMs: WRITE_MS_MAX, ...limits };
    return this.#untilWon(() => this.#attempt(this.#starts.writing(given.timeoutMs), steps, given));
  }

  /**
   * The same for steps that send all that they do before they wait for anything: it is carried out in one round trip. Each
   * statement is durable by itself, and takes the events' mark if it tells of any (`MARKED`); only a pooler makes one
   * transaction of them. When the connection is lost meanwhile, nobody knows what became of it: a `CommitInDoubt` without an answer.
   */
  writeAutocommit<T>(steps: (tx: Tx) => Promise<T>, limits: Limits = {}): Promise<T> {
    const given = { timeoutMs: WRITE_MS_MAX, ...limits };
    return this.#untilWon(() => this.#attemptAtOnce(this.#starts.writing(given.timeoutMs), steps, given));
  }

  /** Repeats what finds out how a doubt ends, while the store cannot be reached and for as long as a doubt lasts. */
  async untilKnown<T>(action: () => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#doubtMsMax;
    for (;;) {
      try {
        return await action();
      } catch (error) {
        const isAway = error instanceof WorkError && error.code === "store_unavailable";
        if (!isAway || this.#connections.isClosed || performance.now() > deadline) throw error;
      }
      await pause(50 + Math.random() * 100);
    }
  }

  /** Runs the steps on one unchanging view of the store. */
  readSnapshot<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#read(this.#starts.snapshotRead, steps, limits);
  }

  /** Runs the steps so that each sees what was committed before it began. */
  readCommitted<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#read(this.#starts.committedRead, steps);
  }

  /**
   * For steps that send all that they ask before they wait for anything: it goes out in one round trip, and sees one view of the
   * store. The time is not known to them. What they ask is planned once, whatever the values are.
   */
  readPipelined<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#told(() => this.#attemptAtOnce(this.#starts.pipelinedRead, steps, limits));
  }

  /** For the making of tables: a transaction that relies on none. */
  prepare<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#untilWon(() => this.#attempt(this.#starts.preparation, afterStart(steps)));
  }

  /**
   * True when something between us and the server answers in its place: a pooler, which gives every transaction another
   * connection. Prepared statements are then left out, unless the URL asks for them.
   */
  async findPooler(): Promise<boolean> {
    const isPooled = await this.#told(() =>
      this.#connections.lend(async (client) => {
        const { rows } = await client.query(within("SELECT pg_backend_pid() AS pid", this.#answerMsMax));
        return rows[0]?.pid !== connectionNumber(client);
      }),
    );
    this.#prepares = this.address.prepares ?? !isPooled;
    this.#isDirect = !isPooled;
    return isPooled;
  }

  /** In milliseconds: the injected clock's, else the database's. */
  async now(): Promise<number> {
    if (this.clock) return this.clock.now();
    const ask = within(`SELECT ${BEGAN_AT} AS now`, BEGIN_MS_MAX);
    return this.#told(() => this.#connections.lend(async (client) => timeOf(await send(client, ask))));
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #read<T>(start: TransactionStart, steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#told(() => this.#attempt(start, afterStart(steps), limits));
  }

  /** Tried again as a whole when it lost against others. */
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

  /** With errors of ours. */
  async #told<T>(action: () => Promise<T>): Promise<T> {
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
      // Nobody gets the connection before all is answered. What failed first is the reason for the rest.
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

  /** Sends the beginning of a transaction. Answers the server's time. */
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
      this.#connections.spoil(client); // it has no search path any more
      throw error;
    }
  }

  /** What is sent without a beginning finds the settings on the connection, from the first time on. */
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
    const speak = (sql: string, values: readonly Scalar[], asTuples: boolean) =>
      send(client, this.#query({ sql, values, asTuples, timeoutMs: timeoutMs + GRACE_MS }));
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
      // A connection that cannot even do that is thrown away; the first error says more.
      if (!isConnectionLoss(error)) await client.query(within("ROLLBACK", BEGIN_MS_MAX)).catch(() => {});
      await begun; // what was sent before and failed is the reason
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
      if (!isCommitted) throw error; // rolled back: as if the connection had been lost before
    }
  }

  #busy(): WorkError {
    return new WorkError(
      "store_busy",
      `The store ${this.address.shown} is changed by so many at once that a step lost ${TRIES_MAX} times in a row.`,
      { hint: "Try again, with fewer workers at a time." },
    );
  }
}

function requireCommit({ command }: pg.QueryResult): void {
  if (command !== "COMMIT") throw new WorkError("store_unavailable", "The transaction was rolled back.");
}

function timeOf({ rows }: pg.QueryResult): number {
  const now: unknown = rows[0]?.now;
  return typeof now === "number" ? now : 0;
}

/** How long a transaction may take. */
export interface Limits {
  /** Each of its statements. Default 120 s; of those that only read 600 s. */
  readonly timeoutMs?: number;
  /** What is answered at once; a connection that says nothing for longer is dead. Default 15 s. */
  readonly silenceMs?: number;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
