/** A store of an older version is brought to the newest when it is opened, and loses nothing on the way. */
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { succeeded } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { TestClock } from "../../support/test-clock.ts";
import { LAST_WRITE, writeVersion1 } from "./version-1.ts";
import { writeVersion2 } from "./version-2.ts";
import { writeVersion5 } from "./version-5.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const QUEUE = "job-1";
const ONE = { queue: QUEUE, limit: 1 };
const LEASE_ALL = { settle: [], lease: { queue: QUEUE, max: 9 } };

/** Runs the test on a store that version 1 wrote, or another one; its invariants hold before and after. */
function migrated(title: string, body: (engine: Engine) => Promise<void>, write = writeVersion1): void {
  it(title, async () => {
    const path = directory.file("store.db");
    write(path);
    const engine = await openSqliteEngine({ path, clock: new TestClock() });
    try {
      expect(await engine.check()).toEqual([]);
      await body(engine);
      expect(await engine.check()).toEqual([]);
    } finally {
      await engine.close();
    }
  });
}

migrated("a store of version 1 has the newest version once it was opened", async (engine) => {
  expect(await engine.info()).toMatchObject({ schemaVersion: 9, jobs: 1, items: 7, letters: 4, attempts: 9 });
  expect(await engine.findJob("my job")).toMatchObject({ id: QUEUE, spec: { command: ["true"] } });
});

migrated("items, attempts, events and counters of version 1 are kept", async (engine) => {
  expect(await engine.count(QUEUE)).toEqual({
    ...{ ready: 2, leased: 1, held: 0, done: 2, dead: 2, skipped: 0, discarded: 0, total: 7 },
    ...{ letters: 4, resolved: 0, purged: 0, evicted: 0, attempts: 9 },
  });
  const [twice] = await engine.findItems("twice", { queue: QUEUE, limit: 1 });
  expect(twice).toMatchObject({ ref: 3, data: { name: "twice" }, state: "dead", redriveCount: 1 });
  expect((await engine.listAttempts(3)).map(({ outcome }) => outcome)).toEqual(["failed", "failed"]);
  expect((await engine.listLeases("holder-1")).map(({ itemId }) => itemId)).toEqual(["leased"]);
  expect((await engine.listEvents({ after: 0, limit: 10 })).map(({ type }) => type)).toEqual([
    "item_queued",
    "dlq_item_added",
  ]);
});

migrated(
  "an attempt of version 1 that runs still does, and its record is whole when it has ended",
  async (engine) => {
    const [lease] = await engine.listLeases("holder-1");
    if (lease === undefined) throw new Error("an item is leased");
    const startedAt = Date.UTC(2026, 0, 1) + 2000;
    expect(lease).toMatchObject({ itemId: "leased", attempt: 2, startedAt });
    const running = { number: 2, outcome: "running", holder: "holder-1", startedAt };
    expect((await engine.listAttempts(5)).at(-1)).toEqual(running);
    await engine.settleAndLease(null, { settle: [succeeded(lease)] });
    const attempts = await engine.listAttempts(5);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed", "succeeded"]);
    expect(attempts[1]).toMatchObject({ holder: "holder-1", startedAt });
  },
);

it.each([
  ["a state that there is not", "UPDATE items SET state = 'lost'"],
  ["a success without an attempt", "UPDATE items SET state = 'done' WHERE item_id = 'fresh'"],
  ["an end of an attempt that there is not", "UPDATE attempts SET outcome = 'dead' WHERE ref = 1"],
])("a store that was brought to the newest version refuses %s", async (_what, change) => {
  const path = directory.file("store.db");
  writeVersion1(path);
  await (await openSqliteEngine({ path })).close();
  const db = new DatabaseSync(path);
  expect(() => db.exec(change)).toThrow(/CHECK constraint failed/);
  db.close();
});

migrated(
  "letters of version 1 are found with their numbers, groups and all that they had",
  async (engine) => {
    const { letters, total } = await engine.listLetters({ queue: QUEUE, limit: 10 });
    expect(letters.map(({ itemId, letterSequence, state }) => [itemId, letterSequence, state])).toEqual([
      ["twice", 6, "dead"],
      ["leased", 4, "leased"],
      ["ready", 3, "ready"],
      ["dead", 2, "dead"],
    ]);
    expect(total).toBe(4);
    expect(letters[3]).toMatchObject({
      errorSignature: "sig-a",
      failureHistory: [{ errorMessage: "it failed" }],
      worktreeArtifacts: { worktreePath: "/w", branchName: "b" },
      lateResults: [{ outcome: "succeeded", note: "late" }],
    });
    const dead = await engine.listLetters({ queue: QUEUE, states: ["dead"], limit: 10 });
    expect([dead.total, dead.letters.map(({ itemId }) => itemId)]).toEqual([2, ["twice", "dead"]]);
  },
);

migrated("the burials of version 1 whose letters wait are counted in their minutes", async (engine) => {
  const minute = 60_000;
  expect(await engine.listArrivals({ bucketMs: minute })).toEqual([
    { at: Date.UTC(2026, 0, 1), waiting: 3, ever: 3 },
    { at: Date.UTC(2026, 0, 1) + minute, waiting: 1, ever: 1 },
  ]);
});

migrated("the age of a letter of version 1 is counted from its first failure", async (engine) => {
  const first = Date.UTC(2026, 0, 1) + 1000;
  const now = await engine.now();
  const [twice] = await engine.findItems("twice", { queue: QUEUE, limit: 1 });
  expect(await engine.readLetter(twice?.ref ?? 0)).toMatchObject({
    firstAttempt: first,
    lastAttempt: first + 2000,
  });
  const count = async (olderThanMs: number) =>
    (await engine.listLetters({ queue: QUEUE, olderThanMs, limit: 0 })).total;
  expect([await count(now - first), await count(now - first + 1)]).toEqual([4, 0]);
  expect(await engine.earliestFailure(QUEUE)).toBe(first);
});

migrated("the groups of version 1 are open, and grouped by the algorithm that it had", async (engine) => {
  const groups = await engine.listGroups({});
  expect(groups.map(({ signature, state, algorithm }) => [signature, state, algorithm])).toEqual([
    ["sig-a", "open", "redrive-1"],
    ["sig-b", "open", "redrive-1"],
  ]);
  const since = Date.UTC(2026, 0, 1);
  const record = { state: "open", since, regressions: 0, isRegression: false, notes: [], fixes: [] };
  expect(await engine.listGroupRecords({})).toEqual([
    { signature: "sig-a", pattern: "pattern a", ...record },
    { signature: "sig-b", pattern: "pattern b", ...record },
  ]);
});

migrated(
  "an open redrive of version 1 ends, and what it had not sent is refused and still dead",
  async (engine) => {
    expect(await engine.findOperation("op-over")).toMatchObject({
      ...{ status: "ended", endedAt: LAST_WRITE, selected: 2, done: 1, refused: 1, failed: 1, plan: {} },
    });
    expect(await engine.listOperations({ open: true })).toMatchObject([{ id: "op-at-work" }]);
  },
);

migrated("a redrive of version 1 that has items at work ends with them", async (engine) => {
  const books = { selected: 5, done: 3, refused: 2 };
  expect(await engine.closeOperation("op-at-work")).toMatchObject({ status: "open", ...books, succeeded: 1 });
  const lease = {
    settle: [succeeded({ ref: 5, attempt: 2 })],
    lease: { queue: QUEUE, max: 9, operationId: "op-at-work" },
  };
  const { leased } = await engine.settleAndLease("holder-1", lease);
  expect(leased.map(({ itemId }) => itemId)).toEqual(["ready"]);
  await engine.settleAndLease(null, { settle: leased.map(succeeded) });
  expect(await engine.closeOperation("op-at-work")).toMatchObject({
    status: "ended",
    ...books,
    succeeded: 3,
  });
  expect(await engine.readLetter(5)).toMatchObject({ state: "done", resolution: { kind: "requeue" } });
});

migrated("letters of version 1 are redriven again and discarded", async (engine) => {
  const asked = { queue: QUEUE, filter: {}, force: true, author: "ann", plan: {} };
  const begin = (id: string, kind: "redrive" | "discard", itemId: string) =>
    engine.beginOperation({ ...asked, id, kind, filter: { itemIds: [itemId] } });
  await begin("again", "redrive", "twice");
  expect(await engine.advance("again", { max: 9 })).toMatchObject({ selected: 1, done: 1 });
  await begin("given-up", "discard", "dead");
  expect(await engine.advance("given-up", { max: 9 })).toMatchObject({ selected: 1, done: 1 });
  expect(await engine.count(QUEUE)).toMatchObject({ dead: 0, ready: 3, discarded: 1, letters: 3 });
});

const migrated2: typeof migrated = (title, body) => migrated(title, body, writeVersion2);

migrated2("a store of version 2 has the newest version once it was opened", async (engine) => {
  expect(await engine.info()).toMatchObject({ schemaVersion: 9, foundVersion: 2, items: 8 });
});

migrated2("the counters of version 2 are those of its events, also of what was purged", async (engine) => {
  const counters = await engine.listCounters();
  expect(Object.fromEntries(counters.map(({ name, value }) => [name, value]))).toEqual({
    "attempts.failed": 2,
    "attempts.lost": 1,
    "attempts.released": 1,
    "attempts.succeeded": 1,
    "dead.CommandFailed": 1,
    "dead.Timeout": 1,
    parks: 1,
    "redrives.failed": 1,
    "redrives.succeeded": 1,
    retries: 1,
    store_write_failed: 1,
  });
});

migrated2("the errors of version 2 are in the error log, with the records that are left", async (engine) => {
  const entries = await engine.listErrors({ limit: 10 });
  expect(entries.map(({ type, itemId, message }) => [type, itemId, message])).toEqual([
    ["store_write_failed", undefined, "full"],
    ["attempt_failed", "gone", "it failed"],
    ["attempt_lost", "gone", "The worker vanished."],
    ["attempt_failed", "dead", "it failed"],
  ]);
  expect(entries.map(({ failure }) => failure?.errorType.name)).toEqual([
    ...[undefined, undefined, undefined, "CommandFailed"],
  ]);
});

migrated2(
  "items of version 2 have the normal priority and no ordering key, and are leased as before",
  async (engine) => {
    const [fresh] = await engine.findItems("fresh", { queue: QUEUE, limit: 1 });
    expect(fresh).toMatchObject({ priority: "normal" });
    for (const field of ["name", "orderingKey", "expiresAt"]) expect(fresh).not.toHaveProperty(field);
    await engine.add(QUEUE, [{ itemId: "urgent", data: 1, priority: "high" }]);
    const { leased } = await engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 9 },
    });
    expect(leased.map(({ itemId }) => itemId)).toEqual(["urgent", "ready", "fresh"]);
    expect(await engine.findJob(QUEUE)).not.toHaveProperty("pause");
  },
);

const migrated5: typeof migrated = (title, body) => migrated(title, body, writeVersion5);

migrated5("ordering keys, positions and counted attempts of version 5 are kept", async (engine) => {
  const [[ready], [dead]] = [await engine.findItems("ready", ONE), await engine.findItems("dead", ONE)];
  expect(ready).toMatchObject({ orderingKey: "one", lostCount: 1 });
  expect(dead).toMatchObject({ attemptsCounted: 1 });
  const { leased } = await engine.settleAndLease("holder-1", LEASE_ALL);
  expect(leased.map(({ itemId, index }) => [itemId, index])).toEqual([["ready", 3]]);
  const next = await engine.settleAndLease("holder-1", { ...LEASE_ALL, settle: leased.map(succeeded) });
  expect(next.leased.map(({ itemId }) => itemId)).toEqual(["fresh"]);
});

migrated5("letters of version 5 are found by their indexed messages, and leave the index", async (engine) => {
  const find = async (text: string) => (await engine.listLetters({ queue: QUEUE, text, limit: 10 })).total;
  expect([await find("failed 7 times"), await find("7"), await find("it failed")]).toEqual([1, 1, 4]);
  await engine.beginOperation({
    ...{ id: "gone", kind: "discard", queue: QUEUE, filter: { itemIds: ["dead"] }, force: true },
    ...{ author: "ann", plan: {} },
  });
  await engine.advance("gone", { max: 9 });
  expect(await find("failed 7 times")).toBe(0);
});
