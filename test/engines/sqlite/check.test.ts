/** That `check` finds what a damaged file says of groups and queues. The same rules of the oracle are tested beside it. */
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect, it } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const GROUP = "a group has its record";
const TEXTS = "texts can be read";
const ORDERING = "items with one ordering key run one at a time";
const LEASE = "a lease has one holder";
const EVENTS = "every event has its number";
const COUNTERS = "counters count what happened";
const ORIGIN = "items name what they were made from";

/** "a" is a letter that was sent anew as "a~2"; "b" and "c" share an ordering key. */
it.each([
  ["a group that lost its record", "DELETE FROM group_records", GROUP],
  ["a group that says another pattern than its record", "UPDATE groups SET pattern = 'another'", GROUP],
  ["an item that stands in line before others of its ordering key", "UPDATE items SET waits = 0", ORDERING],
  ["an item that waits for nobody", "UPDATE items SET waits = 1 WHERE item_id = 'b'", ORDERING],
  [
    "two of an ordering key at work",
    "UPDATE items SET ordering_key = 'one' WHERE state = 'leased'",
    ORDERING,
  ],
  ["a lease that began nobody knows when", "UPDATE items SET started_at = NULL", LEASE],
  [
    "a record without an end",
    "UPDATE attempts SET outcome = 'running', ended_at = NULL, failure = NULL WHERE number = 1",
    LEASE,
  ],
  ["a failure that is not JSON", "UPDATE attempts SET failure = '{' WHERE failure IS NOT NULL", TEXTS],
  ["a failure that is no object", "UPDATE attempts SET failure = '[]' WHERE failure IS NOT NULL", TEXTS],
  ["data that is not JSON", "UPDATE payloads SET data = '{' WHERE ref = 1", TEXTS],
  ["an event whose data is not JSON", "UPDATE events SET data = 'x' WHERE data IS NOT NULL", TEXTS],
  ["a record that is gone", "DELETE FROM attempts", "every attempt leaves one record"],
  [
    "an event that is told twice",
    "UPDATE events SET span = 2, refs = '[1,2]' WHERE type = 'attempt_failed'",
    COUNTERS,
  ],
  ["events that lack an item", "UPDATE events SET refs = '[1]' WHERE span = 2", EVENTS],
  ["events with numbers of others", "UPDATE events SET span = 3, refs = '[1,2,3]' WHERE span = 2", EVENTS],
  ["a counter that says too much", "UPDATE counters SET value = 9 WHERE name = 'attempts.failed'", COUNTERS],
  ["a counter that is gone", "DELETE FROM counters WHERE name GLOB 'dead.*'", COUNTERS],
  [
    "a gate of no queue",
    "INSERT INTO documents VALUES ('gate/nobody', 1, '{}')",
    "a gate belongs to a queue",
  ],
  ["a gate that is no object", `UPDATE documents SET body = '1'`, "a gate belongs to a queue"],
  [
    "a number of attempts that counts too many letters",
    "UPDATE letters_by_attempts SET count = 7",
    "groups count their letters",
  ],
  ["an item that was made from itself", "UPDATE items SET origin = ref WHERE item_id = 'a~2'", ORIGIN],
])("finds %s", async (what, damage, rule) => {
  const path = join(directory.path, `${what}.db`);
  const engine = await openSqliteEngine({ path });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  await engine.add(QUEUE, [newItem("a")]);
  const { leased } = await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 1 } });
  const gate = { queue: QUEUE, seen: 0, next: {} };
  await engine.settleAndLease(null, { settle: leased.map((lease) => buried(lease)), gate });
  const requeue = { id: "op-1", kind: "requeue", queue: QUEUE, filter: {}, force: false } as const;
  await engine.beginOperation({ ...requeue, author: "ada", plan: {} });
  await engine.advance("op-1", { max: 1 });
  await engine.add(QUEUE, [newItem("x"), newItem("y")]);
  await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 3 } });
  await engine.add(
    QUEUE,
    ["b", "c"].map((id) => ({ ...newItem(id), orderingKey: "one" })),
  );
  expect(await engine.check()).toEqual([]);
  const db = new DatabaseSync(path);
  db.exec(damage);
  db.close();
  expect((await engine.check()).map((problem) => problem.rule)).toContain(rule);
  await engine.close();
});
