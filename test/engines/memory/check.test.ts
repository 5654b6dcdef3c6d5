import { describe, expect, it } from "vitest";
import { advance } from "../../../src/engines/memory/advance.ts";
import { check } from "../../../src/engines/memory/check.ts";
import { exchange } from "../../../src/engines/memory/exchange.ts";
import { add } from "../../../src/engines/memory/intake.ts";
import { createJob } from "../../../src/engines/memory/jobs.ts";
import { enter } from "../../../src/engines/memory/lease.ts";
import { beginOperation } from "../../../src/engines/memory/operations.ts";
import { newStore, type Row, type Store } from "../../../src/engines/memory/store.ts";
import type { GroupLife } from "../../../src/item/group-life.ts";
import type { OperationKind } from "../../../src/item/operation.ts";
import { assert } from "../../../src/kit/assert.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried, succeeded } from "../../support/settlements.ts";
import { TestClock } from "../../support/test-clock.ts";

/**
 * One of each: "a" is a dead letter, "b" a redriven one, "c" is leased, "d" is ready, "e" a discarded letter, "f" a
 * resolved one and "g" a purged item; "a" was edited.
 */
function busyStore(): Store {
  const store = newStore("memory:", new TestClock());
  createJob(store, { id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  enter(store, newHolder("holder-1"));
  add(store, QUEUE, ["a", "b", "e", "f", "g", "c", "d"].map(newItem));
  const lease = (max: number) =>
    exchange(store, "holder-1", { settle: [], lease: { queue: QUEUE, max } }).leased;
  exchange(store, null, { settle: lease(5).map((one) => buried(one)) });
  lease(1);
  operate(store, "redrive", "f");
  exchange(store, null, { settle: leaseOf(store, "redrive-f").map((one) => succeeded(one)) });
  operate(store, "discard", "e");
  operate(store, "purge", "g");
  operate(store, "edit", "a");
  operate(store, "redrive", "b");
  return store;
}

/** Works on one letter, by an operation that is named after both. */
function operate(store: Store, kind: OperationKind, itemId: string): void {
  const id = `${kind}-${itemId}`;
  const asked = { id, kind, queue: QUEUE, filter: { itemIds: [itemId] }, force: false };
  beginOperation(store, { ...asked, author: "ada", plan: {} });
  const burial = rowOf(store, itemId).burial?.number ?? 0;
  advance(store, id, { letters: [{ burial, ...(kind === "edit" && { data: 1 }) }] });
}

function leaseOf(store: Store, operationId: string) {
  return exchange(store, "holder-1", { settle: [], lease: { queue: QUEUE, max: 1, operationId } }).leased;
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
  ["a letter that is not listed", "letter-kept", (store) => store.letters.delete(1)],
  ["a live item with a grave", "letter-kept", (store) => moveGrave(store, "a", "d")],
  [
    "a discarded letter that nobody closed",
    "letter-kept",
    (store) => Object.assign(rowOf(store, "e"), { resolution: undefined }),
  ],
  [
    "a resolved letter that is closed as a discarded one",
    "letter-kept",
    (store) => Object.assign(rowOf(store, "f"), { resolution: rowOf(store, "e").resolution }),
  ],
  [
    "a purged item that still has its data",
    "letter-kept",
    (store) => Object.assign(rowOf(store, "g"), { data: 1 }),
  ],
  ["a revision without an amendment", "letter-kept", (store) => rowOf(store, "a").amendments.pop()],
  [
    "a wrong count of resolved letters",
    "one-state",
    (store) => Object.assign(rowOf(store, "a").queue, { resolved: 0 }),
  ],
  [
    "arrivals that count too many of those that wait",
    "same-groups",
    (store) => [...store.arrivals.values()].map((each) => each.waiting++),
  ],
  [
    "a burial that was never counted",
    "letter-kept",
    (store) => [...store.arrivals.values()].map((each) => each.ever--),
  ],
  [
    "a group that counts too many",
    "same-groups",
    (store) => [...store.groups.values()].map((each) => each.count++),
  ],
  ["a group without a mark", "group-marked", (store) => store.marks.clear()],
  [
    "a letter that says another pattern than its mark",
    "group-marked",
    (store) => [...store.marks].map(([key, mark]) => store.marks.set(key, { ...mark, pattern: "another" })),
  ],
  [
    "a regression that is not open",
    "group-marked",
    (store) => changeLives(store, { state: "resolved", regressions: 1, isRegression: true }),
  ],
  [
    "a regression that never came back",
    "group-marked",
    (store) => changeLives(store, { state: "open", isRegression: true }),
  ],
  [
    "an open group that has an end",
    "group-marked",
    (store) => changeLives(store, { state: "open", newLetters: 1 }),
  ],
  [
    "an operation that counts too many",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { refused: 5 }),
  ],
  [
    "an operation that did what its selection does not say",
    "redrive-accounts",
    (store) =>
      [...operationOf(store).selection.values()].map((each) => Object.assign(each, { status: "pending" })),
  ],
  [
    "an operation that selected a letter that was buried later",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { bound: 0 }),
  ],
  [
    "an operation that counts more returns than failures",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { returned: 1 }),
  ],
  [
    "an operation that lost an item",
    "redrive-accounts",
    (store) => Object.assign(rowOf(store, "b"), { operation: undefined }),
  ],
  [
    "a lane that does not know its items",
    "one-lane",
    (store) => Object.assign(rowOf(store, "d"), { lane: "one" }),
  ],
  [
    "two of a lane at work",
    "one-lane",
    (store) => putIntoLane(["b", "c", "d"].map((id) => rowOf(store, id))),
  ],
  ["a counter that says too much", "counters", (store) => rowOf(store, "a").queue.counters.set("retries", 3)],
  [
    "a counter that lost a death",
    "counters",
    (store) => rowOf(store, "a").queue.counters.delete("dead.CommandFailed"),
  ],
  [
    "an item that does not know what was made from it",
    "made-from",
    (store) => Object.assign(rowOf(store, "d"), { origin: rowOf(store, "a") }),
  ],
  ["a gate of no queue", "gate", (store) => store.documents.set("gate/nobody", { version: 1, body: {} })],
  [
    "an operation that ended too early",
    "redrive-accounts",
    (store) => Object.assign(operationOf(store), { endedAt: 1 }),
  ],
];

function moveGrave(store: Store, from: string, to: string): void {
  rowOf(store, to).burial = rowOf(store, from).burial;
}

/** As if they were leased together. */
function putIntoLane(rows: readonly Row[]): void {
  for (const row of rows) Object.assign(row, { lane: "one", state: "leased" });
  rows[0]?.queue.lanes.set("one", [...rows]);
}

function changeLives(store: Store, change: Partial<GroupLife>): void {
  for (const mark of store.marks.values()) mark.life = { ...mark.life, ...change };
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
  const operation = store.operations.get("redrive-b");
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
