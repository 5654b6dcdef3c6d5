/** How the transactions of a store begin, and what holds in them. */
import pg from "pg";
import { BEGAN_AT, eventsLock, markIn } from "./tx.ts";

/** The beginning, and the one statement that is sent with it: it sets what holds to the end, and tells the time. */
export interface TransactionStart {
  readonly begin: string;
  readonly setting: string;
  readonly isWriting: boolean;
}

/**
 * Whether a transaction was begun. DEFERRABLE changes nothing for these levels of isolation; it shows that BEGIN succeeded, because
 * it is off outside.
 */
const IS_BEGUN = "current_setting('transaction_deferrable')::boolean";

const COMMITTED_READ = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY DEFERRABLE";
const SNAPSHOT_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE";
const WRITE = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE DEFERRABLE";
/** A vanished client must not keep others waiting for its locks. */
const IDLE_MS_MAX = 20_000;
/** Planning for each batch anew takes longer than small batches do, and finds the same plan. */
const GENERIC_PLANS = { plan_cache_mode: "force_generic_plan" };
const FITTING_PLANS = { plan_cache_mode: "auto" };

type Settings = Readonly<Record<string, string>>;

export class TransactionStarts {
  /** Each statement sees what was committed before it. */
  readonly committedRead: TransactionStart;
  /** On one unchanging view. */
  readonly snapshotRead: TransactionStart;
  /** The same, planned once for all values. */
  readonly pipelinedRead: TransactionStart;
  /** For the making of tables. */
  readonly preparation: TransactionStart;
  /** Sets on a connection, for as long as it lasts, what statements need that are sent without a beginning. */
  readonly kept: string;
  readonly #settings: Settings;
  readonly #mark: string;
  /** By how long each statement may take; there are few. */
  readonly #writing = new Map<number, TransactionStart>();

  constructor(schema: string, busyMsMax: number) {
    this.#settings = {
      search_path: pg.escapeIdentifier(schema),
      idle_in_transaction_session_timeout: String(IDLE_MS_MAX),
      lock_timeout: String(busyMsMax),
      // A scan of the whole store costs less than compiling its query.
      jit: "off",
    };
    const inSchema = pg.escapeIdentifier(schema);
    this.#mark = markIn({
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

  /** Whoever writes may tell of events, and so has their mark. */
  writing(timeoutMs: number): TransactionStart {
    const known = this.#writing.get(timeoutMs);
    if (known !== undefined) return known;
    const settings = { statement_timeout: String(timeoutMs), ...GENERIC_PLANS };
    const made = this.#start(WRITE, settings, `, ${this.#mark}`);
    this.#writing.set(timeoutMs, made);
    return made;
  }

  #start(begin: string, settings: Settings, mark = ""): TransactionStart {
    const set = settingsIn({ ...this.#settings, ...settings }, "transaction");
    return { begin, setting: `SELECT ${set}, ${BEGAN_AT} AS now${mark}`, isWriting: begin === WRITE };
  }
}

/**
 * The columns of a statement that sets them all, until the end of the transaction or of the connection. Where BEGIN has failed, the
 * statements that were sent after it must not run one by one: the connection then loses its search path, so that they find no table.
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
