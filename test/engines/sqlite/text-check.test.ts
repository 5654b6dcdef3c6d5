/** That `check` finds an index of texts, or ranges of all groups, that say something else than the letters. */
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect, it } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const TEXTS = "texts are found where they are";

/** "a" was read, "b" came later. */
it.each([
  ["a template that counts too many", "UPDATE message_templates SET count = 7", TEXTS],
  ["a letter that was passed over", "UPDATE indexed_to SET no = 2", TEXTS],
  ["a letter that is read and to be read", "INSERT INTO unindexed_letters VALUES (1)", TEXTS],
  ["a letter to be read that is not there", "INSERT INTO unindexed_letters VALUES (0)", TEXTS],
  ["a template of another group", "UPDATE message_templates SET grp = grp + 1", TEXTS],
  ["parameters that nobody said", "UPDATE indexed_messages SET parameters = ''", TEXTS],
  ["a template that nobody said", "UPDATE message_templates SET text = 'something else'", TEXTS],
  [
    "a range that counts too many",
    "UPDATE letters_by_age_of_all SET count = 9",
    "groups count their letters",
  ],
  ["a range that is gone", "DELETE FROM letters_by_age_of_all", "groups count their letters"],
])("finds %s", async (what, damage, rule) => {
  const path = join(directory.path, `${what}.db`);
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  for (const id of ["a", "b"]) {
    await engine.catchUp({ forMs: 10_000 });
    await engine.add(QUEUE, [newItem(id)]);
    const { leased } = await engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
    });
    await engine.settleAndLease(null, { settle: leased.map((lease) => buried(lease)) });
  }
  expect(await engine.check()).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec(damage);
  db.close();
  expect((await engine.check()).map((problem) => problem.rule)).toContain(rule);
  await engine.close();
});

it("reads an index that another process has changed", async () => {
  const path = join(directory.path, "changed.db");
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  const other = await openSqliteEngine({ path });
  for (let round = 1; round <= 3; round += 1) {
    await engine.add(QUEUE, [newItem(`i${round}`)]);
    const { leased } = await engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
    });
    await engine.settleAndLease(null, { settle: leased.map((lease) => buried(lease)) });
    await other.catchUp({ forMs: 10_000 });
    expect(await engine.check()).toEqual([]);
    const db = new DatabaseSync(path);
    for (const table of ["template_texts", "parameter_texts"])
      db.exec(`INSERT INTO ${table} (${table}) VALUES ('optimize')`);
    db.close();
    expect(await engine.check()).toEqual([]);
  }
  await other.close();
  await engine.close();
});

it("a store that is emptied for a copy forgets what it has read", async () => {
  const engine = await openSqliteEngine({ path: join(directory.path, "emptied.db") });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  await engine.add(QUEUE, [newItem("a"), newItem("b")]);
  const { leased } = await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 2 } });
  await engine.settleAndLease(null, { settle: leased.map((lease) => buried(lease)) });
  await engine.catchUp({ forMs: 10_000 });
  expect((await engine.listLetters({ text: "exit code 101", limit: 9 })).total).toBe(2);
  await engine.deleteRows();
  expect(await engine.check()).toEqual([]);
  expect((await engine.listLetters({ text: "exit code 101", limit: 9 })).total).toBe(0);
  await engine.close();
});
