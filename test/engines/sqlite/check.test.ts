/** That `check` finds what a damaged file says of groups. The same rules of the oracle are tested beside it. */
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect, it } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

it.each([
  ["lost its mark", "DELETE FROM marks"],
  ["says another pattern than its mark", "UPDATE groups SET pattern = 'another'"],
])("finds a group that %s", async (what, damage) => {
  const path = join(directory.path, `${what}.db`);
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.enter(newHolder("holder-1"));
  await engine.add(QUEUE, [newItem("a")]);
  const { leased } = await engine.exchange("holder-1", { settle: [], lease: { queue: QUEUE, max: 1 } });
  await engine.exchange(null, { settle: leased.map((lease) => buried(lease)) });
  expect(await engine.check()).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec(damage);
  db.close();
  expect((await engine.check()).map(({ rule }) => rule)).toEqual(["a group has its mark"]);
  await engine.close();
});
