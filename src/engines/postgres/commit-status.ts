/** What became of a transaction whose commit was sent and never answered, as the server tells over another connection. */
import type pg from "pg";
import { WorkError } from "../../errors.ts";
import { hangUp, within } from "./pipelining.ts";
import { isConnectionLoss, isReadOnlyServer, isUnexpected, isUnknownTransaction } from "./trouble.ts";

/** A commit was sent, and its answer was lost: it is not known whether it was carried out. */
export class CommitInDoubt extends WorkError {
  /** What the transaction would have answered, as far as that was heard. */
  readonly answer: unknown;

  constructor(store: string, { answer, cause }: { readonly answer?: unknown; readonly cause: unknown }) {
    super("store_unavailable", `The store ${store} lost its connection while it committed.`, {
      hint: "The work goes on by itself when the server is back.",
      cause,
    });
    this.answer = answer;
  }
}

/** Makes another connection, prepared before it connects. */
type Connect = (prepare: (client: pg.Client) => void) => Promise<pg.Client>;

/** Two clocks do not run alike. */
const CLOCK_SLACK_MS = 1000;

/** A transaction whose end was not heard. */
interface Unheard {
  readonly xid: string;
  /** By `performance.now`. */
  readonly beganAt: number;
  /** How long to ask. */
  readonly doubtMsMax: number;
}

/**
 * Asks the server, over another connection, what became of a transaction; null when it does not tell. A server that crashed, or
 * took over from another, gives the numbers of transactions that never reached its disk to others: "committed" may then be the
 * word of another one.
 */
export async function wasCommitted(
  connect: Connect,
  { xid, beganAt, doubtMsMax }: Unheard,
): Promise<boolean | null> {
  const deadline = performance.now() + doubtMsMax;
  for (;;) {
    const { status, upMs } = await fateOf(connect, xid);
    if (status === "aborted") return false;
    const isSameLife = upMs !== null && upMs > performance.now() - beganAt + CLOCK_SLACK_MS;
    if (status === "committed") return isSameLife ? true : null;
    if (performance.now() > deadline) return null;
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 100));
  }
}

/** What became of a transaction, and for how long the server has accepted writes without a crash; null: not known. */
interface Fate {
  readonly status: string | null;
  readonly upMs: number | null;
}

const UNKNOWN_FATE: Fate = { status: null, upMs: null };
/**
 * The writer of the log begins when the server accepts writes: after its start, a crash, or its promotion. Its main process and
 * its checkpointer are older than a promotion. Not everybody may see it. A standby may still receive the commit, and so has no
 * answer.
 */
const FATE = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_xact_status($1::xid8) END AS status,
  (SELECT (extract(epoch FROM clock_timestamp() - backend_start) * 1000)::float8 FROM pg_stat_activity
    WHERE backend_type = 'walwriter') AS "upMs"`;
const ASK_MS_MAX = 15_000;

/** Over a connection of its own: those of the pool may all wait for the same. */
async function fateOf(connect: Connect, xid: string): Promise<Fate> {
  let client: pg.Client | undefined;
  try {
    client = await connect((made) => made.on("error", () => {})); // told by the query that meets it
    const { rows } = await client.query<Fate>({ ...within(FATE, ASK_MS_MAX), values: [xid] });
    return rows[0] ?? UNKNOWN_FATE;
  } catch (error) {
    // A server that took over, and never heard of it.
    if (isUnknownTransaction(error)) return { status: "aborted", upMs: null };
    if (isConnectionLoss(error) || isReadOnlyServer(error) || isUnexpected(error)) return UNKNOWN_FATE;
    throw error;
  } finally {
    if (client !== undefined) await hangUp(client);
  }
}
