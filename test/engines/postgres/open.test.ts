/** Opening a PostgreSQL store: its schema, its URL, and what is said when it cannot be opened. The password is told to nobody. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openStore } from "../../../src/engines/open.ts";
import { openPostgresEngine } from "../../../src/engines/postgres/open.ts";
import { RedriveError } from "../../../src/errors.ts";
import { randomName } from "../../../src/std/random.ts";
import { askPostgres, dropSchema, postgresServerUrl, postgresUrl } from "../../support/postgres-stores.ts";
import { buried, retried } from "../../support/settlements.ts";

const SECRET = "s3cret-Word";
const made: string[] = [];
const opened: Engine[] = [];

afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});
afterAll(async () => {
  for (const schema of made) await dropSchema(schema);
});

function newSchema(name = `test_${randomName(10)}`): string {
  made.push(name);
  return name;
}

async function open(url: string): Promise<Engine> {
  const engine = await openPostgresEngine({ url });
  opened.push(engine);
  return engine;
}

const errorOf = (url: string) =>
  openPostgresEngine({ url }).then(
    () => expect.fail("it was opened"),
    (error: unknown) => error as RedriveError,
  );

describe("a schema", () => {
  it("is created once when ten processes open it at once, and all of them can work", async () => {
    const url = postgresUrl(newSchema(), { pool: "1" });
    const engines = await Promise.all(Array.from({ length: 10 }, () => open(url)));
    const found = await Promise.all(engines.map(async (engine) => (await engine.info()).foundVersion));
    expect(found.filter((version) => version === 0)).toHaveLength(1);
    await engines[0]?.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    expect(await engines[9]?.count("q")).toMatchObject({ total: 0 });
  });

  it("may have any name, even one that SQL must quote", async () => {
    const schema = newSchema(`Odd "name"; DROP ${randomName(6)}`);
    const engine = await open(postgresUrl(schema));
    await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    await engine.add("q", [{ itemId: "a", data: 1 }]);
    expect(await engine.check()).toEqual([]);
    const there = await askPostgres(
      "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'items'",
      schema,
    );
    expect(there).toHaveLength(1);
  });

  it("of the same database as another is a separate store", async () => {
    const [one, two] = [await open(postgresUrl(newSchema())), await open(postgresUrl(newSchema()))];
    await one.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    expect(await two.findJob("q")).toBeNull();
  });

  it("is redrive by default", async () => {
    const url = new URL(postgresServerUrl());
    url.searchParams.delete("schema");
    const engine = await openStore(url.href);
    opened.push(engine);
    const there = await askPostgres(
      "SELECT 1 FROM pg_tables WHERE schemaname = 'redrive' AND tablename = 'items'",
    );
    expect(there).toHaveLength(1);
  });

  it("of another program is left alone", async () => {
    const schema = newSchema();
    await askPostgres(`CREATE SCHEMA ${schema}`);
    await askPostgres(`CREATE TABLE ${schema}.orders (id int)`);
    expect(await errorOf(postgresUrl(schema))).toMatchObject({ code: "store_corrupt" });
    const tables = await askPostgres("SELECT tablename FROM pg_tables WHERE schemaname = $1", schema);
    expect(tables).toEqual([{ tablename: "orders" }]);
  });

  it("of a newer Redrive is refused", async () => {
    const schema = newSchema();
    const url = postgresUrl(schema);
    await (await openPostgresEngine({ url })).close();
    await askPostgres(`UPDATE ${schema}.store SET version = 99`);
    const error = await errorOf(url);
    expect(error).toMatchObject({ code: "store_newer", hint: "Install a newer version of Redrive." });
  });

  it("is not created if it must exist", async () => {
    const schema = newSchema();
    const asked = openStore(postgresUrl(schema), { mustExist: true });
    await expect(asked).rejects.toMatchObject({ code: "input_invalid" });
    expect(await askPostgres("SELECT 1 FROM pg_namespace WHERE nspname = $1", schema)).toEqual([]);
  });
});

describe("a URL", () => {
  it("with a password never shows it", async () => {
    const url = new URL(postgresUrl(newSchema()));
    url.password = SECRET;
    const engine = await open(url.href);
    const info = await engine.info();
    expect(engine.url).toContain(":***@");
    expect(JSON.stringify([engine.url, info])).not.toContain(SECRET);
  });

  it.each([
    ["a server that is not there", "store_unavailable", (url: URL) => (url.port = "1")],
    ["a database that is not there", "store_denied", (url: URL) => (url.pathname = "/no_such_database")],
    ["a user that is not there", "store_denied", (url: URL) => (url.username = "nobody_of_that_name")],
  ])("of %s is %s with a hint, without the password", async (_, code, change) => {
    const url = new URL(postgresUrl(newSchema()));
    url.password = SECRET;
    change(url);
    const error = await errorOf(url.href);
    expect(error).toBeInstanceOf(RedriveError);
    expect(error.code).toBe(code);
    expect(error.hint).toBeTruthy();
    expect(`${error.message} ${error.hint} ${error.stack} ${JSON.stringify(error)}`).not.toContain(SECRET);
    expect(String(error.cause)).not.toContain(SECRET);
  });

  it.each([
    ["pool=none", "pool"],
    ["pool=0", "pool"],
    ["prepare=maybe", "prepare"],
    ["listen=perhaps", "listen"],
    ["schema=pg_catalog", "schema"],
    ["schema=", "schema"],
  ])("with ?%s is refused", async (parameter, name) => {
    const error = await errorOf(`postgres://user:${SECRET}@127.0.0.1:1/db?${parameter}`);
    expect(error.code).toBe("usage");
    expect(error.message).toContain(name);
  });

  it("that is invalid is refused without its password", async () => {
    const error = await errorOf(`postgres://user:${SECRET}@bad host/db`);
    expect(error.code).toBe("usage");
    expect(error.message).not.toContain(SECRET);
  });

  it("sets how many connections a process opens at most", async () => {
    const schema = newSchema();
    const url = new URL(postgresUrl(schema, { pool: "2" }));
    url.searchParams.set("application_name", schema);
    const engine = await open(url.href);
    await Promise.all(Array.from({ length: 12 }, () => engine.listHolders()));
    const [row] = await askPostgres<{ count: string }>(
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1",
      schema,
    );
    expect(Number(row?.count)).toBe(2);
  });

  it("goes before the number of connections that the program asks for", async () => {
    const maxOf = async (pool: Record<string, string>) => {
      const schema = newSchema();
      const url = new URL(postgresUrl(schema, pool));
      url.searchParams.set("application_name", schema);
      const engine = await openStore(url.href, { connectionsMax: 3 });
      opened.push(engine);
      await Promise.all(Array.from({ length: 12 }, () => engine.listHolders()));
      const counted = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
      return Number((await askPostgres<{ count: string }>(counted, schema))[0]?.count);
    };
    expect([await maxOf({}), await maxOf({ pool: "2" })]).toEqual([3, 2]);
  });

  it("names the application by default", async () => {
    const engine = await open(postgresUrl(newSchema()));
    await engine.listHolders();
    const rows = await askPostgres("SELECT 1 FROM pg_stat_activity WHERE application_name = 'redrive'");
    expect(rows.length).toBeGreaterThan(0);
  });
});

describe("a store of version 1", () => {
  /** The tables as version 1 had them. */
  const AS_VERSION_1 = `
    DROP FUNCTION run_within(text, text, boolean);
    DROP TABLE progress;
    DROP INDEX events_of_items;
    DROP TABLE agent_runs;
    ALTER TABLE store DROP COLUMN id;
    ALTER TABLE payloads DROP COLUMN options;
    ALTER TABLE ordered_items RENAME COLUMN ordering_key TO lane;
    ALTER TABLE ordering_heads RENAME COLUMN ordering_key TO lane;
    ALTER TABLE ordered_items RENAME TO lanes;
    ALTER TABLE ordering_heads RENAME TO lane_heads;
    ALTER INDEX ordered_items_leased RENAME TO lanes_leased;
    ALTER TABLE groups RENAME COLUMN in_retry TO away;
    ALTER TABLE items RENAME COLUMN position TO place;
    ALTER TABLE items RENAME COLUMN ordering_key TO lane;
    ALTER TABLE items RENAME COLUMN attempts_counted TO spent;
    ALTER TABLE items RENAME COLUMN lost_count TO losses;
    ALTER TABLE letters DROP COLUMN first_at, DROP COLUMN arrived_at, DROP COLUMN source_signature;
    ALTER TABLE resolved_letters DROP COLUMN first_at, DROP COLUMN arrived_at, DROP COLUMN source_signature;
    ALTER TABLE resolved_letters RENAME TO closed;
    ALTER TABLE late_results RENAME TO evidence;
    ALTER TABLE group_records RENAME TO marks;
    ALTER TABLE ready_items RENAME TO line;
    ALTER TABLE letter_numbers RENAME TO burials;
    ALTER TABLE letters RENAME COLUMN poison TO toxic;
    ALTER TABLE closed RENAME COLUMN poison TO toxic;
    UPDATE store SET version = 1;`;

  it("gets the times of first failures when it is migrated to the newest version", async () => {
    const schema = newSchema();
    const url = postgresUrl(schema);
    const engine = await openPostgresEngine({ url });
    await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    await engine.registerHolder({
      id: "h",
      queue: "q",
      host: "host",
      pid: 1,
      processStart: "1",
      ttlMs: 60_000,
    });
    await engine.add("q", [{ itemId: "a", data: 1 }]);
    const lease = async () => {
      const { leased } = await engine.settleAndLease("h", { settle: [], lease: { queue: "q", max: 1 } });
      const [one] = leased;
      if (one === undefined) throw new Error("an item is ready");
      return one;
    };
    await engine.settleAndLease(null, { settle: [retried(await lease())] });
    const second = await lease();
    await engine.settleAndLease(null, { settle: [buried(second)] });
    await engine.add(
      "q",
      ["b", "c"].map((itemId) => ({ itemId, data: 1, orderingKey: "one" })),
    );
    const before = await engine.readLetter(second.ref);
    const [first] = await engine.listAttempts(second.ref);
    await engine.close();
    for (const sql of AS_VERSION_1.split(";").filter((one) => one.trim() !== ""))
      await askPostgres(
        sql.replace(/(ALTER TABLE|ALTER INDEX|DROP TABLE|DROP INDEX|DROP FUNCTION|UPDATE) /, `$1 ${schema}.`),
      );
    const migrated = await open(url);
    expect(await migrated.readLetter(second.ref)).toEqual(before);
    expect(before?.firstAttempt).toBe(first?.endedAt);
    const { leased } = await migrated.settleAndLease("h", { settle: [], lease: { queue: "q", max: 9 } });
    expect(leased.map(({ itemId }) => itemId)).toEqual(["b"]);
    expect(await migrated.check()).toEqual([]);
  });
});
