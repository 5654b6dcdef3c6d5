/**
 * One open SQLite file. Prepares statements once, waits with jitter for the write lock, and converts SQLite's error codes. The
 * rest of this folder uses it.
 */
import { DatabaseSync, type StatementSyncInstance } from "@photostructure/sqlite";
import { RedriveError } from "../../errors.ts";
import type { Clock } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";
import { Notifier } from "../../std/notifier.ts";
import { tryTo } from "../../std/try-to.ts";
import type { Scalar } from "../sql/db.ts";
import { storeChanged } from "../store-version.ts";
import { bound, type Given, insertTexts, type Value } from "./bound-values.ts";
import { notifierOf } from "./notifiers.ts";
import { type Preparing, Statements } from "./statements.ts";
import { StoreClock } from "./store-clock.ts";
import { storeError } from "./store-error.ts";
import { StoreFile } from "./store-file.ts";

export type { Value } from "./bound-values.ts";
export { DatabaseSync, type StatementSyncInstance };

/** The result of a write; `lastInsertRowid` may come from an earlier statement. */
export interface Written {
  readonly changes: number;
  readonly lastInsertRowid: number | bigint;
}

/** Keeps the number of different statements small. */
const INSERT_ROWS_MAX = 32;

/** SQLite's name for a database that has no file. */
export const IN_MEMORY = ":memory:";

/** Pages beyond this offset are read without the memory map. */
const MAPPED_BYTES_MAX = 1_073_741_824;

/** A wait for another process's lock is reported after this time. */
const SILENCE_MS_MAX = 1_000;

export interface SessionOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly busyMsMax: number;
  readonly readOnly: boolean;
  readonly url?: string;
  /** Called with the reason when an operation has waited for more than a second. */
  readonly onWait?: (reason: string) => void;
  /** A caller's connection, which the session neither configures nor closes. Default: opens its own. */
  readonly connection?: Connection;
  /** Default: the notifier of the file. */
  readonly notifier?: Pick<Notifier, "notify" | "on">;
}

type Connection = Pick<InstanceType<typeof DatabaseSync>, "exec" | "isTransaction"> & Preparing;

export class Session {
  readonly path: string;
  readonly clock: StoreClock;
  /** Whether the database is in memory, so that only this session can change it. */
  readonly inMemory: boolean;
  /** The version of the store when it was opened; 0 if it was created. */
  foundVersion = 0;
  readonly #notifier: Pick<Notifier, "notify" | "on">;
  readonly #watches = new Set<() => void>();
  readonly #db: Connection;
  /** The connection that this session opened itself. */
  readonly #own: InstanceType<typeof DatabaseSync> | undefined;
  readonly #busyMsMax: number;
  readonly #onWait: ((reason: string) => void) | undefined;
  readonly #statements: Statements;
  /** The SQL of INSERT statements by table and number of rows. */
  readonly #inserts = insertTexts();
  #closed = false;
  #began: number | undefined;
  /** Set when the store is open: from then on every write checks the file's identity and the schema version. */
  #prepared:
    | {
        readonly file: StoreFile | undefined;
        readonly version: number;
        /** Adjusts waiting times after a clock step; returns a function to call after the commit. */
        readonly followClock: () => () => void;
      }
    | undefined;

  constructor(options: SessionOptions) {
    this.path = options.path;
    this.clock = new StoreClock(options.clock);
    this.inMemory = options.url === IN_MEMORY;
    this.#notifier = options.notifier ?? (this.inMemory ? new Notifier() : notifierOf(options.path));
    this.#busyMsMax = options.busyMsMax;
    this.#onWait = options.onWait;
    if (options.connection !== undefined) {
      this.#db = options.connection;
      this.#statements = new Statements(options.connection, { namesColumns: false });
      return;
    }
    const own = this.guard(
      () => new DatabaseSync(options.url ?? options.path, { readOnly: options.readOnly }),
    );
    [this.#own, this.#db] = [own, own];
    this.#statements = new Statements(own, { namesColumns: true });
    // Waits only briefly inside SQLite, which blocks the process; `write` waits longer, between tries.
    this.exec("PRAGMA busy_timeout = 5");
    own.function("has_text", { deterministic: true }, hasText);
  }

  /**
   * Returns a session over a caller's connection, for `runWithin`. It shares the clock and the schema version
   * with this session. `notifyLater` is called instead of notifying watchers, because the caller has not
   * committed yet.
   */
  over(connection: Connection, notifyLater: (notify: () => void) => void): Session {
    const made = new Session({
      path: this.path,
      clock: this.clock,
      busyMsMax: this.#busyMsMax,
      readOnly: false,
      connection,
      notifier: {
        notify: (name) => notifyLater(() => this.#notifier.notify(name)),
        on: () => () => {}, // no queue is watched over this session
      },
    });
    const { version = 0 } = this.#prepared ?? {};
    made.#prepared = { file: undefined, version, followClock: () => () => {} };
    return made;
  }

  /** Whether the path leads to the file of this store. */
  isFile(path: string): boolean {
    return this.#prepared?.file?.isAt(path) ?? false;
  }

  /** Runs the steps inside a caller's open transaction. An error undoes the steps and leaves the transaction open. */
  runWithin<T>(steps: () => T): T {
    this.exec("SAVEPOINT redrive_within");
    this.#began = this.clock.now();
    try {
      this.#requireVersion();
      const result = steps();
      this.exec("RELEASE redrive_within");
      return result;
    } catch (error) {
      // After some errors SQLite has already rolled back the whole transaction.
      if (this.#db.isTransaction) this.exec("ROLLBACK TO redrive_within; RELEASE redrive_within");
      throw error;
    } finally {
      this.#began = undefined;
    }
  }

  /** Call when the store is open at this schema version: from then on, every write checks the file and the version. */
  prepared(version: number, followClock: () => () => void): void {
    this.#prepared = { file: this.inMemory ? undefined : new StoreFile(this.path), version, followClock };
  }

  /**
   * Runs the steps in one durable transaction. Waits while another process writes, then throws `store_busy`.
   * The file's identity is compared before and after, so that a write to a deleted file is not acknowledged.
   */
  async write<T>(steps: () => T): Promise<T> {
    this.#prepared?.file?.requireSame();
    this.#prepared?.file?.requireWholeJournal();
    const followClock = this.#prepared?.followClock;
    if (followClock && this.clock.isDue) {
      const afterCommit = await this.#transact(followClock); // a separate transaction, because the steps may be rolled back
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

  /** Reports a wait for a locked store. */
  reportWait(beganAt: number): void {
    if (performance.now() - beganAt > SILENCE_MS_MAX) this.#onWait?.("another process has it locked");
  }

  /** Throws if the store's files are no longer the ones that were opened. More thorough than the check in each write. */
  requireSound(): void {
    this.#prepared?.file?.requireSame();
    this.#prepared?.file?.requireWholeJournal();
    this.#requireVersion();
  }

  /** Runs the steps on one snapshot of the store. */
  read<T>(steps: () => T): T {
    this.exec("BEGIN");
    return this.#finish(steps);
  }

  /** Lets the steps change the schema itself, for migrations. */
  changingSchema(steps: () => void): void {
    this.guard(() => this.#own?.enableDefensive(false));
    try {
      steps();
    } finally {
      this.guard(() => this.#own?.enableDefensive(true));
    }
  }

  exec(sql: string): void {
    this.guard(() => this.#db.exec(sql));
  }

  run(sql: string, ...values: readonly Given[]): Written {
    return this.guard(() => this.#statements.of(sql).run(...bound(values)));
  }

  /** Inserts many rows with one statement, because a call costs more than a row. */
  insert(into: string, rows: readonly (readonly Scalar[])[], onConflict = ""): Written {
    let changes = 0;
    let lastInsertRowid: number | bigint = 0;
    for (let from = 0; from < rows.length; from += INSERT_ROWS_MAX) {
      const to = Math.min(from + INSERT_ROWS_MAX, rows.length);
      const values: Scalar[] = [];
      for (let at = from; at < to; at += 1) values.push(...(rows[at] ?? []));
      const written = this.run(this.#inserts(into, to - from, values.length, onConflict), ...values);
      changes += written.changes;
      lastInsertRowid = written.lastInsertRowid;
    }
    return { changes, lastInsertRowid };
  }

  get<Row>(sql: string, ...values: readonly Given[]): Row | undefined {
    return this.guard(() => this.#statements.of(sql).get(...bound(values))) as Row | undefined;
  }

  all<Row>(sql: string, ...values: readonly Given[]): Row[] {
    return this.guard(() => this.#statements.all(sql, bound(values))) as Row[];
  }

  /** Returns each row as an array, which costs half as much as an object. */
  tuples<Tuple extends readonly Value[]>(sql: string, ...values: readonly Given[]): Tuple[] {
    return this.guard(() => this.#statements.tuples(sql, bound(values))) as unknown as Tuple[];
  }

  /** Notifies watchers of the queue in this process after the transaction. */
  notify(queue: number): void {
    this.#notifier.notify(String(queue));
  }

  /** Watches a queue until the returned function is called or the store is closed. */
  watch(queue: number, notify: () => void): () => void {
    const end = this.#notifier.on(String(queue), notify);
    this.#watches.add(end);
    return () => {
      this.#watches.delete(end);
      end();
    };
  }

  /** Like `tuples`, but unordered and for narrow columns: all rows are returned in one JSON text, because each value costs a call. */
  packed<Tuple extends readonly unknown[]>(
    columns: string,
    from: string,
    ...values: readonly Given[]
  ): Tuple[] {
    const row = this.get<{ rows: string }>(
      `SELECT json_group_array(json_array(${columns})) AS rows ${from}`,
      ...values,
    );
    return JSON.parse(row?.rows ?? "[]") as Tuple[];
  }

  /**
   * Reads with the file mapped into memory, which saves a system call per page. The map exists only during the read, because
   * truncating a mapped file would kill the process.
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
    this.#moveIntoFile();
    this.#statements.clear();
    this.guard(() => this.#own?.close());
    this.#closed = true;
  }

  /**
   * SQLite moves the log into the file when the last connection ends, which is only when all its statements have been collected.
   * Until then a copy of the file would lack the last commits, so what this session wrote is moved before.
   */
  #moveIntoFile(): void {
    if (this.#own === undefined || this.inMemory) return;
    // What fails here loses nothing: the commits stay in the log.
    tryTo(() => {
      const { changes = 0 } =
        this.get<{ readonly changes: number }>("SELECT total_changes() AS changes") ?? {};
      if (changes > 0) this.exec("PRAGMA wal_checkpoint(PASSIVE)");
    });
  }

  /** Converts SQLite's errors into a `RedriveError` with a hint. */
  guard<T>(action: () => T): T {
    if (this.#closed) throw new RedriveError("store_unavailable", `The store ${this.path} is closed.`);
    try {
      return action();
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  #tryBegin(): boolean {
    try {
      this.run("BEGIN IMMEDIATE");
      return true;
    } catch (error) {
      if (error instanceof RedriveError && error.code === "store_busy") return false;
      throw error;
    }
  }

  #finish<T>(steps: () => T): T {
    this.#began = this.clock.now();
    try {
      const result = steps();
      this.run("COMMIT");
      return result;
    } catch (error) {
      // On a full disk, SQLite has already rolled back.
      if (!this.#closed && this.#db.isTransaction) this.exec("ROLLBACK");
      throw error;
    } finally {
      this.#began = undefined;
    }
  }

  /** The store's time. It is constant within a transaction, because a letter is matched to its event by timestamp. */
  get now(): number {
    return this.#began ?? this.clock.now();
  }

  #requireVersion(): void {
    if (this.#prepared === undefined) return;
    const { version } = this.#prepared;
    const found = this.get<{ user_version: number }>("PRAGMA user_version")?.user_version;
    if (found !== version) throw storeChanged(this.path, version, found ?? 0);
  }

  #busy(): RedriveError {
    return new RedriveError(
      "store_busy",
      `The store ${this.path} was locked by another process for ${formatDuration(this.#busyMsMax)}.`,
      {
        hint: "Wait for the other process or end it (fuser shows which process has the file open), then try again.",
      },
    );
  }
}

/** SQLite's own `lower` handles only ASCII. The searched text is already in lower case. */
function hasText(message: unknown, text: unknown): number {
  return typeof message === "string" && message.toLowerCase().includes(String(text)) ? 1 : 0;
}
