/** What became of a transaction whose commit was sent and never answered, as the server tells over another connection. */
import pg from "pg";
import { hangUp, within } from "./sending.ts";
import { isConnectionLoss, isUnknownTransaction } from "./trouble.ts";

/** What became of a transaction, and how long the server has been up since it was started or crashed; null: not known. */
export interface Fate {
  readonly status: string | null;
  readonly upMs: number | null;
}

const UNKNOWN_FATE: Fate = { status: null, upMs: null };
/** The checkpointer is begun anew after every crash, the server's main process is not. Not everybody may see it. */
const FATE = `SELECT pg_xact_status($1::xid8) AS status,
  (SELECT (extract(epoch FROM clock_timestamp() - backend_start) * 1000)::float8 FROM pg_stat_activity
    WHERE backend_type = 'checkpointer') AS "upMs"`;
const ASK_MS_MAX = 15_000;

/** Over a connection of its own: those of the pool may all wait for the same. */
export async function fateOf(config: pg.ClientConfig, xid: string): Promise<Fate> {
  const client = new pg.Client(config);
  client.on("error", () => {}); // told by the query that meets it
  try {
    await client.connect();
    const { rows } = await client.query<Fate>({ ...within(FATE, ASK_MS_MAX), values: [xid] });
    return rows[0] ?? UNKNOWN_FATE;
  } catch (error) {
    if (isConnectionLoss(error)) return UNKNOWN_FATE;
    // A server that took over, and never heard of it.
    if (isUnknownTransaction(error)) return { status: "aborted", upMs: null };
    throw error;
  } finally {
    await hangUp(client);
  }
}
