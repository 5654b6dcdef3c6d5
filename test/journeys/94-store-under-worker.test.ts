/**
 * The store changes under a running worker: another file or database takes its place, or another Redrive raises its version. The
 * worker reports it and ends; what it did since is acknowledged nowhere, and is done again once the store is back.
 */
import { renameSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../support/postgres-server.ts";
import { askPostgres, postgresServerUrl } from "../support/postgres-stores.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { newPostgresStore, ON_POSTGRES, openWorkshop, SOUND, type Workshop } from "./workshop.ts";

type Env = Readonly<Record<string, string>>;

const ITEMS = ["1", "2", "3"];
const FILES = ["redrive.db", "redrive.db-wal", "redrive.db-shm"];

async function fill(shop: Workshop, env: Env): Promise<void> {
  expect((await shop.run(["queue", "create", "q"], { env })).code).toBe(0);
  for (const data of ITEMS) await shop.run(["queue", "add", "q", "--key", data, "--data", data], { env });
}

/** Runs items one by one; the first one waits for the gate. */
function workerArgs(shop: Workshop): string[] {
  const script = `echo "$1" >> ${shop.ledgerPath}; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
  return ["worker", "--queue", "q", "-j", "1", "--until-empty", "--", "sh", "-c", script, "sh", "{}"];
}

/** Runs a worker, changes the store while its first item runs, and returns how the worker ended. */
async function changedUnder(shop: Workshop, env: Env, change: () => void | Promise<void>) {
  const worker = shop.start(workerArgs(shop), { env });
  await shop.untilLedger("the first item runs", (lines) => lines.length === 1);
  await change();
  shop.write("gate", "");
  const ended = await worker.ended;
  expect(shop.ledger).toEqual(["1"]);
  expect(ended.stderr).not.toMatch(/\n +at /);
  return ended;
}

async function doneIn(shop: Workshop, env: Env): Promise<number> {
  const { stdout } = await shop.run(["queue", "show", "q", "--json"], { env });
  return (JSON.parse(stdout) as { counts: { done: number } }).counts.done;
}

/** With the store back, another worker does all of it. */
async function finish(shop: Workshop, env: Env): Promise<void> {
  expect(await doneIn(shop, env)).toBe(0);
  expect((await shop.run(workerArgs(shop), { env })).code).toBe(0);
  expect(await doneIn(shop, env)).toBe(ITEMS.length);
  expect((await shop.run(["store", "check"], { env })).stdout).toBe(SOUND);
}

describe.skipIf(ON_POSTGRES)("a store in a file", () => {
  it("that is replaced by another store gets nothing, and neither does the other", async () => {
    const shop = openWorkshop();
    const other = { REDRIVE_HOME: shop.path("other") };
    await fill(shop, {});
    await fill(shop, other);
    shop.write("away/.keep", "");
    const move = (from: string, to: string) => {
      for (const file of FILES) {
        try {
          renameSync(shop.path(`${from}/${file}`), shop.path(`${to}/${file}`));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error; // a closed store has no journal
        }
      }
    };
    const { code, stderr } = await changedUnder(shop, {}, () => {
      move("redrive", "away");
      move("other", "redrive");
    });
    expect([code, stderr]).toEqual([75, expect.stringContaining("was replaced by another file")]);
    expect(await doneIn(shop, {})).toBe(0);
    move("redrive", "other");
    move("away", "redrive");
    await finish(shop, {});
  });

  it("whose version is raised gets nothing from an old worker", async () => {
    const shop = openWorkshop();
    await fill(shop, {});
    const raise = (by: number) => {
      const db = new DatabaseSync(shop.storePath);
      const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
      db.exec(`PRAGMA user_version = ${version + by}`);
      db.close();
    };
    const { stderr } = await changedUnder(shop, {}, () => raise(1));
    expect(stderr).toContain("while this process used it");
    raise(-1);
    await finish(shop, {});
  });
});

describe("a store on PostgreSQL", () => {
  it("whose address leads to another database gets nothing, and neither does the other", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { schema, url } = newPostgresStore();
    const second = await PostgresServer.make();
    onTestFinished(() => second.remove());
    const proxy = await TcpProxy.before(url);
    onTestFinished(() => proxy.close());
    const env = { REDRIVE_STORE: proxy.through(url) };
    const other = { REDRIVE_STORE: `${second.url}?schema=${schema}` };
    await fill(shop, env);
    await fill(shop, other);
    const { code, stderr } = await changedUnder(shop, env, () => proxy.moveTo(second.url));
    expect([code, stderr]).toEqual([75, expect.stringContaining("leads to another database")]);
    expect(await doneIn(shop, other)).toBe(0);
    proxy.moveTo(postgresServerUrl());
    await finish(shop, env);
  }, 120_000);

  it("whose version is raised gets nothing from an old worker", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { schema, url } = newPostgresStore();
    const env = { REDRIVE_STORE: url };
    await fill(shop, env);
    const raise = (by: number) => askPostgres(`UPDATE ${schema}.store SET version = version + ${by}`);
    const { stderr } = await changedUnder(shop, env, async () => void (await raise(1)));
    expect(stderr).toContain("while this process used it");
    await raise(-1);
    await finish(shop, env);
  });

  it("whose schema is renamed is waited for, and no command creates a second one in its place", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { schema, url } = newPostgresStore();
    const env = { REDRIVE_STORE: url };
    await fill(shop, env);
    const rename = (from: string, to: string) =>
      askPostgres(`ALTER SCHEMA ${pg.escapeIdentifier(from)} RENAME TO ${pg.escapeIdentifier(to)}`);
    await rename(schema, `${schema}_away`);
    for (const args of [
      ["queue", "create", "q"],
      ["queue", "list"],
      ["dlq", "list"],
      ["map", "--", "true"],
    ]) {
      const { code, stderr } = await shop.run(args, { env, stdin: "x\n" });
      expect([args, code, stderr]).toEqual([args, 75, expect.stringContaining(`renamed to ${schema}_away`)]);
    }
    await rename(`${schema}_away`, schema);
    shop.write("gate", "");
    await finish(shop, env);
  });
});

describe("a store without access", () => {
  const asUser = (url: string, user: string) => {
    const changed = new URL(url);
    changed.username = user;
    return changed.href;
  };

  it.each([
    ["whose role does not exist", "nobody_of_that_name", "rejects the user"],
    ["on which the role has no rights", "redrive_without_rights", "denies access to this user"],
  ])("%s is reported at once by every command", async (_, user, what) => {
    const shop = openWorkshop({ onPostgres: false });
    const { url } = newPostgresStore();
    await fill(shop, { REDRIVE_STORE: url });
    const create = `DO $$ BEGIN CREATE ROLE redrive_without_rights LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`;
    await askPostgres(create);
    const env = { REDRIVE_STORE: asUser(url, user) };
    for (const args of [
      ["jobs"],
      ["queue", "add", "q", "--data", "1"],
      ["worker", "--queue", "q", "--", "true"],
      ["receipts", "deliver"],
      ["watch"],
      ["map", "--", "true"],
    ]) {
      const { code, stderr } = await shop.run(args, { env, stdin: "x\n" });
      expect([args, code, stderr]).toEqual([args, 75, expect.stringContaining(what)]);
      expect(stderr).not.toMatch(/\n +at /);
    }
  });

  it("because no user is named is reported at once, with the name that was tried", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const { url } = newPostgresStore();
    const env = { REDRIVE_STORE: asUser(url, "") };
    const { code, stderr } = await shop.run(["worker", "--queue", "q", "--", "true"], { env });
    expect([code, stderr]).toEqual([
      75,
      expect.stringMatching(/rejects the user \(role "\w+" does not exist\)/),
    ]);
  });
});
