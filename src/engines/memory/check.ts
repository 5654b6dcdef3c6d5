/** Verifies the invariants: counts again what is kept incrementally, and looks at every item, letter and operation. */
import type { Problem } from "../../engine.ts";
import type { ItemState } from "../../item/state.ts";
import { arrivalKey } from "./arrivals.ts";
import { checkQueues } from "./check-queue.ts";
import { groupKey } from "./groups.ts";
import { isBefore } from "./line.ts";
import { type Burial, noItems, type OperationRow, type Queue, type Row, type Store } from "./store.ts";

/** An empty list is a clean bill. */
export function check(store: Store): readonly Problem[] {
  return [
    ...[...store.queues.values()].flatMap(checkQueue),
    ...store.rows.flatMap((row) => [
      ...checkLease(store, row),
      ...checkAttempts(row),
      ...checkLetter(store, row),
      ...checkRevisions(row),
    ]),
    ...checkQueues(store),
    ...checkGroups(store),
    ...checkMarks(store),
    ...checkArrivals(store),
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
  const letters = rows.filter((row) => row.burial && !row.resolution).length;
  const resolved = rows.filter((row) => row.burial && row.state === "done").length;
  const attempts = rows.reduce((sum, row) => sum + row.started, 0);
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
      queue.resolved === resolved,
      "one-state",
      says(`counts ${queue.resolved} resolved letters, has ${resolved}`),
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
  const expected = row.state === "leased" ? [row.started] : [];
  const isWhole = row.attempts.length === (row.purged ? 0 : row.started);
  return [
    ...expect(
      isWhole,
      "one-record",
      says(row, `started ${row.started}, has ${row.attempts.length} attempts`),
    ),
    ...expect(inOrder, "one-record", says(row, "has attempts whose numbers are not 1 to n")),
    ...expect(sameJson(running, expected), "one-record", says(row, `is ${row.state}, running: [${running}]`)),
  ];
}

/** Invariant 6: a letter keeps its gravestone and its failures, until it is deleted and leaves a bare row. */
function checkLetter(store: Store, row: Row): readonly Problem[] {
  const { state, burial, resolution, purged } = row;
  const isAtWork = AT_WORK.has(state) && burial !== undefined;
  const problem = (holds: boolean, what: string) => expect(holds, "letter-kept", says(row, what));
  return [
    ...problem(LETTER_STATES[letterKind(row)].includes(state), `is ${state} and ${letterKind(row)}`),
    ...problem(!isAtWork || row.redriveCount > 0, "is on its way and was never redriven"),
    ...problem(
      isAtWork === (row.operation !== undefined),
      "is on its way without an operation, or the reverse",
    ),
    ...problem(
      !resolution || (resolution.kind === "discard") === (state === "discarded"),
      "is wrongly closed",
    ),
    ...problem(
      !burial || row.attempts.some(({ outcome }) => outcome === "failed" || outcome === "lost"),
      "is a letter without a failure",
    ),
    ...problem(!purged || (row.data === null && row.attempts.length === 0), "is purged and not bare"),
    ...problem(!burial || store.letters.get(burial.number) === row, "is a letter that is not listed"),
  ];
}

const AT_WORK: ReadonlySet<ItemState> = new Set(["ready", "leased", "held"]);

/** The states in which an item may be, by what it has of a letter. */
const LETTER_STATES: Readonly<Record<ReturnType<typeof letterKind>, readonly ItemState[]>> = {
  "no letter": ["ready", "leased", "held", "done", "skipped"],
  "a letter": ["dead", "ready", "leased", "held"],
  "a closed letter": ["discarded", "done"],
  purged: ["discarded"],
};

function letterKind({ burial, resolution, purged }: Row) {
  if (purged) return "purged";
  if (!burial) return "no letter";
  return resolution ? "a closed letter" : "a letter";
}

/** Data is never rewritten without a trace: every revision after the first has its amendment. */
function checkRevisions(row: Row): readonly Problem[] {
  const revisions = row.amendments.map(({ revision }) => revision);
  const expected = revisions.map((_, place) => place + 2);
  const fits = sameJson(revisions, expected) && row.revision === revisions.length + 1;
  return expect(
    row.purged || fits,
    "letter-kept",
    says(row, `has revision ${row.revision}, amendments [${revisions}]`),
  );
}

/** Invariant 8: a group counts the waiting letters that carry its signature. */
function checkGroups(store: Store): readonly Problem[] {
  const has = tally(waitingLetters(store), ({ queue, burial }) => groupKey(queue, burial.grave.signature));
  return [...new Set([...store.groups.keys(), ...has.keys()])].flatMap((key) => {
    const [counts, found] = [store.groups.get(key)?.count ?? 0, has.get(key) ?? 0];
    return expect(counts === found, "same-groups", `group ${key} counts ${counts} letters, has ${found}`);
  });
}

/** Every signature that ever had a letter has its mark, and the letters say what the mark says. */
function checkMarks(store: Store): readonly Problem[] {
  const problem = (holds: boolean, signature: string, what: string) =>
    expect(holds, "group-marked", `signature ${signature} ${what}`);
  const graves = [...store.letters.values()].flatMap(({ burial }) => burial?.grave ?? []);
  return [
    ...[...store.groups.values(), ...graves].flatMap(({ signature, pattern }) =>
      problem(store.marks.get(signature)?.pattern === pattern, signature, `has no mark that says ${pattern}`),
    ),
    ...[...store.marks.values()].flatMap(({ signature, life }) => [
      ...problem(
        !life.isRegression || (life.state === "open" && life.regressions > 0),
        signature,
        `is ${life.state} and came back ${life.regressions} times, and is a regression`,
      ),
      ...problem(
        life.state === "ignored" || (!life.ignoreUntil && life.newLetters + life.recent.length === 0),
        signature,
        `is ${life.state} and counts as if it were ignored`,
      ),
    ]),
  ];
}

/** Every burial was counted once, in its minute, and those that wait are those that are there. */
function checkArrivals(store: Store): readonly Problem[] {
  const has = tally(waitingLetters(store), ({ queue, burial }) => arrivalKey(queue, burial));
  const ever = [...store.arrivals.values()].reduce((sum, row) => sum + row.ever, 0);
  return [
    ...expect(
      ever === store.burials,
      "letter-kept",
      `${ever} burials are counted, and there were ${store.burials}`,
    ),
    ...[...new Set([...store.arrivals.keys(), ...has.keys()])].flatMap((key) => {
      const [counts, found] = [store.arrivals.get(key)?.waiting ?? 0, has.get(key) ?? 0];
      return expect(counts === found, "same-groups", `arrivals ${key} count ${counts} letters, has ${found}`);
    }),
  ];
}

/** Invariant 7: an operation accounts for all. */
function checkOperation(store: Store, operation: OperationRow): readonly Problem[] {
  const { asked, selection, succeeded, failed, returned, endedAt } = operation;
  const atWork = store.rows.filter((row) => row.operation === operation).length;
  const status = tally([...selection.values()], (selected) => selected.status);
  const [done, refused, pending] = ["done", "refused", "pending"].map((one) => status.get(one) ?? 0);
  const isDoneAs = asked.kind === "redrive" ? succeeded + failed + atWork : (done ?? 0);
  const books = `done ${operation.done}, refused ${operation.refused}`;
  const problem = (holds: boolean, what: string) =>
    expect(holds, "redrive-accounts", `operation ${asked.id}: ${what}`);
  return [
    ...problem(
      operation.done === done && operation.refused === refused,
      `${books}, selection: ${done}, ${refused}`,
    ),
    ...problem(
      operation.done === isDoneAs,
      `${books}; ${succeeded} succeeded, ${failed} failed, ${atWork} are at work`,
    ),
    ...problem(returned <= failed, `${failed} failed, and ${returned} of them as before`),
    ...problem(
      [...selection.keys()].every((burial) => burial <= operation.bound),
      "selected a later burial",
    ),
    ...problem(endedAt === undefined || (pending === 0 && atWork === 0), "has ended too early"),
  ];
}

function waitingLetters(store: Store): readonly { readonly queue: string; readonly burial: Burial }[] {
  return [...store.letters.values()].flatMap(({ queue, burial, resolution }) =>
    burial && !resolution ? [{ queue: queue.name, burial }] : [],
  );
}

function tally<T>(things: readonly T[], keyOf: (thing: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const thing of things) counts.set(keyOf(thing), (counts.get(keyOf(thing)) ?? 0) + 1);
  return counts;
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
