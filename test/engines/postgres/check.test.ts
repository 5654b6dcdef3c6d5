/** That `check` finds what is wrong in a PostgreSQL store, rule by rule: what no constraint of a table forbids. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Engine, Problem } from "../../../src/engine.ts";
import { checkStore } from "../../../src/engines/postgres/check.ts";
import { Session } from "../../../src/engines/postgres/session.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { postgresStores, postgresUrl } from "../../support/postgres-stores.ts";
import { buried, succeeded } from "../../support/settlements.ts";

const stores = postgresStores();
let engine: Engine;

/**
 * "a" is a letter that was sent anew as "a~2"; "d" was redriven and is ready, "e" is dead, "f" discarded, "g" done;
 * "x" is leased, and "b" and "c" share an ordering key.
 */
beforeAll(async () => {
  engine = await stores.open();
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1", { ttlMs: 600_000 }));
  await engine.add(QUEUE, ["a", "d", "e", "f", "g"].map(newItem));
  const lease = { queue: QUEUE, max: 5 };
  const { leased } = await engine.settleAndLease("holder-1", { settle: [], lease });
  const settle = leased.map((one) => (one.itemId === "g" ? succeeded(one) : buried(one)));
  await engine.settleAndLease(null, { settle, gate: { queue: QUEUE, seen: 0, next: {} } });
  for (const [kind, itemId] of [
    ["requeue", "a"],
    ["redrive", "d"],
    ["discard", "f"],
  ] as const) {
    const asked = { id: kind, kind, queue: QUEUE, filter: { itemIds: [itemId] }, force: true };
    await engine.beginOperation({ ...asked, author: "ada", plan: {} });
    await engine.advance(kind, { max: 1 });
  }
  await engine.add(QUEUE, [{ ...newItem("x"), priority: "high" }]);
  await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 1 } });
  await engine.add(
    QUEUE,
    ["b", "c"].map((id) => ({ ...newItem(id), orderingKey: "one" })),
  );
  expect(await engine.check()).toEqual([]);
});

afterAll(async () => {
  await engine.close();
  await stores.remove();
});

const ITEM = (id: string) => `(SELECT ref FROM items WHERE item_id = '${id}')`;

it.each([
  ["an item of no queue", "UPDATE items SET queue = 99 WHERE item_id = 'g'", "integrity"],
  ["attempts of no item", `UPDATE attempts SET ref = 99 WHERE ref = ${ITEM("g")}`, "integrity"],
  ["a count of items that is wrong", "UPDATE queue_counts SET done = done + 1", "one state, counted once"],
  ["an item without data", `DELETE FROM payloads WHERE ref = ${ITEM("g")}`, "one state, counted once"],
  [
    "an attempt without a record",
    `DELETE FROM attempts WHERE ref = ${ITEM("g")}`,
    "every attempt leaves one record",
  ],
  [
    "a count of attempts that is wrong",
    "UPDATE queue_counts SET attempts = 0",
    "every attempt leaves one record",
  ],
  [
    "a lease of which nobody knows since when",
    "UPDATE items SET started_at = NULL WHERE state = 'leased'",
    "a lease has one holder",
  ],
  ["a lease that its holder was not given", "UPDATE leases SET refs = '{}'", "a lease has one holder"],
  ["a lease whose holder has left", "UPDATE holders SET gone = 1", "a lease has one holder"],
  [
    "a revision without an amendment",
    "UPDATE items SET revision = 2 WHERE item_id = 'g'",
    "data is amended, never overwritten",
  ],
  [
    "a dead item that is no letter",
    `DELETE FROM letters WHERE ref = ${ITEM("e")}`,
    "a letter keeps everything",
  ],
  [
    "a discarded item without its letter",
    `DELETE FROM resolved_letters WHERE ref = ${ITEM("f")}`,
    "a letter keeps everything",
  ],
  [
    "a letter without a failure",
    `UPDATE attempts SET outcome = 'released', failure = NULL WHERE ref = ${ITEM("e")}`,
    "a letter keeps everything",
  ],
  [
    "a letter that is on no way",
    "UPDATE items SET operation = NULL WHERE item_id = 'd'",
    "a letter leaves on success only",
  ],
  [
    "a closed letter of a dead item",
    "UPDATE items SET state = 'dead' WHERE item_id = 'f'",
    "a letter leaves on success only",
  ],
  [
    "a letter with a number that was never given",
    "UPDATE letter_numbers SET last = 1",
    "an operation selects no letter buried later",
  ],
  ["a group that counts too many", "UPDATE groups SET count = count + 1", "groups count their letters"],
  [
    "a group that counts too few on their way",
    "UPDATE groups SET in_retry = 0",
    "groups count their letters",
  ],
  [
    "a group that counts too many closed",
    "UPDATE groups SET discarded = discarded + 1",
    "groups count their letters",
  ],
  [
    "a minute that counts too many",
    "UPDATE arrivals SET waiting = waiting - 1",
    "groups count their letters",
  ],
  ["a group that lost its record", "DELETE FROM group_records", "a group has its record"],
  [
    "a group that says another pattern than its record",
    "UPDATE groups SET pattern = 'another'",
    "a group has its record",
  ],
  [
    "an operation whose books are wrong",
    "UPDATE operations SET done = 0, refused = 1 WHERE id = 'discard'",
    "an operation accounts for every letter",
  ],
  [
    "a redrive that has lost a letter",
    "UPDATE operations SET succeeded = 1 WHERE id = 'redrive'",
    "an operation accounts for every letter",
  ],
  [
    "a letter that was passed over",
    "UPDATE selections SET status = 'pending'",
    "an operation accounts for every letter",
  ],
  [
    "an operation that has selected what came later",
    "UPDATE operations SET bound = 0",
    "an operation selects no letter buried later",
  ],
  ["a ready item that is not in line", "DELETE FROM ready_items", "every ready item can be leased"],
  ["an item at a wrong place in line", "UPDATE ready_items SET due_at = 0", "every ready item can be leased"],
  [
    "an item in line that is not ready",
    "UPDATE items SET state = 'held' WHERE item_id = 'a~2'",
    "every ready item can be leased",
  ],
  [
    "an item in line before others of its ordering key",
    "INSERT INTO ready_items SELECT queue, priority, due_at, ref FROM items WHERE item_id = 'c'",
    "items with one ordering key run one at a time",
  ],
  [
    "two of an ordering key at work",
    "UPDATE items SET state = 'leased', holder = 1, ordering_key = 'one' WHERE item_id IN ('x', 'g')",
    "items with one ordering key run one at a time",
  ],
  [
    "an ordering key that forgot an item",
    `DELETE FROM ordered_items WHERE ref = ${ITEM("b")}`,
    "items with one ordering key run one at a time",
  ],
  [
    "a counter that says too much",
    "UPDATE counters SET value = 9 WHERE name = 'attempts.failed'",
    "counters count what happened",
  ],
  ["a counter that is gone", "DELETE FROM counters WHERE name LIKE 'dead.%'", "counters count what happened"],
  [
    "a gate of no queue",
    "INSERT INTO documents VALUES ('gate/nobody', 1, '{}')",
    "a gate belongs to a queue",
  ],
  ["a gate that is no object", "UPDATE documents SET body = '1'", "a gate belongs to a queue"],
  [
    "an item that was made from itself",
    "UPDATE items SET origin = ref WHERE item_id = 'a~2'",
    "items name what they were made from",
  ],
])("finds %s", async (_what, damage, rule) => {
  expect(await rulesBrokenBy(damage)).toContain(rule);
});

/** What `check` says after a change, which is taken back with its transaction. */
async function rulesBrokenBy(damage: string): Promise<readonly string[]> {
  const session = new Session({ url: postgresUrl(stores.schemaOf(engine)) });
  let problems: readonly Problem[] = [];
  const over = new Error("taken back");
  const steps = session.write(async (tx) => {
    await tx.script(damage);
    problems = await checkStore(tx);
    throw over;
  });
  await expect(steps).rejects.toBe(over);
  await session.close();
  return problems.map(({ rule }) => rule);
}
