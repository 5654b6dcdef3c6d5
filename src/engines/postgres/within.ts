/**
 * Adds items inside a caller's transaction, over the caller's own connection. Each statement is one call of
 * the function `run_within`, so that statements which the caller sends in the meantime are not affected.
 */
import pg from "pg";
import type { EngineWithin } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { isPostgresConnection, type PostgresConnection } from "../../item/transaction.ts";
import { listItems } from "../sql/items.ts";
import { findJob } from "../sql/jobs.ts";
import type { Scalar } from "./arrays.ts";
import { runOn } from "./db.ts";
import { addItemsWithin } from "./intake.ts";
import type { Session } from "./session.ts";
import { numbered } from "./statements.ts";
import { codeOf, isTaken, storeError } from "./trouble.ts";
import { type Answer, type AnswerForm, CLOCK, EVENTS_LOCKED, SHARDS, Tx } from "./tx.ts";

/** The engine methods that run over callers' connections. */
export class CallerTransactions {
  readonly #session: Session;
  #identity: Promise<string> | undefined;

  constructor(session: Session) {
    this.#session = session;
  }

  over(connection: unknown): EngineWithin {
    if (!isPostgresConnection(connection)) throw noConnection();
    return {
      now: () => this.#session.now(),
      add: (queue, items, options) =>
        this.#run(connection, (tx) => addItemsWithin(tx, queue, items, options)),
      listItems: (query) => this.#run(connection, (tx) => runOn(tx, (db) => listItems(db, query))),
      findJob: (idOrName) => this.#run(connection, (tx) => runOn(tx, (db) => findJob(db, idOrName))),
    };
  }

  async #run<T>(connection: PostgresConnection, steps: (tx: Tx) => Promise<T>): Promise<T> {
    const identity = await this.#storeIdentity();
    await requireTransaction(connection);
    const caller = new Caller(connection, this.#session);
    try {
      const start = await caller.start();
      if (start.identity !== identity) throw otherStore(this.#session);
      const tx = caller.transaction(start);
      await tx.begun();
      const answer = await steps(tx);
      await tx.parted();
      return answer;
    } catch (error) {
      throw isTaken(error) ? disturbed(error) : error;
    }
  }

  /** Read once: it does not change while the store is open (`Connections.keepStore`). */
  #storeIdentity(): Promise<string> {
    this.#identity ??= this.#session.readCommitted(async (tx) => {
      const row = await tx.get<{ identity: string }>(`SELECT ${IDENTITY} AS identity`);
      return row?.identity ?? "";
    });
    this.#identity.catch(() => {
      this.#identity = undefined;
    });
    return this.#identity;
  }
}

/** The store, its database and its table. */
const IDENTITY = `(SELECT id FROM store) || ' ' || 'store'::regclass::oid
  || ' ' || (SELECT oid FROM pg_database WHERE datname = current_database())`;

/**
 * A caller's transaction may stay open for a long time, so it uses a counter shard that no other transaction
 * uses in the meantime. The shards after the usual ones are locked until the transaction ends; a transaction
 * that already has one gets the same one again.
 */
const SHARDS_OF_CALLERS = 1000;
const FREE_SHARD = `(SELECT shard FROM generate_series(${SHARDS}, ${SHARDS + SHARDS_OF_CALLERS - 1}) AS shard
  WHERE pg_try_advisory_xact_lock(hashtext('redrive shard ' || current_schema()), shard) LIMIT 1)`;

/** Takes the event lock before any event id is drawn; see events.ts. */
const START = `SELECT ${IDENTITY} AS identity, ${CLOCK} AS now, ${FREE_SHARD} AS shard, ${EVENTS_LOCKED} AS is_locked`;

interface Start {
  readonly identity: string;
  readonly now: number;
  readonly shard: number | null;
}

/** The connection of a caller. It sends one statement at a time, because not every library queues them. */
class Caller {
  readonly #connection: PostgresConnection;
  readonly #session: Session;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: PostgresConnection, session: Session) {
    this.#connection = connection;
    this.#session = session;
  }

  async start(): Promise<Start> {
    const { rows } = await this.#send(START, [], "rows");
    return rows[0] as Start;
  }

  transaction({ now, shard }: Start): Tx {
    const { clock, address, channel } = this.#session;
    return new Tx({
      send: (sql, values, form) => this.#send(sql, values, form),
      script: (sql) => this.#send(sql, [], "count"),
      begun: Promise.resolve(now),
      clock,
      schema: address.schema,
      channel,
      connection: 0,
      shard: shard ?? SHARDS,
      number: "", // the caller commits
    });
  }

  #send(sql: string, values: readonly Scalar[], form: AnswerForm): Promise<Answer> {
    const sent = this.#last.then(() => this.#call(sql, values, form));
    this.#last = sent.catch(() => {});
    return sent;
  }

  async #call(sql: string, values: readonly Scalar[], form: AnswerForm): Promise<Answer> {
    const schema = pg.escapeIdentifier(this.#session.address.schema);
    const text = `SELECT ${schema}.run_within($1::text, $2::text, $3::boolean) AS answer`;
    // The caller's temporary tables are listed last, because otherwise they would take precedence.
    const given = [`${schema}, pg_temp`, withValues(sql, values), form !== "count"];
    let rows: readonly unknown[];
    try {
      ({ rows } = await this.#connection.query(text, given));
    } catch (error) {
      throw aborted(error, this.#session);
    }
    return answerOf(rows[0], form);
  }
}

/** Quotes the values as untyped literals, which PostgreSQL interprets like parameters. */
function withValues(sql: string, values: readonly Scalar[]): string {
  return numbered(sql).replace(/\$(\d+)/g, (_, number: string) => {
    const value = values[Number(number) - 1] ?? null;
    return value === null ? "NULL" : pg.escapeLiteral(String(value));
  });
}

/** Rows arrive as JSON, because the callers' libraries parse numbers in different ways. */
function answerOf(row: unknown, form: AnswerForm): Answer {
  const text: unknown = typeof row === "object" && row !== null ? Reflect.get(row, "answer") : undefined;
  if (typeof text !== "string") throw noConnection();
  const {
    rows = [],
    written = null,
    taken,
  } = JSON.parse(text) as {
    readonly rows?: readonly object[];
    readonly written?: number | null;
    readonly taken?: string;
  };
  if (taken !== undefined) throw Object.assign(new Error(taken), { code: "23505" });
  return { rows: form === "tuples" ? rows.map((one) => Object.values(one)) : rows, rowCount: written };
}

/** A savepoint is refused outside of a transaction; `pg` reports the status of the connection without asking the server. */
async function requireTransaction(connection: PostgresConnection): Promise<void> {
  const ask: unknown = Reflect.get(connection, "getTransactionStatus");
  if (typeof ask === "function") {
    const status: unknown = Reflect.apply(ask, connection, []);
    if (status === "I") throw noTransaction();
    if (status === "E") throw abortedBefore();
    if (status === "T") return;
  }
  try {
    await connection.query("SAVEPOINT redrive_within", []);
    await connection.query("RELEASE SAVEPOINT redrive_within", []);
  } catch (error) {
    throw codeOf(error) === "25P02" ? abortedBefore(error) : noTransaction(error);
  }
}

function noConnection(): RedriveError {
  return new RedriveError("usage", "The given transaction is not a PostgreSQL connection.", {
    hint: "Pass a pg client, or an object whose query(text, values) resolves to { rows }.",
  });
}

function noTransaction(cause?: unknown): RedriveError {
  return new RedriveError("usage", "The given connection has no open transaction.", {
    hint: "Run BEGIN on it and wait for the answer, then add the items, then COMMIT.",
    cause,
  });
}

function abortedBefore(cause?: unknown): RedriveError {
  return new RedriveError("usage", "The given transaction was aborted by an earlier error.", {
    hint: "Roll it back and run it again.",
    cause,
  });
}

function otherStore({ address }: Session): RedriveError {
  return new RedriveError("usage", `The given connection is not connected to the store ${address.shown}.`, {
    hint: "Connect to the store's database, or open the store in your database.",
  });
}

function disturbed(cause: unknown): RedriveError {
  return new RedriveError(
    "store_busy",
    "Another transaction added an item with the same id after this one began.",
    {
      hint: "Roll back and run the transaction again. With READ COMMITTED this does not happen.",
      cause,
    },
  );
}

/** The schema or the function does not exist. */
const NO_STORE = new Set(["3F000", "42883"]);

function aborted(error: unknown, session: Session): unknown {
  if (NO_STORE.has(codeOf(error) ?? "")) return otherStore(session);
  if (codeOf(error) === "25P02") return abortedBefore(error);
  const ours = storeError(error, session.address.shown);
  const { code, message, hint } =
    ours instanceof RedriveError
      ? ours
      : { code: "store_unavailable" as const, message: messageOf(ours), hint: "" };
  return new RedriveError(code, `${message} Nothing was added, and the given transaction was aborted.`, {
    hint: ["Roll it back.", ...(hint ? [hint] : [])].join(" "),
    cause: error,
  });
}

function messageOf(error: unknown): string {
  return `The given connection reports an error (${error instanceof Error ? error.message : String(error)}).`;
}
