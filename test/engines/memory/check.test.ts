import { describe, expect, it } from "vitest";
import { check } from "../../../src/engines/memory/check.ts";
import { exchange } from "../../../src/engines/memory/exchange.ts";
import { add } from "../../../src/engines/memory/intake.ts";
import { createJob } from "../../../src/engines/memory/jobs.ts";
import { enter } from "../../../src/engines/memory/lease.ts";
import { beginOperation, redrive } from "../../../src/engines/memory/redrive.ts";
import { newStore, type Row, type Store } from "../../../src/engines/memory/store.ts";
import { assert } from "../../../src/kit/assert.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried } from "../../support/settlements.ts";
import { TestClock } from "../../support/test-clock.ts";

/** One of each: "a" is a dead letter, "b" a redriven one, "c" is leased, "d" is ready. */
function busyStore(): Store {
  const store = newStore("memory:", new TestClock());
  createJob(store, { id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  enter(store, newHolder("holder-1"));
  add(store, QUEUE, ["a", "b", "c", "d"].map(newItem));
  const { leased } = exchange(store, "holder-1", { settle: [], lease: { queue: QUEUE, max: 3 } });
  exchange(store, null, { settle: leased.slice(0, 2).map((lease) => buried(lease)) });
  beginOperation(store, {
    id: "op-1",
    kind: "redrive",
    queue: QUEUE,
    filter: { itemIds: ["b"] },
    force: false,
  });
  redrive(store, "op-1", 1);
  return store;
}

function rowOf(store: Store, itemId: string): Row {
  const row = store.rows.find((each) => each.itemId === itemId);
  assert(row, `there is no item ${itemId}`);
  return row;
}

/** One thing that is wrong for each rule, and the rule that must find it. */
const DAMAGE: readonly (readonly [what: string, rule: string, harm: (store: Store) => unknown])[] = [
  [
    "a state that the counters do not know",
    "one-state",
    (store) => Object.assign(rowOf(store, "a"), { state: "done" }),
  ],
  ["a ready item that does not stand in line", "one-state", (store) => rowOf(store, "d").queue.line.pop()],
  [
    "a wrong count of letters",
    "one-state",
    (store) => Object.assign(rowOf(store, "a").queue, { letters: 1 }),
  ],
  [
    "a wrong count of attempts",
    "one-record",
    (store) => Object.assign(rowOf(store, "a").queue, { attempts: 9 }),
  ],
  ["a leased item whose holder has gone", "one-holder", (store) => store.holders.clear()],
  ["a held item that is not leased", "one-holder", (store) => holderOf(store).leases.add(rowOf(store, "d"))],
  ["a started attempt without a record", "one-record", (store) => rowOf(store, "c").attempts.pop()],
  ["two running attempts", "one-record", (store) => repeatAttempt(rowOf(store, "c"), 2)],
  ["a gap in the numbers of attempts", "one-record", (store) => repeatAttempt(rowOf(store, "a"), 3)],
  [
    "a dead item without a grave",
    "letter-kept",
    (store) => Object.assign(rowOf(store, "a"), { burial: undefined }),
  ],
  ["a letter without a failure", "letter-kept", (store) => rowOf(store, "a").attempts.splice(0)],
  ["a letter that is not listed", "letter-kept", (store) => store.letters.delete(rowOf(store, "a"))],
  ["a live item with a grave", "letter-kept", (store) => moveGrave(store, "a", "d")],
  [
    "a group that counts too many",
    "same-groups",
    (store) => [...store.groups.values()].map((each) => each.count++),
  ],
  [
    "an operation that counts too many",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { refused: 5 }),
  ],
  [
    "an operation that lost an item",
    "redrive-accounts",
    (store) => Object.assign(rowOf(store, "b"), { operation: undefined }),
  ],
  [
    "an operation that ended too early",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { endedAt: 1 }),
  ],
];

function moveGrave(store: Store, from: string, to: string): void {
  rowOf(store, to).burial = rowOf(store, from).burial;
}

function holderOf(store: Store) {
  const holder = store.holders.get("holder-1");
  assert(holder, "the holder has entered");
  return holder;
}

function repeatAttempt(row: Row, number: number): void {
  const last = row.attempts.at(-1);
  assert(last, "the item has an attempt");
  row.attempts.push({ ...last, number });
}

function operationOf(store: Store) {
  const operation = store.operations.get("op-1");
  assert(operation, "the operation has begun");
  return operation;
}

describe("check", () => {
  it("finds nothing in a store that is busy and sound", () => {
    expect(check(busyStore())).toEqual([]);
  });

  it.each(DAMAGE)("finds %s", (_, rule, harm) => {
    const store = busyStore();
    harm(store);
    expect(check(store).map((problem) => problem.rule)).toContain(rule);
  });
});
