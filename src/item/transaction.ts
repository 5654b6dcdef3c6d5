/** Database connections of callers, which are used to add items inside the caller's own transaction. */

/**
 * An open transaction on a PostgreSQL connection: a `pg` client, or an object whose `query` runs a statement
 * with `$1` parameters on a connection of another library.
 */
export interface PostgresConnection {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * An open transaction on a SQLite connection: a `DatabaseSync` of `@photostructure/sqlite`, the same SQLite
 * that the store uses.
 */
export interface SqliteConnection {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  readonly isTransaction?: boolean;
}

export interface SqliteStatement {
  run(...values: (string | number | null)[]): {
    readonly changes: number | bigint;
    readonly lastInsertRowid: number | bigint;
  };
  get(...values: (string | number | null)[]): unknown;
  all(...values: (string | number | null)[]): unknown[];
}

/** The caller's connection; see `Engine.within`. */
export type TransactionConnection = PostgresConnection | SqliteConnection;

export function isPostgresConnection(value: unknown): value is PostgresConnection {
  return hasMethods(value, "query");
}

export function isSqliteConnection(value: unknown): value is SqliteConnection {
  return hasMethods(value, "prepare", "exec");
}

function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  return names.every((name) => typeof Reflect.get(value, name) === "function");
}
