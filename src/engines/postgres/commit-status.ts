/**
 * Determines over another connection whether a transaction was committed if the answer to COMMIT was lost.
 */
import type pg from "pg";
import { RedriveError } from "../../errors.ts";
import { hangUp, within } from "./pipelining.ts";
import { isConnectionLoss, isReadOnlyServer, isUnexpected, isUnknownTransaction } from "./trouble.ts";

/**
 * Thrown when COMMIT was sent and its answer was lost, so that it is unknown whether the transaction was
 * committed.
 */
export class CommitInDoubt extends RedriveError {
  /** The result of the transaction, if it was received. */
  readonly answer: unknown;

  constructor(store: string, { answer, cause }: { readonly answer?: unknown; readonly cause: unknown }) {
    super("store_unavailable", `The store ${store} lost its connection during a commit.`, {
      hint: "Work resumes automatically when the server is back.",
      cause,
    });
    this.answer = answer;
  }
}

/** Opens another connection; `prepare` runs before it connects. */
type Connect = (prepare: (client: pg.Client) => void) => Promise<pg.Client>;

/** Tolerance for the difference between two clocks. */
const CLOCK_SLACK_MS = 1000;

/** A transaction whose outcome is unknown. */
interface Unheard {
  readonly xid: string;
  /** The start of the transaction, by `performance.now`. */
  readonly beganAt: number;
  /** How long to ask the server. */
  readonly doubtMsMax: number;
}

/**
 * Asks the server over another connection whether the transaction was committed; null if that is unknown. A server that
 * crashed or failed over may reuse ids of transactions that were never on disk, so "committed" may mean another one.
 */
export async function wasCommitted(
  connect: Connect,
  { xid, beganAt, doubtMsMax }: Unheard,
): Promise<boolean | null> {
  const deadline = performance.now() + doubtMsMax;
  for (;;) {
    const { status, upMs } = await outcomeOf(connect, xid);
    if (status === "aborted") return false;
    const isSameLife = upMs !== null && upMs > performance.now() - beganAt + CLOCK_SLACK_MS;
    if (status === "committed") return isSameLife ? true : null;
    if (performance.now() > deadline) return null;
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
  }
}

/**
 * The status of a transaction, and how long the server has accepted writes without a crash; null if unknown.
 */
interface AddOutcome {
  readonly status: string | null;
  readonly upMs: number | null;
}

const UNKNOWN_FATE: AddOutcome = { status: null, upMs: null };
/**
 * Returns the status of the transaction, and how long the server has accepted writes. The WAL writer starts
 * after a server start, a crash or a promotion, so its age gives that time; it is NULL if the user may not
 * see that process. On a standby the status is NULL, because the commit may still arrive by replication.
 */
const FATE = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_xact_status($1::xid8) END AS status,
  (SELECT (extract(epoch FROM clock_timestamp() - backend_start) * 1000)::float8 FROM pg_stat_activity
    WHERE backend_type = 'walwriter') AS "upMs"`;
const ASK_MS_MAX = 15_000;

/** Uses a separate connection, because all connections of the pool may be waiting. */
async function outcomeOf(connect: Connect, xid: string): Promise<AddOutcome> {
  let client: pg.Client | undefined;
  try {
    client = await connect((made) => made.on("error", () => {})); // reported by the query
    const { rows } = await client.query<AddOutcome>({ ...within(FATE, ASK_MS_MAX), values: [xid] });
    return rows[0] ?? UNKNOWN_FATE;
  } catch (error) {
    // A new primary may never have seen the transaction.
    if (isUnknownTransaction(error)) return { status: "aborted", upMs: null };
    if (isConnectionLoss(error) || isReadOnlyServer(error) || isUnexpected(error)) return UNKNOWN_FATE;
    throw error;
  } finally {
    if (client !== undefined) await hangUp(client);
  }
}
