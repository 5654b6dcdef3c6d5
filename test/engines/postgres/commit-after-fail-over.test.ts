/**
 * A commit whose answer was lost with the primary: the promoted standby gives the number of a transaction that it never received
 * to another one, and must not be believed when it calls that one committed.
 */
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { wasCommitted } from "../../../src/engines/postgres/commit-status.ts";
import { PostgresServer } from "../../support/postgres-server.ts";
import { until } from "../../support/until.ts";

const TRANSACTIONS_MAX = 10_000;
const DOUBT_MS_MAX = 1_000;

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined); // the server is stopped under it
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Commits a transaction; its number. */
async function commitOne(client: pg.Client): Promise<bigint> {
  const { rows } = await client.query<{ xid: string }>("SELECT pg_current_xact_id()::text AS xid");
  return BigInt(rows[0]?.xid ?? 0);
}

it("a promoted standby is not asked about transactions of the previous primary", async () => {
  const primary = await PostgresServer.make();
  onTestFinished(() => primary.remove());
  const standby = await primary.makeStandby();
  onTestFinished(() => standby.remove());
  const first = await connect(primary.url);
  const second = await connect(standby.url);
  const age = `SELECT extract(epoch FROM clock_timestamp() - backend_start) > 2 AS "isOld"
    FROM pg_stat_activity WHERE backend_type = 'checkpointer'`;
  await until("the standby has run for a while", async () => (await second.query(age)).rows[0]?.isOld);

  await second.query("ALTER SYSTEM SET primary_conninfo = ''"); // it receives nothing from here on
  await second.query("SELECT pg_reload_conf()");
  const receives = async () => (await second.query("SELECT 1 FROM pg_stat_wal_receiver")).rows.length > 0;
  await until("the standby receives no more", async () => !(await receives()));
  const beganAt = performance.now();
  const lost = await commitOne(first);
  await primary.stop("SIGKILL");
  await second.query("SELECT pg_promote()");
  await until("the standby is promoted", async () => {
    const { rows } = await second.query("SELECT pg_is_in_recovery() AS waits");
    return !rows[0]?.waits;
  });

  const ask = () =>
    wasCommitted(
      async (prepare) => {
        const client = new pg.Client({ connectionString: standby.url });
        prepare(client);
        await client.connect();
        return client;
      },
      { xid: String(lost), beganAt, doubtMsMax: DOUBT_MS_MAX },
    );
  let given = 0n;
  for (let count = 0; given < lost; count += 1) {
    expect(count).toBeLessThan(TRANSACTIONS_MAX);
    given = await commitOne(second);
    if (given < lost) continue;
    expect(given).toBe(lost);
  }
  expect(await ask()).toBeNull();
}, 120_000);
