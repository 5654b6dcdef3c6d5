/** Adds items inside a caller's transaction, over the caller's own connection to the store file. */
import type { EngineWithin } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { TABLES } from "../../item/tables.ts";
import { isSqliteConnection } from "../../item/transaction.ts";
import { listItems } from "../sql/items.ts";
import { findJob } from "../sql/jobs.ts";
import { runOn } from "./db.ts";
import { addItems } from "./intake.ts";
import { DatabaseSync, type Session } from "./session.ts";
import type { Statement } from "./statements.ts";

type Connection = InstanceType<typeof DatabaseSync>;

export function engineWithin(session: Session, connection: unknown): EngineWithin {
  if (!isSqliteConnection(connection)) throw noConnection();
  if (!(connection instanceof DatabaseSync)) throw otherLibrary();
  requireSameFile(session, connection);
  requireOwnTables(connection);
  const over = session.over(
    {
      exec: (sql) => connection.exec(sql),
      prepare: (sql) => prepared(connection, sql),
      get isTransaction() {
        return connection.isTransaction;
      },
    },
    (notify) => afterTransaction(connection, notify),
  );
  const within = async <T>(steps: () => T): Promise<T> => {
    session.requireSound();
    if (!connection.isTransaction) throw noTransaction();
    try {
      return over.runWithin(steps);
    } catch (error) {
      throw connection.isTransaction ? error : rolledBack(error);
    }
  };
  return {
    now: async () => session.clock.now(),
    add: (queue, items, options) => within(() => addItems(over, queue, items, options)),
    listItems: (query) => within(() => runOn(over, (db) => listItems(db, query))),
    findJob: (idOrName) => within(() => runOn(over, (db) => findJob(db, idOrName))),
  };
}

function requireSameFile(session: Session, connection: Connection): void {
  if (session.inMemory) {
    throw new RedriveError(
      "usage",
      "An in-memory store cannot take part in transactions of other connections.",
      {
        hint: "Use a file store, and open the same file.",
      },
    );
  }
  const files = connection.prepare("PRAGMA database_list").all() as readonly {
    name?: unknown;
    file?: unknown;
  }[];
  const main = files.find(({ name }) => name === "main")?.file;
  if (typeof main === "string" && main !== "" && session.isFile(main)) return;
  throw new RedriveError(
    "usage",
    `The given connection has ${main ? `the file ${String(main)}` : "a database in memory"} open, not the store ${session.path}.`,
    { hint: "Open the store with the same file as your own connection." },
  );
}

/** A temporary table would be written instead of the store's table with the same name. */
function requireOwnTables(connection: Connection): void {
  const names = TABLES.map(({ name }) => name);
  const row = connection
    .prepare("SELECT name FROM temp.sqlite_master WHERE name IN (SELECT value FROM json_each(?)) LIMIT 1")
    .get(JSON.stringify(names)) as { readonly name?: unknown } | undefined;
  if (row === undefined) return;
  throw new RedriveError(
    "usage",
    `The given connection has a temporary table ${String(row.name)}, which hides the store's table.`,
    { hint: "Give the temporary table another name." },
  );
}

/** Reads rows as objects with plain numbers, regardless of the caller's own settings. */
function prepared(connection: Connection, sql: string): Statement {
  const statement = connection.prepare(sql);
  statement.setReadBigInts(false);
  statement.setReturnArrays(false);
  return statement;
}

/**
 * SQLite does not report commits, so the end of the transaction is polled, at most this often and this long.
 */
const POLL_MS = 5;
const POLLS_MAX = 12_000;

/** Calls back when the transaction has ended. It does not keep the process alive. */
function afterTransaction(connection: Connection, notify: () => void, polls = 0): void {
  if (polls === POLLS_MAX) return; // workers still find the items when they poll
  const poll = () => (isOver(connection) ? notify() : afterTransaction(connection, notify, polls + 1));
  setTimeout(poll, POLL_MS).unref();
}

function isOver(connection: Connection): boolean {
  try {
    return !connection.isTransaction;
  } catch {
    return true; // the connection was closed, which ended the transaction
  }
}

function noConnection(): RedriveError {
  return new RedriveError("usage", "The given transaction is not a SQLite connection.", {
    hint: "Pass a DatabaseSync of @photostructure/sqlite.",
  });
}

/**
 * Two copies of SQLite in one process, such as that of Node, do not see each other's locks: both write at once, and the one that
 * closes first deletes the journal of the other. The store cannot use the copy of Node instead, because that binds every number
 * as a real one, and integer divisions in SQL would have fractions.
 */
function otherLibrary(): RedriveError {
  return new RedriveError("usage", "The given connection belongs to another copy of SQLite than the store.", {
    hint: 'Import DatabaseSync from "@photostructure/sqlite", which has the interface of node:sqlite. Two copies in one process would lose items.',
  });
}

function noTransaction(): RedriveError {
  return new RedriveError("usage", "The given connection has no open transaction.", {
    hint: "Run BEGIN IMMEDIATE on it, then add the items, then COMMIT.",
  });
}

function rolledBack(error: unknown): unknown {
  if (!(error instanceof RedriveError)) return error;
  return new RedriveError(error.code, `${error.message} SQLite rolled back the given transaction.`, {
    ...(error.hint !== undefined && { hint: error.hint }),
    cause: error,
  });
}
