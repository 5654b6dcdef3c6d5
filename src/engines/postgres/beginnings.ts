/** How the transactions of a store begin, and what holds in them. */
import pg from "pg";
import { BEGAN_AT, eventsLock, markIn } from "./tx.ts";

/** The beginning, and the one statement that is sent with it: it sets what holds to the end, and tells the time. */
export interface Beginning {
  readonly begin: string;
  readonly setting: string;
  readonly isWriting: boolean;
}

const COMMITTED_READ = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY";
const SNAPSHOT_READ = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
const WRITE = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE";
/** A vanished client must not keep others waiting for its locks. */
const IDLE_MS_MAX = 20_000;
/** Planning for each batch anew takes longer than small batches do, and finds the same plan. */
const GENERIC_PLANS = { plan_cache_mode: "force_generic_plan" };
const FITTING_PLANS = { plan_cache_mode: "auto" };

type Settings = Readonly<Record<string, string>>;

export class Beginnings {
  /** Each statement sees what was committed before it. */
  readonly ofLooking: Beginning;
  /** On one unchanging view. */
  readonly ofReading: Beginning;
  /** The same, planned once for all values. */
  readonly ofAsking: Beginning;
  /** For the making of tables. */
  readonly ofPreparing: Beginning;
  /** Sets on a connection, for as long as it lasts, what statements need that are sent without a beginning. */
  readonly kept: string;
  readonly #settings: Settings;
  readonly #mark: string;
  /** By how long each statement may take; there are few. */
  readonly #ofWriting = new Map<number, Beginning>();

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
    this.ofLooking = this.#beginning(COMMITTED_READ, FITTING_PLANS);
    this.ofReading = this.#beginning(SNAPSHOT_READ, FITTING_PLANS);
    this.ofAsking = this.#beginning(SNAPSHOT_READ, GENERIC_PLANS);
    this.ofPreparing = this.#beginning(WRITE, FITTING_PLANS);
    this.kept = `SELECT ${settingsIn({ ...this.#settings, ...GENERIC_PLANS }, "connection")}`;
  }

  /** Whoever writes may tell of events, and so has their mark. */
  ofWriting(timeoutMs: number): Beginning {
    const known = this.#ofWriting.get(timeoutMs);
    if (known !== undefined) return known;
    const settings = { statement_timeout: String(timeoutMs), ...GENERIC_PLANS };
    const made = this.#beginning(WRITE, settings, `, ${this.#mark}`);
    this.#ofWriting.set(timeoutMs, made);
    return made;
  }

  #beginning(begin: string, settings: Settings, mark = ""): Beginning {
    const set = settingsIn({ ...this.#settings, ...settings }, "transaction");
    return { begin, setting: `SELECT ${set}, ${BEGAN_AT} AS now${mark}`, isWriting: begin === WRITE };
  }
}

/** The columns of a statement that sets them all, until the end of the transaction or of the connection. */
function settingsIn(settings: Settings, until: "transaction" | "connection"): string {
  const isLocal = until === "transaction";
  const set = ([name, value]: [string, string]) =>
    `set_config('${name}', ${pg.escapeLiteral(value)}, ${isLocal})`;
  return Object.entries(settings).map(set).join(", ");
}
