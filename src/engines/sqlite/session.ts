/**
 * One open SQLite file: statements prepared once, write transactions that wait their turn with jitter, and SQLite's
 * error codes turned into ours. Everything else in this folder goes through it.
 */
import { DatabaseSync, type StatementSyncInstance } from "@photostructure/sqlite";
import { WorkError } from "../../errors.ts";
import type { Clock } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { Notifier } from "../../std/notifier.ts";
import { storeChanged } from "../store-version.ts";
import { notifierOf } from "./notifiers.ts";
import { StoreClock } from "./store-clock.ts";
import { storeError } from "./store-error.ts";
import { StoreFile } from "./store-file.ts";

export { DatabaseSync, type StatementSyncInstance };

export type Value = string | number | null;

/** What a statement has written; the number is that of the row that was inserted last, by this statement or before it. */
export interface Written {
  readonly changes: number;
  readonly lastInsertRowid: number | bigint;
}

/** Keeps the number of different statements small. */
const INSERT_ROWS_MAX = 32;

/** SQLite's name of a database without a file. */
export const IN_MEMORY = ":memory:";

/** What is beyond it is read as ever. */
const MAPPED_BYTES_MAX = 1_073_741_824;

/** How long a person sees nothing while another process has the store locked. */
const SILENCE_MS_MAX = 1_000;

export interface SessionOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly busyMsMax: number;
  readonly readOnly: boolean;
  readonly url?: string;
  /** Called when something has waited for longer than a second, with the reason. */
  readonly onWait?: (reason: string) => void;
}

export class Session {
  readonly path: string;
  readonly clock: StoreClock;
  /** Whether the database has no file: nothing can change it but this session. */
  readonly inMemory: boolean;
  /** The version of the store when it was opened; 0 when it was made then. */
  foundVersion = 0;
  readonly #notifier: Notifier;
  readonly #watches = new Set<() => void>();
  readonly #db: InstanceType<typeof DatabaseSync>;
  readonly #busyMsMax: number;
  readonly #onWait: ((reason: string) => void) | undefined;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #tupleStatements = new Map<string, StatementSyncInstance>();
  /** The texts of INSERTs, by the table and the number of rows. */
  readonly #inserts = new Map<string, string>();
  #closed = false;
  /** Set when the store is prepared: from then on nothing is written into another file or under another schema. */
  #prepared:
    | {
        readonly file: StoreFile | undefined;
        readonly version: number;
        /** Carries out what a step of the clock means; answers what is to be done after the commit. */
        readonly followClock: () => () => void;
      }
    | undefined;

  constructor(options: SessionOptions) {
    this.path = options.path;
    this.clock = new StoreClock(options.clock);
    this.inMemory = options.url === IN_MEMORY;
    this.#notifier = this.inMemory ? new Notifier() : notifierOf(options.path);
    this.#busyMsMax = options.busyMsMax;
    this.#onWait = options.onWait;
    this.#db = this.guard(
      () => new DatabaseSync(options.url ?? options.path, { readOnly: options.readOnly }),
    );
    // A short wait inside SQLite, because it blocks the process; the long one is `write`'s, between tries.
    this.exec("PRAGMA busy_timeout = 5");
    this.#db.function("has_text", { deterministic: true }, hasText);
  }

  /** The store is open, at this version of its schema. */
  prepared(version: number, followClock: () => () => void): void {
    this.#prepared = { file: this.inMemory ? undefined : new StoreFile(this.path), version, followClock };
  }

  /**
   * Runs the steps in one durable transaction. Waits while another process writes; `store_busy` in the end. The file is compared
   * before and after: what was written into a file that is gone is not acknowledged.
   */
  async write<T>(steps: () => T): Promise<T> {
    this.#prepared?.file?.requireSame();
    this.#prepared?.file?.requireWholeJournal();
    const followClock = this.#prepared?.followClock;
    if (followClock && this.clock.isDue) {
      const afterCommit = await this.#transact(followClock); // by itself: the steps may fail, and be undone
      afterCommit();
    }
    const result = await this.#transact(steps);
    this.#prepared?.file?.requireSame();
    this.#prepared?.file?.noteJournal();
    return result;
  }

  async #transact<T>(steps: () => T): Promise<T> {
    const began = performance.now();
    while (!this.#tryBegin()) {
      if (performance.now() > began + this.#busyMsMax) throw this.#busy();
      this.reportWait(began);
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 9));
    }
    return this.#finish(() => {
      this.#requireVersion();
      return steps();
    });
  }

  /** For who finds the store locked, and tries again. */
  reportWait(beganAt: number): void {
    if (performance.now() - beganAt > SILENCE_MS_MAX) this.#onWait?.("another process has it locked");
  }

  /** Throws when the store's files are not what this process has open, more thoroughly than each write does. */
  requireSound(): void {
    this.#prepared?.file?.requireSame();
    this.#prepared?.file?.requireWholeJournal();
    this.#requireVersion();
  }

  /** Runs the steps on one unchanging view of the store. */
  read<T>(steps: () => T): T {
    this.exec("BEGIN");
    return this.#finish(steps);
  }

  /** Lets the steps write the schema itself, which a store does only when it is brought to a new version. */
  changingSchema(steps: () => void): void {
    this.guard(() => this.#db.enableDefensive(false));
    try {
      steps();
    } finally {
      this.guard(() => this.#db.enableDefensive(true));
    }
  }

  exec(sql: string): void {
    this.guard(() => this.#db.exec(sql));
  }

  run(sql: string, ...values: Value[]): Written {
    return this.guard(() => this.#statement(sql).run(...values));
  }

  /** One INSERT for many rows: the call costs more than the row. Tells how many came in, and the number of the last. */
  insert(into: string, rows: readonly (readonly Value[])[], onConflict = ""): Written {
    let changes = 0;
    let lastInsertRowid: number | bigint = 0;
    for (let from = 0; from < rows.length; from += INSERT_ROWS_MAX) {
      const to = Math.min(from + INSERT_ROWS_MAX, rows.length);
      const values: Value[] = [];
      for (let at = from; at < to; at += 1) values.push(...(rows[at] ?? []));
      const written = this.run(this.#insertOf(into, to - from, values.length, onConflict), ...values);
      changes += written.changes;
      lastInsertRowid = written.lastInsertRowid;
    }
    return { changes, lastInsertRowid };
  }

  #insertOf(into: string, rows: number, values: number, onConflict: string): string {
    const key = `${rows} ${into} ${onConflict}`;
    let sql = this.#inserts.get(key);
    if (sql === undefined) {
      const row = `(${Array(values / rows)
        .fill("?")
        .join(", ")})`;
      sql = `INSERT INTO ${into} VALUES ${Array(rows).fill(row).join(", ")} ${onConflict}`;
      this.#inserts.set(key, sql);
    }
    return sql;
  }

  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.guard(() => this.#statement(sql).get(...values)) as Row | undefined;
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.guard(() => this.#statement(sql).all(...values)) as Row[];
  }

  /** Each row as the list of its columns, for many rows at once: that costs half of an object each. */
  tuples<Tuple extends readonly Value[]>(sql: string, ...values: Value[]): Tuple[] {
    return this.guard(() => this.#tupleStatement(sql).all(...values)) as unknown as Tuple[];
  }

  /** Something of the queue may be leasable. Who watches it in this process is told once the transaction is over. */
  notify(queue: number): void {
    this.#notifier.notify(String(queue));
  }

  /** The answer ends it, and so does closing the store. */
  watch(queue: number, notify: () => void): () => void {
    const end = this.#notifier.on(String(queue), notify);
    this.#watches.add(end);
    return () => {
      this.#watches.delete(end);
      end();
    };
  }

  /** As `tuples`, in no order and for narrow columns: all rows come in one JSON text, for each value costs when handed over. */
  packed<Tuple extends readonly Value[]>(columns: string, from: string, ...values: Value[]): Tuple[] {
    const row = this.get<{ rows: string }>(
      `SELECT json_group_array(json_array(${columns})) AS rows ${from}`,
      ...values,
    );
    return JSON.parse(row?.rows ?? "[]") as Tuple[];
  }

  /**
   * Reads with the file mapped into memory: many rows then cost no call of the system for each page. Mapped only meanwhile,
   * because a file that somebody cuts short under a map ends the process instead of the statement.
   */
  mapped<T>(read: () => T): T {
    this.get(`PRAGMA mmap_size = ${MAPPED_BYTES_MAX}`);
    try {
      return read();
    } finally {
      this.get("PRAGMA mmap_size = 0");
    }
  }

  close(): void {
    if (this.#closed) return;
    for (const end of this.#watches) end();
    this.#watches.clear();
    this.#statements.clear();
    this.#tupleStatements.clear();
    this.guard(() => this.#db.close());
    this.#closed = true;
  }

  /** Turns what SQLite throws into a `WorkError` that says what to do. */
  guard<T>(action: () => T): T {
    if (this.#closed) throw new WorkError("store_unavailable", `The store ${this.path} is closed.`);
    try {
      return action();
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  #statement(sql: string): StatementSyncInstance {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #tupleStatement(sql: string): StatementSyncInstance {
    let statement = this.#tupleStatements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      statement.setReturnArrays(true);
      this.#tupleStatements.set(sql, statement);
    }
    return statement;
  }

  #tryBegin(): boolean {
    try {
      this.run("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (error instanceof WorkError && error.code === "store_busy") return false;
      throw error;
    }
  }

  #finish<T>(steps: () => T): T {
    try {
      const result = steps();
      this.run("COMMIT");
      return result;
    } catch (error) {
      // A full disk makes SQLite roll back by itself.
      if (!this.#closed && this.#db.isTransaction) this.exec("ROLLBACK");
      throw error;
    }
  }

  #requireVersion(): void {
    if (this.#prepared === undefined) return;
    const { version } = this.#prepared;
    const found = this.get<{ user_version: number }>("PRAGMA user_version")?.user_version;
    if (found !== version) throw storeChanged(this.path, version, found ?? 0);
  }

  #busy(): WorkError {
    return new WorkError(
      "store_busy",
      `The store ${this.path} was locked by another process for ${formatDuration(this.#busyMsMax)}.`,
      {
        hint: "Wait for the other process or end it (fuser shows which one has the file open), then try again.",
      },
    );
  }
}

/** SQLite's own `lower` knows ASCII alone. The text that is looked for is in small letters. */
function hasText(message: unknown, text: unknown): number {
  return typeof message === "string" && message.toLowerCase().includes(String(text)) ? 1 : 0;
}
