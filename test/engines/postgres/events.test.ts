/** Transactions end in any order. Who reads events with a cursor misses none of them all the same. */
import pg from "pg";
import { afterAll, expect, it } from "vitest";
import { runOn } from "../../../src/engines/postgres/db.ts";
import { listEvents } from "../../../src/engines/postgres/events.ts";
import { migrate } from "../../../src/engines/postgres/migrate.ts";
import { Session } from "../../../src/engines/postgres/session.ts";
import { writeEvent } from "../../../src/engines/sql/events.ts";
import { postgresStores, postgresUrl } from "../../support/postgres-stores.ts";
import { until } from "../../support/until.ts";

const stores = postgresStores();
afterAll(() => stores.remove());

it("an event is withheld while an older one may still be committed", async () => {
  const engine = await stores.open();
  await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
  const session = new Session({ url: postgresUrl(stores.schemaOf(engine)) });
  await migrate(session);
  let [hasBegun, mayEnd] = [false, false];
  const slow = session.write(async (tx) => {
    await runOn(tx, (db) => writeEvent(db, { type: "alert_raised", data: { n: 1 } }, {}));
    hasBegun = true;
    await until("it may end", () => mayEnd);
  });
  await until("it has begun", () => hasBegun);
  const before = (await listEvents(session, { after: 0, limit: 100 })).length;
  await session.write((tx) =>
    runOn(tx, (db) => writeEvent(db, { type: "alert_raised", data: { n: 2 } }, {})),
  );
  expect(await listEvents(session, { after: 0, limit: 100 })).toHaveLength(before);
  mayEnd = true;
  await slow;
  const told = await listEvents(session, { after: 0, types: ["alert_raised"], limit: 100 });
  expect(told.map(({ data }) => data?.n)).toEqual([1, 2]);
  await session.close();
  await engine.close();
});

/** What is written about items of this queue comes to the end of its transaction, and no further, until it is let go. */
async function holdUp(schema: string, queue: string) {
  const client = new pg.Client({ connectionString: postgresUrl(schema).split("?")[0] });
  await client.connect();
  await client.query(`SET search_path = ${pg.escapeIdentifier(schema)}`);
  await client.query(`
    CREATE FUNCTION be_held_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.queue = (SELECT no FROM queues WHERE name = '${queue}') THEN PERFORM pg_advisory_xact_lock_shared(${HELD_UP}); END IF;
      RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER held_up AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION be_held_up();
    SELECT pg_advisory_lock(${HELD_UP})`);
  return {
    isWaitedFor: async () => {
      const sql = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = ${HELD_UP} AND objsubid = 1 AND NOT granted`;
      return (await client.query(sql)).rows.length > 0;
    },
    letGo: () => client.query(`SELECT pg_advisory_unlock(${HELD_UP})`),
    end: async () => {
      await client.query("DROP FUNCTION be_held_up CASCADE");
      await client.end();
    },
  };
}

const HELD_UP = 20_261_116;
const MADE_UP = { expectNew: true, generatedIds: true };

it.each(["item_queued", "attempt_started"] as const)("%s, sent by itself, is not passed by", async (type) => {
  const engine = await stores.open();
  for (const id of ["slow", "quick"]) await engine.createJob({ id, name: id, kind: "queue", spec: {} });
  const holder = { id: "h", queue: "slow", host: "host", pid: 1, processStart: "1", ttlMs: 60_000 };
  await engine.registerHolder(holder);
  const lease = () => engine.settleAndLease("h", { settle: [], lease: { queue: "slow", max: 1 } });
  await lease(); // from here on it is known, and leases by itself
  const add = (queue: string) => engine.add(queue, [{ itemId: `${queue}-${type}`, data: 0 }], MADE_UP);
  if (type === "attempt_started") await add("slow");
  const before = await engine.newestEvent();
  const slowly = await holdUp(stores.schemaOf(engine), "slow");
  const slow = type === "item_queued" ? add("slow") : lease();
  await until("it is held up", slowly.isWaitedFor);
  await add("quick");
  expect(await engine.listEvents({ after: before, limit: 10 })).toEqual([]);
  await slowly.letGo();
  await slow;
  const told = await engine.listEvents({ after: before, limit: 10 });
  expect(told.map((event) => [event.type, event.queue])).toEqual([
    [type, "slow"],
    ["item_queued", "quick"],
  ]);
  await slowly.end();
  await engine.close();
});

it("a reader that follows many writers gets every event once, in order", async () => {
  const engine = await stores.open();
  const queues = ["q1", "q2", "q3"];
  for (const id of queues) await engine.createJob({ id, name: id, kind: "queue", spec: {} });
  const writers = await Promise.all(Array.from({ length: 5 }, () => stores.join(engine)));
  let isOver = false;
  const writing = Promise.all(
    writers.map(async (writer, no) => {
      for (let n = 0; n < 40; n += 1) {
        await writer.add(queues[n % 3] ?? "", [
          { itemId: `${no}-${n}-a`, data: 0 },
          { itemId: `${no}-${n}-b`, data: 0 },
        ]);
      }
    }),
  ).finally(() => {
    isOver = true;
  });
  const seen: number[] = [];
  const follow = async () => {
    const page = await engine.listEvents({ after: seen.at(-1) ?? 0, types: ["item_queued"], limit: 7 });
    seen.push(...page.map(({ id }) => id));
    return page.length;
  };
  while (!isOver) await follow();
  await writing;
  while ((await follow()) > 0);
  expect(seen).toHaveLength(5 * 40 * 2);
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b));
  for (const writer of writers) await writer.close();
  await engine.close();
});
