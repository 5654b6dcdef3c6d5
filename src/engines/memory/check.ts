/** Verifies the invariants: counts again what is kept incrementally, and looks at every item, letter and operation. */
import type { Problem } from "../../engine.ts";
import { groupKey } from "./groups.ts";
import { isBefore } from "./line.ts";
import { noItems, type OperationRow, type Queue, type Row, type Store } from "./store.ts";

/** An empty list is a clean bill. */
export function check(store: Store): readonly Problem[] {
  return [
    ...[...store.queues.values()].flatMap(checkQueue),
    ...store.rows.flatMap((row) => [
      ...checkLease(store, row),
      ...checkAttempts(row),
      ...checkLetter(store, row),
    ]),
    ...checkGroups(store),
    ...[...store.operations.values()].flatMap((operation) => checkOperation(store, operation)),
  ];
}

/** Gives one problem when the rule does not hold. */
function expect(holds: boolean, rule: string, detail: string): readonly Problem[] {
  return holds ? [] : [{ rule, detail }];
}

/** Invariant 1: an item is in one state and one place, and the counters say the same. */
function checkQueue(queue: Queue): readonly Problem[] {
  const rows = [...queue.byId.values()];
  const counts = noItems();
  for (const row of rows) counts[row.state] += 1;
  const letters = rows.filter((row) => row.burial).length;
  const attempts = rows.reduce((sum, row) => sum + row.attempts.length, 0);
  const ready = rows.filter((row) => row.state === "ready").sort((a, b) => (isBefore(a, b) ? -1 : 1));
  const says = (what: string) => `queue "${queue.name}": ${what}`;
  return [
    ...expect(sameJson(queue.counts, counts), "one-state", says("its counters are not those of its items")),
    ...expect(
      queue.letters === letters,
      "one-state",
      says(`counts ${queue.letters} letters, has ${letters}`),
    ),
    ...expect(
      queue.attempts === attempts,
      "one-record",
      says(`counts ${queue.attempts}, has ${attempts} attempts`),
    ),
    ...expect(sameRows(queue.line, ready), "one-state", says("its line is not that of its ready items")),
  ];
}

/** Invariant 3: a lease has one holder, which the store knows. */
function checkLease(store: Store, row: Row): readonly Problem[] {
  const holders = [...store.holders.values()].filter(({ leases }) => leases.has(row));
  const claim = row.attempts.at(-1)?.holder;
  if (row.state !== "leased")
    return expect(holders.length === 0, "one-holder", says(row, "is held but not leased"));
  return expect(
    holders.length === 1 && holders[0]?.id === claim,
    "one-holder",
    says(row, `is leased to ${claim}, held by ${holders.map(({ id }) => id).join(", ") || "nobody"}`),
  );
}

/** Invariant 4: every started attempt has one record, and it is open only while the item is leased. */
function checkAttempts(row: Row): readonly Problem[] {
  const inOrder = row.attempts.every(({ number }, place) => number === place + 1);
  const running = row.attempts.filter(({ outcome }) => outcome === "running").map(({ number }) => number);
  const expected = row.state === "leased" ? [row.attempts.length] : [];
  return [
    ...expect(inOrder, "one-record", says(row, "has attempts whose numbers are not 1 to n")),
    ...expect(sameJson(running, expected), "one-record", says(row, `is ${row.state}, running: [${running}]`)),
  ];
}

/** Invariant 6: a letter keeps its gravestone and its failures. */
function checkLetter(store: Store, row: Row): readonly Problem[] {
  const { state, burial } = row;
  const mayBe = state === "dead" || state === "ready" || state === "leased" || state === "discarded";
  const isReturned = state === "dead" || row.redriveCount > 0;
  return [
    ...expect(state !== "dead" || burial !== undefined, "letter-kept", says(row, "is dead and has no grave")),
    ...expect(!burial || (mayBe && isReturned), "letter-kept", says(row, `is ${state} and has a grave`)),
    ...expect(
      !burial || row.attempts.some(({ failure }) => failure),
      "letter-kept",
      says(row, "is a letter without a failure"),
    ),
    ...expect(
      store.letters.has(row) === !!burial,
      "letter-kept",
      says(row, "is wrongly listed as a letter or not"),
    ),
  ];
}

/** Invariant 8: a group counts the letters that carry its signature. */
function checkGroups(store: Store): readonly Problem[] {
  const counts = new Map<string, number>();
  for (const { queue, burial } of store.letters) {
    const key = groupKey(queue.name, burial?.grave.signature ?? "");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...new Set([...store.groups.keys(), ...counts.keys()])].flatMap((key) => {
    const [says, has] = [store.groups.get(key)?.count ?? 0, counts.get(key) ?? 0];
    return expect(says === has, "same-groups", `group ${key} counts ${says} letters, has ${has}`);
  });
}

/** Invariant 7: a redrive accounts for all. */
function checkOperation(store: Store, operation: OperationRow): readonly Problem[] {
  const { asked, selection, redriven, refused, succeeded, failed, endedAt } = operation;
  const atWork = store.rows.filter((row) => row.operation === operation).length;
  const isOver = redriven + refused === selection.length && atWork === 0;
  const says = (what: string) => `operation ${asked.id}: ${what}`;
  return [
    ...expect(
      redriven + refused <= selection.length,
      "redrive-accounts",
      says("counts more than it selected"),
    ),
    ...expect(
      redriven === succeeded + failed + atWork,
      "redrive-accounts",
      says(`redrove ${redriven}; ${succeeded} succeeded, ${failed} failed, ${atWork} are at work`),
    ),
    ...expect(endedAt === undefined || isOver, "redrive-accounts", says("has ended too early")),
  ];
}

function says(row: Row, what: string): string {
  return `item "${row.itemId}" of "${row.queue.name}" ${what}`;
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function sameRows(a: readonly Row[], b: readonly Row[]): boolean {
  return a.length === b.length && a.every((row, place) => row === b[place]);
}
