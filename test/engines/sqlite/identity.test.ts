/** A store whose files are removed, replaced, truncated or changed by a newer Redrive while a process uses it. */
import { execFileSync } from "node:child_process";
import { copyFileSync, renameSync, rmSync, truncateSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const FILES = ["", "-wal", "-shm"] as const;

/** Opens and closes the store as another process does: the first of all would make the shared memory anew. */
const COUNT_ITEMS = `
  const { DatabaseSync } = require("@photostructure/sqlite");
  const db = new DatabaseSync(process.argv[1]);
  process.stdout.write(String(db.prepare("SELECT count(*) AS n FROM items").get().n));
  db.close();`;

async function openStore() {
  const path = directory.file("store.db");
  const engine = await openSqliteEngine({ path });
  onTestFinished(() => engine.close());
  await engine.createJob({ id: QUEUE, name: "a queue", kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  await engine.add(QUEUE, ["a", "b"].map(newItem));
  const { leased } = await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 1 } });
  const settle = leased.map(({ ref, attempt }) => ({
    lease: { ref, attempt },
    outcome: "succeeded" as const,
    verdict: { kind: "done" as const },
  }));
  /** All that a worker asks of its store. */
  const asks = [
    () => engine.settleAndLease("holder-1", { settle }),
    () => engine.heartbeat("holder-1"),
    () => engine.add(QUEUE, [newItem("c")]),
    () => engine.requireUsable(),
  ];
  return { path, engine, asks };
}

describe("invariant 12", () => {
  it("invariant 12: a store whose file was removed acknowledges nothing, and continues when it is put back", async () => {
    const { path, engine, asks } = await openStore();
    for (const file of FILES) renameSync(path + file, `${path}.away${file}`);
    for (const ask of asks) await expect(ask()).rejects.toMatchObject({ code: "store_unavailable" });
    for (const file of FILES) renameSync(`${path}.away${file}`, path + file);
    for (const ask of asks) await ask();
    expect(await engine.count(QUEUE)).toMatchObject({ done: 1, ready: 2 });
  });

  it("a store whose file was replaced by a copy acknowledges nothing", async () => {
    const { path, asks } = await openStore();
    copyFileSync(path, `${path}.copy`);
    rmSync(path);
    renameSync(`${path}.copy`, path);
    for (const ask of asks) await expect(ask()).rejects.toMatchObject({ code: "store_unavailable" });
  });

  it("a journal that was truncated under a running worker is found by its heartbeat", async () => {
    const { path, engine } = await openStore();
    await engine.heartbeat("holder-1");
    truncateSync(`${path}-wal`, 100);
    await expect(engine.heartbeat("holder-1")).rejects.toMatchObject({ code: "store_corrupt" });
    await expect(engine.requireUsable()).rejects.toMatchObject({ code: "store_corrupt" });
  });

  it("the comparison does not affect SQLite's locks: processes come and go without harm", async () => {
    const { path, engine } = await openStore();
    for (let times = 0; times < 3; times += 1) {
      await engine.heartbeat("holder-1");
      await engine.requireUsable();
      expect(execFileSync(process.execPath, ["-e", COUNT_ITEMS, path], { encoding: "utf8" })).toBe("2");
      await engine.add(QUEUE, [newItem("a")]);
    }
    expect(await engine.check()).toEqual([]);
  });

  it("a process writes nothing into a store that a newer Redrive has migrated", async () => {
    const { path, engine, asks } = await openStore();
    const other = new DatabaseSync(path);
    other.exec("PRAGMA user_version = 1000");
    other.close();
    for (const ask of asks)
      await expect(ask()).rejects.toMatchObject({ code: "store_newer", message: /version \d+ to 1000/ });
    expect(await engine.count(QUEUE)).toMatchObject({ leased: 1, ready: 1, total: 2 });
  });
});
