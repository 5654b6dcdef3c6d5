/** The BEGIN statements and settings of a store's transactions. */
import pg from "pg";
import { BEGAN_AT, eventsLock, takesEventsLock } from "./tx.ts";

/** BEGIN and the statement that is sent with it: it sets the settings of the transaction and returns the time. */
export interface TransactionStart {
  readonly begin: string;
  readonly setting: string;
  readonly isWriting: boolean;
}

/**
 * Checks whether BEGIN succeeded. DEFERRABLE has no other effect at these isolation levels and is off outside
 * a transaction.
 */
const IS_BEGUN = "current_setting('transaction_deferrable')::boolean";

const COMMITTED_READ = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY DEFERRABLE";
const SNAPSHOT_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE";
const WRITE = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE DEFERRABLE";
/** A lost client must not keep its locks for long. */
const IDLE_MS_MAX = 20_000;
/** Replanning each small batch takes longer than running it, and gives the same plan. */
const GENERIC_PLANS = {
  plan_cache_mode: "force_generic_plan",
  // A generic plan expects far more rows than a page has, and starting parallel workers for them takes 15 ms.
  max_parallel_workers_per_gather: "0",
};
const FITTING_PLANS = { plan_cache_mode: "auto" };

type Settings = Readonly<Record<string, string>>;

export class TransactionStarts {
  /** Each statement sees everything committed before it. */
  readonly committedRead: TransactionStart;
  /** All statements see one snapshot. */
  readonly snapshotRead: TransactionStart;
  /** All statements see one snapshot and use generic plans. */
  readonly pipelinedRead: TransactionStart;
  /** For creating tables. */
  readonly preparation: TransactionStart;
  /** Initialises a connection with the settings that statements without BEGIN need. */
  readonly kept: string;
  readonly #settings: Settings;
  readonly #eventsLock: string;
  /** The transaction starts of writes, keyed by statement timeout; only a few timeouts are used. */
  readonly #writing = new Map<number, TransactionStart>();

  constructor(schema: string, busyMsMax: number) {
    this.#settings = {
      search_path: pg.escapeIdentifier(schema),
      idle_in_transaction_session_timeout: String(IDLE_MS_MAX),
      lock_timeout: String(busyMsMax),
      // A scan of the whole store takes less time than compiling its query.
      jit: "off",
    };
    const inSchema = pg.escapeIdentifier(schema);
    this.#eventsLock = takesEventsLock({
      events: `${inSchema}.event_ids`,
      store: `${inSchema}.store`,
      lock: pg.escapeLiteral(eventsLock(schema)),
    });
    this.committedRead = this.#start(COMMITTED_READ, FITTING_PLANS);
    this.snapshotRead = this.#start(SNAPSHOT_READ, FITTING_PLANS);
    this.pipelinedRead = this.#start(SNAPSHOT_READ, GENERIC_PLANS);
    this.preparation = this.#start(WRITE, FITTING_PLANS);
    this.kept = `SELECT ${settingsIn({ ...this.#settings, ...GENERIC_PLANS }, "connection")}`;
  }

  /** Every write may record events, so it takes the event lock. */
  writing(timeoutMs: number): TransactionStart {
    const known = this.#writing.get(timeoutMs);
    if (known !== undefined) return known;
    const settings = { statement_timeout: String(timeoutMs), ...GENERIC_PLANS };
    const made = this.#start(WRITE, settings, `, ${this.#eventsLock}`);
    this.#writing.set(timeoutMs, made);
    return made;
  }

  #start(begin: string, settings: Settings, lock = ""): TransactionStart {
    const set = settingsIn({ ...this.#settings, ...settings }, "transaction");
    return { begin, setting: `SELECT ${set}, ${BEGAN_AT} AS now${lock}`, isWriting: begin === WRITE };
  }
}

/**
 * Returns the columns of a statement that sets all settings until the end of the transaction or connection.
 * If BEGIN failed, the statements sent after it must not run. The connection then has no search path, so they
 * find no table.
 */
function settingsIn(settings: Settings, until: "transaction" | "connection"): string {
  const isLocal = until === "transaction";
  const set = ([name, value]: [string, string]) => {
    const text = pg.escapeLiteral(value);
    if (!isLocal || name !== "search_path") return `set_config('${name}', ${text}, ${isLocal})`;
    return `set_config('search_path', CASE WHEN ${IS_BEGUN} THEN ${text} ELSE '' END, ${IS_BEGUN})`;
  };
  return Object.entries(settings).map(set).join(", ");
}
