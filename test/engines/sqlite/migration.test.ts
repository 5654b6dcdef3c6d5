/** A store of an older version is brought to the newest when it is opened, and loses nothing on the way. */
import { afterAll, expect, it } from "vitest";
import type { Engine } from "../../../src/engine.ts";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { succeeded } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { TestClock } from "../../support/test-clock.ts";
import { LAST_WRITE, writeVersion1 } from "./version-1.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const QUEUE = "job-1";

/** Runs the test on a store that version 1 wrote; its invariants hold before and after. */
function migrated(title: string, body: (engine: Engine) => Promise<void>): void {
  it(title, async () => {
    const path = directory.file("store.db");
    writeVersion1(path);
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
  expect(await engine.info()).toMatchObject({ schemaVersion: 2, jobs: 1, items: 7, letters: 4, attempts: 9 });
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
  "letters of version 1 are found with their numbers, groups and all that they had",
  async (engine) => {
    const { letters, total } = await engine.listLetters({ queue: QUEUE, limit: 10 });
    expect(letters.map(({ itemId, burial, state }) => [itemId, burial, state])).toEqual([
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
      evidence: [{ outcome: "succeeded", note: "late" }],
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

migrated("the groups of version 1 are open, and grouped by the algorithm that it had", async (engine) => {
  const groups = await engine.listGroups({});
  expect(groups.map(({ signature, state, algorithm }) => [signature, state, algorithm])).toEqual([
    ["sig-a", "open", "redrive-1"],
    ["sig-b", "open", "redrive-1"],
  ]);
  const since = Date.UTC(2026, 0, 1);
  const mark = { state: "open", since, regressions: 0, isRegression: false, notes: [], fixes: [] };
  expect(await engine.listMarks({})).toEqual([
    { signature: "sig-a", pattern: "pattern a", ...mark },
    { signature: "sig-b", pattern: "pattern b", ...mark },
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
  const { leased } = await engine.exchange("holder-1", lease);
  expect(leased.map(({ itemId }) => itemId)).toEqual(["ready"]);
  await engine.exchange(null, { settle: leased.map(succeeded) });
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
