/** Prepares each statement of a connection once, and reads rows as arrays or as objects. */
import type { StatementSyncInstance } from "@photostructure/sqlite";
import { CONDITION_MARK } from "../sql/letter-condition.ts";
import type { Value } from "./bound-values.ts";

export type Statement = Pick<StatementSyncInstance, "run" | "get" | "all" | "setReturnArrays">;

/** The part of a connection that prepares statements. */
export interface Preparing {
  prepare(sql: string): Statement & Partial<Pick<StatementSyncInstance, "columns">>;
}

/** How many statements with conditions are kept prepared. */
const CONDITIONS_MAX = 50;

export class Statements {
  readonly #connection: Preparing;
  readonly #namesColumns: boolean;
  readonly #ofObjects = new Map<string, Statement>();
  readonly #ofArrays = new Map<string, Statement>();
  /** The column names of the statements that return arrays. */
  readonly #columns = new Map<string, readonly string[]>();
  /** Functions that drop a cached statement with a condition, oldest statement first. */
  readonly #conditions: (() => void)[] = [];

  /** `namesColumns`: whether its statements name their columns; those of a caller's connection need not. */
  constructor(connection: Preparing, { namesColumns }: { readonly namesColumns: boolean }) {
    this.#connection = connection;
    this.#namesColumns = namesColumns;
  }

  /** Returns the statement whose rows are objects. */
  of(sql: string): Statement {
    return this.#ofObjects.get(sql) ?? this.#keep(this.#ofObjects, sql, this.#connection.prepare(sql));
  }

  tuples(sql: string, values: readonly Value[]): Value[][] {
    return this.#arraysOf(sql).all(...values) as unknown as Value[][];
  }

  /** Creates objects from arrays where it can, because the library creates objects more slowly. */
  all(sql: string, values: readonly Value[]): object[] {
    if (!this.#namesColumns) return this.of(sql).all(...values) as object[];
    const tuples = this.tuples(sql, values);
    const names = tuples.length === 0 ? [] : this.#namesIn(sql);
    return tuples.map((tuple) => {
      const row: Record<string, Value | undefined> = {};
      for (const [at, name] of names.entries()) row[name] = tuple[at];
      return row;
    });
  }

  clear(): void {
    this.#ofObjects.clear();
    this.#ofArrays.clear();
  }

  #arraysOf(sql: string): Statement {
    const known = this.#ofArrays.get(sql);
    if (known !== undefined) return known;
    const statement = this.#connection.prepare(sql);
    statement.setReturnArrays(true);
    return this.#keep(this.#ofArrays, sql, statement);
  }

  /** The statements of conditions differ with every expression of a user, so only the last ones are kept. */
  #keep(statements: Map<string, Statement>, sql: string, statement: Statement): Statement {
    statements.set(sql, statement);
    if (!sql.includes(CONDITION_MARK)) return statement;
    this.#conditions.push(() => {
      statements.delete(sql);
      this.#columns.delete(sql);
    });
    if (this.#conditions.length > CONDITIONS_MAX) this.#conditions.shift()?.();
    return statement;
  }

  #namesIn(sql: string): readonly string[] {
    let names = this.#columns.get(sql);
    if (names === undefined) {
      const columns = this.#connection.prepare(sql).columns?.() ?? [];
      names = columns.map(({ name }) => name);
      this.#columns.set(sql, names);
    }
    return names;
  }
}
