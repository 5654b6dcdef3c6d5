/**
 * The connections of one PostgreSQL store: transactions that are tried again as a whole when they lost against others,
 * statements prepared by their text, and the server's errors turned into ours. Everything else in this folder goes
 * through it; nothing of `pg` leaves it.
 */
import { createHash } from "node:crypto";
import pg from "pg";
import { WorkError } from "../../errors.ts";
import type { Clock } from "../../kit/clock.ts";
import { type Address, readAddress } from "./address.ts";
import type { Scalar } from "./arrays.ts";
import { getTypeParser } from "./column-types.ts";
import { fateOf } from "./fate.ts";
import { afterBeginning, answeredTime, send, settingsIn, within } from "./sending.ts";
import { type Statement, Statements } from "./statements.ts";
import { isConflict, isConnectionLoss, isSilence, storeError } from "./trouble.ts";
import { CLOCK, KEPT_CLOCK, Tx } from "./tx.ts";

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

/** For `SessionOptions.connections`. Who waits for little waits no longer for a server that says nothing. */
export function connectionsTo(url: string, busyMsMax = CONNECT_MS_MAX): pg.Pool {
  const address = readAddress(url);
  const connectionTimeoutMillis = Math.min(CONNECT_MS_MAX, Math.max(CONNECT_MS_MIN, busyMsMax));
  const config = { ...configOf(address), connectionTimeoutMillis };
  const pool = new pg.Pool({ ...config, max: address.poolMax, allowExitOnIdle: true });
  pool.on("error", () => {}); // an idle connection was lost; the pool has dropped it
  pool.on("connect", (client) => client.on("error", () => {})); // told by the query that meets it
  return pool;
}

function configOf({ connectionString }: Address): pg.ClientConfig {
  return {
    connectionString,
    fallback_application_name: "redrive",
    pipeline: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    types: { getTypeParser },
  };
}

/** A transaction that lost this often in a row does not only have bad luck. */
const TRIES_MAX = 20;
const CONNECT_MS_MIN = 2_000;
const CONNECT_MS_MAX = 10_000;
/** A vanished client must not keep others waiting for its locks. */
const IDLE_MS_MAX = 20_000;
const WRITE_MS_MAX = 120_000;
/** A link that is dead says nothing; what is answered at once is not waited for longer than this. */
const BEGIN_MS_MAX = 15_000;
/** The server itself does not limit what only reads. */
const READ_MS_MAX = 600_000;
/** The server gives up first; when not even that is heard of, the connection is dead. */
const GRACE_MS = 5_000;
const COMMITTED_READ = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY";
const SNAPSHOT_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
const WRITE = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE";

/** Two clocks do not run alike. */
const CLOCK_SLACK_MS = 1000;

/** What a transaction would answer, and when it began. */
interface Sent {
  readonly answer: unknown;
  readonly beganAt: number;
}

/** A commit was sent, and its answer was lost: it is not known whether it was carried out. */
export class CommitInDoubt extends WorkError {
  /** What the transaction would have answered. */
  readonly answer: unknown;

  constructor(store: string, answer: unknown) {
    super("store_unavailable", `The store ${store} lost its connection while it committed.`, {
      hint: "The work goes on by itself when the server is back.",
    });
    this.answer = answer;
  }
}

export class Session {
  readonly address: Address;
  readonly clock: Clock | undefined;
  /** On which who watches a queue listens. */
  readonly channel: string;
  #pool: pg.Pool;
  readonly #url: string;
  readonly #ownsPool: boolean;
  readonly #statements = new Statements();
  readonly #settings: Readonly<Record<string, string>>;
  readonly #asking: string;
  readonly #eventsMark: string;
  readonly #doubtMsMax: number;
  #prepares: boolean;
  #closed = false;

  constructor(options: SessionOptions) {
    this.address = readAddress(options.url);
    this.clock = options.clock;
    this.#prepares = this.address.prepares ?? false;
    this.#doubtMsMax = options.doubtMsMax ?? 5_000;
    const { schema } = this.address;
    this.channel = `redrive_${createHash("sha256").update(schema).digest("hex").slice(0, 16)}`;
    this.#settings = {
      search_path: pg.escapeIdentifier(schema),
      idle_in_transaction_session_timeout: String(IDLE_MS_MAX),
      lock_timeout: String(options.busyMsMax ?? 30_000),
      // A scan of the whole store costs less than compiling its query.
      jit: "off",
    };
    this.#asking = `${SNAPSHOT_READ}; ${settingsIn({ ...this.#settings, plan_cache_mode: "force_generic_plan" })}`;
    this.#eventsMark = `pg_advisory_xact_lock_shared(hashtext(${pg.escapeLiteral(`redrive events ${schema}`)}), (last_value >> 16)::int)`;
    this.#url = options.url;
    this.#ownsPool = options.connections === undefined;
    this.#pool = options.connections ?? connectionsTo(options.url, options.busyMsMax);
  }

  /** For a connection beside the pool. */
  config(): pg.ClientConfig {
    return configOf(this.address);
  }

  /**
   * Runs the steps in one durable transaction. They are run again, from the beginning, when it lost against another one;
   * what they keep outside must allow that.
   */
  write<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.writeEagerly(afterBeginning(steps), limits);
  }

  /** The same for steps that send their first statements together with the beginning, and wait for `tx.begun` by themselves. */
  async writeEagerly<T>(steps: (tx: Tx) => Promise<T>, limits: Limits = {}): Promise<T> {
    const { timeoutMs = WRITE_MS_MAX, silenceMs = BEGIN_MS_MAX } = limits;
    const settings = settingsIn({
      ...this.#settings,
      statement_timeout: String(timeoutMs),
      // Planning for each batch anew takes longer than small batches do, and finds the same plan.
      plan_cache_mode: "force_generic_plan",
    });
    const begin = `${WRITE}; ${settings}; SELECT ${KEPT_CLOCK} AS now, ${this.#eventsMark} FROM event_ids`;
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#attempt(begin, steps, { timeoutMs, silenceMs });
      } catch (error) {
        if (!isConflict(error)) throw storeError(error, this.address.shown);
        if (tries >= TRIES_MAX) throw this.#busy();
      }
      await pause(Math.random() * 2 ** Math.min(tries, 7));
    }
  }

  /** Runs the steps on one unchanging view of the store. */
  read<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#look(SNAPSHOT_READ, steps, limits);
  }

  /** Runs the steps so that each sees what was committed before it began. */
  look<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#look(COMMITTED_READ, steps);
  }

  /**
   * For steps that send all that they ask before they wait for anything: it goes out with the beginning and the end of the
   * transaction, in one round trip. The time is not known to them. What they ask is planned once, whatever the values are.
   */
  ask<T>(steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    return this.#told(() => this.#attemptAtOnce(this.#asking, steps, limits));
  }

  /** For the making of tables: a transaction that relies on none. */
  prepare<T>(steps: (tx: Tx) => Promise<T>): Promise<T> {
    const begin = `${WRITE}; ${settingsIn(this.#settings)}; SELECT ${CLOCK} AS now`;
    return this.#told(() => this.#attempt(begin, afterBeginning(steps)));
  }

  /**
   * True when something between us and the server answers in its place: a pooler, which gives every transaction another
   * connection. Prepared statements are then left out, unless the URL asks for them.
   */
  async findPooler(): Promise<boolean> {
    const isPooled = await this.#told(() =>
      this.#guarded(async (client) => {
        const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
        return rows[0]?.pid !== connectionNumber(client);
      }),
    );
    this.#prepares = this.address.prepares ?? !isPooled;
    return isPooled;
  }

  /** In milliseconds: the injected clock's, else the database's. */
  async now(): Promise<number> {
    if (this.clock) return this.clock.now();
    const ask = within(`SELECT ${CLOCK} AS now`, BEGIN_MS_MAX);
    return this.#told(() => this.#guarded(async (client) => answeredTime([await send(client, ask)])));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#ownsPool) await this.#pool.end();
  }

  #look<T>(begin: string, steps: (tx: Tx) => Promise<T>, limits?: Limits): Promise<T> {
    const sql = `${begin}; ${settingsIn(this.#settings)}; SELECT ${CLOCK} AS now`;
    return this.#told(() => this.#attempt(sql, afterBeginning(steps), limits));
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
    begin: string,
    steps: (tx: Tx) => Promise<T>,
    { timeoutMs = READ_MS_MAX, silenceMs = BEGIN_MS_MAX }: Limits = {},
  ): Promise<T> {
    return this.#guarded(async (client) => {
      const beganAt = performance.now();
      const tx = this.#begin(client, begin, { timeoutMs, silenceMs });
      const answer = await this.#carryOut(client, tx, steps);
      const commit = () => send(client, within("COMMIT", timeoutMs + GRACE_MS));
      if (begin.startsWith(WRITE)) await this.#commit(commit, tx, { answer, beganAt });
      else await commit();
      return answer;
    });
  }

  #attemptAtOnce<T>(
    begin: string,
    steps: (tx: Tx) => Promise<T>,
    { timeoutMs = READ_MS_MAX, silenceMs = BEGIN_MS_MAX }: Limits = {},
  ): Promise<T> {
    return this.#guarded(async (client) => {
      const tx = this.#begin(client, begin, { timeoutMs, silenceMs });
      const asked = steps(tx);
      tx.end();
      const commit = send(client, within("COMMIT", timeoutMs + GRACE_MS));
      // Nobody gets the connection before all is answered. What failed first is the reason for the rest.
      await Promise.allSettled([asked, commit]);
      await tx.begun();
      const answer = await asked;
      await commit;
      return answer;
    });
  }

  #begin(client: pg.PoolClient, begin: string, { timeoutMs, silenceMs }: Required<Limits>): Tx {
    const begun = send(client, within(begin, silenceMs)).then(answeredTime);
    begun.catch(() => {}); // told by `Tx.begun`
    return new Tx({
      send: (sql, values, asTuples) => send(client, this.#query({ sql, values, asTuples, timeoutMs })),
      script: (sql) => client.query(sql),
      begun,
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
      ...within(text, timeoutMs + GRACE_MS),
      values: values as Scalar[],
      ...(this.#prepares && name !== undefined && { name }),
      ...(asTuples && { rowMode: "array" }),
    };
  }

  async #carryOut<T>(client: pg.PoolClient, tx: Tx, steps: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await steps(tx);
    } catch (error) {
      // A connection that cannot even do that is thrown away; the first error says more.
      if (!isConnectionLoss(error)) await client.query(within("ROLLBACK", BEGIN_MS_MAX)).catch(() => {});
      await tx.parted(); // what was sent before and failed is the reason
      throw error;
    }
  }

  async #commit(commit: () => Promise<pg.QueryResult>, tx: Tx, sent: Sent): Promise<void> {
    const xid = await tx.number();
    try {
      tx.end();
      const [parted, committed] = await Promise.allSettled([tx.parted(), commit()]);
      if (parted.status === "rejected") throw parted.reason;
      if (committed.status === "rejected") throw committed.reason;
      const { command } = committed.value;
      if (command !== "COMMIT") throw new WorkError("store_unavailable", "The transaction was rolled back.");
    } catch (error) {
      if (xid === null || !isConnectionLoss(error)) throw error;
      if (await this.#wasCommitted(xid, sent)) return;
      throw error; // rolled back: as if the connection had been lost before
    }
  }

  /**
   * Asks the server, over another connection, what became of a transaction. A server that crashed gives the numbers of
   * transactions that never reached its disk to others: after a crash "committed" may be the word of another one.
   */
  async #wasCommitted(xid: string, { answer, beganAt }: Sent): Promise<boolean> {
    const deadline = performance.now() + this.#doubtMsMax;
    for (;;) {
      const { status, upMs } = await fateOf(this.config(), xid);
      if (status === "aborted") return false;
      const isSameLife = upMs !== null && upMs > performance.now() - beganAt + CLOCK_SLACK_MS;
      if (status === "committed" && isSameLife) return true;
      if (status === "committed" || performance.now() > deadline)
        throw new CommitInDoubt(this.address.shown, answer);
      await pause(50 + Math.random() * 100);
    }
  }

  /** A connection that met trouble is not used again. */
  async #guarded<T>(action: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    if (this.#closed) {
      throw new WorkError("store_unavailable", `The store ${this.address.shown} is closed.`);
    }
    const pool = this.#pool;
    const client = await pool.connect();
    try {
      const answer = await action(client);
      client.release();
      return answer;
    } catch (error) {
      client.release(!isUsable(client) || isConnectionLoss(error));
      if (isSilence(error)) this.#distrust(pool);
      throw error;
    }
  }

  /**
   * Where one connection is dead without a word, the idle ones are too, and each would be found out only by another wait: from
   * here on all are made anew. Those in use come to their own end.
   */
  #distrust(pool: pg.Pool): void {
    if (!this.#ownsPool || this.#pool !== pool || this.#closed) return;
    this.#pool = connectionsTo(this.#url);
    pool.end().catch(() => {}); // nobody waits for what is dead
  }

  #busy(): WorkError {
    return new WorkError(
      "store_busy",
      `The store ${this.address.shown} is changed by so many at once that a step lost ${TRIES_MAX} times in a row.`,
      { hint: "Try again, with fewer workers at a time." },
    );
  }
}

/** How long a transaction may take. */
export interface Limits {
  /** Each of its statements. Default 120 s; of those that only read 600 s. */
  readonly timeoutMs?: number;
  /** What is answered at once; a connection that says nothing for longer is dead. Default 15 s. */
  readonly silenceMs?: number;
}

/** Outside of any transaction, and not in the middle of an answer. */
function isUsable(client: pg.PoolClient): boolean {
  return client.getTransactionStatus() === "I";
}

/** By which the server knows it; a pooler makes one up. */
function connectionNumber(client: pg.PoolClient): number {
  const number: unknown = Reflect.get(client, "processID");
  return typeof number === "number" ? number : 0;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
