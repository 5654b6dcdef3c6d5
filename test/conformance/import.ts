/** The contract of import: imported letters equal the exported ones, and nothing existing is overwritten. */
import { expect } from "vitest";
import type { LetterQuery } from "../../src/engine.ts";
import type { Letter } from "../../src/item/letter.ts";
import { storedLetters } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";
import { buried, failureOf, lost, released, retried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function importTests(test: Declare): void {
  comingIn(test);
  meeting(test);
  returning(test);
}

/** Letters in every state, with all optional parts. */
async function richLetters(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  await bench.add("dead");
  const late = await bench.leaseOne();
  bench.clock.advance(10);
  await bench.settle(lost(late));
  await bench.settle(released(await bench.leaseOne()));
  bench.clock.advance(10);
  await bench.engine.settleAndLease(null, { settle: [succeeded(late)] });
  const worktreeArtifacts = { worktreePath: "/trees/a", branchName: "agent-a", errorLogs: "boom" };
  await bench.settle(
    buried(await bench.leaseOne(), { poison: true, worktreeArtifacts, manualReviewRequired: true }),
  );
  await bench.edit("dead", { data: [1], note: "n" });
  await bench.edit("dead", { data: { ü: null }, rule: "rule-1" });
  await bench.engine.addNote((await bench.item("dead")).ref, { author: AUTHOR, text: "a note" });
  await bench.bury(["discarded", "resolved", "ready", "again"], { signature: "s2" });
  await bench.operate("discard", ["discarded"], { reason: "not ours" });
  await bench.settle(succeeded(await bench.redriveOne("op-1", "resolved")));
  bench.clock.advance(10);
  await bench.settle(buried(await bench.redriveOne("op-2", "again"), { signature: "s3" }));
  await bench.operate("redrive", ["ready"]);
}

/** All letters of the queue in their exported form, oldest burial first. */
async function exported(bench: Workbench, queue: string): Promise<readonly Letter[]> {
  const states = ["dead", "ready", "leased", "discarded", "done"] as const;
  const { letters } = await bench.engine.listLetters({ queue, states, order: "oldest", limit: 100 });
  return letters.map(({ ref: _ref, letterSequence: _burial, ...letter }) => letter);
}

/** A letter of `job-2`, which is created: it last failed a year ago, and first failed an hour before that. */
async function letterOfLastYear(
  bench: Workbench,
): Promise<{ readonly letter: Letter; readonly first: number; readonly last: number }> {
  await bench.registerHolder();
  await bench.bury(["old"]);
  await bench.job("job-2");
  const [letter] = await exported(bench, QUEUE);
  if (letter === undefined) throw new Error("a letter was buried");
  const last = bench.clock.now() - 365 * 86_400_000;
  const first = last - 3_600_000;
  const failureHistory = [failureOf({ ref: 0, attempt: 2 }, { timestamp: last - 60_000 })];
  const times = { firstAttempt: first, lastAttempt: last };
  return { letter: { ...letter, ...times, failureHistory, jobId: "job-2", queue: "job-2" }, first, last };
}

const itemIdOf = ({ itemId }: Letter) => itemId;

function comingIn(test: Declare): void {
  test("letters that are exported and imported again are equal", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    const letters = await exported(bench, QUEUE);
    expect(letters.map(({ itemId }) => itemId)).toEqual(["dead", "discarded", "resolved", "ready", "again"]);
    const report = await bench.engine.importLetters("job-2", letters);
    expect(report).toEqual({ imported: 5, extended: 0, existing: 0 });
    const expected = letters.map((letter) => ({
      ...letter,
      queue: "job-2",
      jobId: "job-2",
      state: letter.state === "ready" ? "dead" : letter.state,
    }));
    expect(await exported(bench, "job-2")).toEqual(expected);
  });

  test("any letter that a store can export is equal after its import", async (bench) => {
    let queues = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(storedLetters, { selector: itemIdOf, maxLength: 4 }),
        async (letters) => {
          queues += 1;
          const queue = `queue-${queues}`;
          await bench.job(queue);
          await bench.engine.importLetters(queue, letters);
          expect(await exported(bench, queue)).toEqual(
            letters.map((letter) => ({ ...letter, queue, jobId: queue })),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  test("imported letters are counted", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    await bench.engine.importLetters("job-2", await exported(bench, QUEUE));
    expect(await bench.engine.count("job-2")).toMatchObject({
      total: 5,
      dead: 3,
      discarded: 1,
      done: 1,
      letters: 3,
      resolved: 1,
      ready: 0,
      attempts: 3 + 1 + 1 + 1 + 2,
    });
    const groups = await bench.engine.listGroups({ queue: "job-2" });
    expect(groups.map(({ signature, count }) => [signature, count])).toEqual(
      expect.arrayContaining([
        ["00000000000000aa", 1],
        ["s2", 1],
        ["s3", 1],
      ]),
    );
    const [arrival] = await bench.engine.listArrivals({ queue: "job-2", bucketMs: 60_000 });
    expect(arrival).toMatchObject({ waiting: 3, ever: 5 });
  });

  test("an imported letter keeps its own times wherever times are used", async (bench) => {
    const { letter, first, last } = await letterOfLastYear(bench);
    await bench.engine.importLetters("job-2", [letter]);
    const { ref } = await bench.item(letter.itemId, "job-2");
    expect(await bench.engine.readLetter(ref)).toMatchObject({ firstAttempt: first, lastAttempt: last });
    const [group] = await bench.engine.listGroups({ queue: "job-2" });
    expect(group).toMatchObject({ firstAt: first, lastAt: last });
    const minute = Math.floor(last / 60_000) * 60_000;
    expect(await bench.engine.listArrivals({ queue: "job-2", bucketMs: 60_000 })).toEqual([
      { at: minute, waiting: 1, ever: 1 },
    ]);
    expect(await bench.engine.earliestFailure("job-2")).toBe(first);
    const age = bench.clock.now() - first;
    const ids = (query: Partial<LetterQuery>) => bench.letterIds({ queue: "job-2", ...query });
    expect(await ids({ olderThanMs: age })).toEqual([letter.itemId]);
    expect(await ids({ olderThanMs: age, ageOf: "last" })).toEqual([]);
    expect(await ids({ olderThanMs: bench.clock.now() - last, ageOf: "last" })).toEqual([letter.itemId]);
    expect(await ids({ olderThanMs: 0, ageOf: "arrival" })).toEqual([letter.itemId]);
    expect(await ids({ olderThanMs: 1, ageOf: "arrival" })).toEqual([]);
    expect(await ids({ newerThanMs: 1000 })).toEqual([]);
    expect(await ids({ newerThanMs: 1000, ageOf: "arrival" })).toEqual([letter.itemId]);
  });

  test("an imported letter keeps a failure count beyond its history", async (bench) => {
    const { letter, last } = await letterOfLastYear(bench);
    const counted = { ...letter, failureCount: 5 };
    await bench.engine.importLetters("job-2", [counted]);
    const { ref } = await bench.item(letter.itemId, "job-2");
    expect(await bench.engine.readLetter(ref)).toMatchObject({
      failureCount: 5,
      lastAttempt: last,
      failureHistory: letter.failureHistory,
    });
    const attempts = await bench.engine.listAttempts(ref);
    expect(attempts.map(({ outcome, failure }) => [outcome, failure?.attemptNumber])).toEqual([
      ["failed", undefined],
      ["failed", 2],
      ["failed", undefined],
      ["failed", undefined],
      ["failed", undefined],
    ]);
    expect(await bench.engine.importLetters("job-2", [counted])).toMatchObject({ existing: 1 });
  });

  test("an imported letter without a history has none, and can be retried", async (bench) => {
    const { letter } = await letterOfLastYear(bench);
    const bare = { ...letter, failureCount: 3, failureHistory: [], errorPattern: "Timeout::agent timed out" };
    await bench.engine.importLetters("job-2", [bare]);
    const { ref } = await bench.item(letter.itemId, "job-2");
    expect(await bench.engine.readLetter(ref)).toMatchObject({ failureCount: 3, failureHistory: [] });
    const last = await bench.engine.listLetters({ queue: "job-2", parts: ["last_failure"], limit: 1 });
    expect(last.letters[0]?.failureHistory).toEqual([]);
    expect(await bench.letterIds({ queue: "job-2", types: ["Timeout"] })).toEqual([letter.itemId]);
    expect(await bench.letterIds({ queue: "job-2", text: "agent" })).toEqual([]);
    await bench.registerHolder("holder-2", { queue: "job-2" });
    await bench.begin("op-9", { queue: "job-2", filter: {}, force: true });
    await bench.engine.advance("op-9", { max: 1 });
    const lease = await bench.leaseOne("holder-2", "job-2");
    expect(lease).toMatchObject({ attempt: 4 });
    await bench.settle(buried(lease));
    expect(await bench.engine.readLetter(ref)).toMatchObject({
      failureCount: 4,
      firstAttempt: letter.firstAttempt,
      lastAttempt: bench.clock.now(),
      failureHistory: [{ attemptNumber: 4 }],
    });
  });

  test("the signature that another program gave a letter is kept", async (bench) => {
    const { letter } = await letterOfLastYear(bench);
    await bench.engine.importLetters("job-2", [{ ...letter, sourceSignature: "CommandFailed::cargo test" }]);
    const { ref } = await bench.item(letter.itemId, "job-2");
    const signature = { sourceSignature: "CommandFailed::cargo test" };
    expect(await bench.engine.readLetter(ref)).toMatchObject(signature);
    await bench.operate("discard", [letter.itemId], { queue: "job-2", reason: "old" });
    expect(await bench.engine.readLetter(ref)).toMatchObject({ ...signature, state: "discarded" });
    await bench.operate("restore", [letter.itemId], { queue: "job-2" });
    await bench.registerHolder("holder-2", { queue: "job-2" });
    await bench.begin("op-9", { queue: "job-2", filter: {}, force: true });
    await bench.engine.advance("op-9", { max: 1 });
    await bench.settle(succeeded(await bench.leaseOne("holder-2", "job-2")));
    expect(await bench.engine.readLetter(ref)).toMatchObject({ ...signature, state: "done" });
  });

  test("the failures of imported letters are in the error log at their own times", async (bench) => {
    const { letter } = await letterOfLastYear(bench);
    await bench.engine.importLetters("job-2", [letter]);
    const [failure] = letter.failureHistory;
    const errors = await bench.engine.listErrors({ queue: "job-2", limit: 10 });
    expect(errors).toMatchObject([
      { itemId: letter.itemId, attempt: 2, at: failure?.timestamp, message: failure?.errorMessage },
    ]);
    const since = (at: number) => bench.engine.listErrors({ queue: "job-2", since: at, limit: 10 });
    expect(await since(failure?.timestamp ?? 0)).toHaveLength(1);
    expect(await since((failure?.timestamp ?? 0) + 1)).toEqual([]);
    await bench.engine.importLetters("job-2", [letter]);
    await bench.operate("purge", [letter.itemId], { queue: "job-2" });
    await bench.engine.importLetters("job-2", [letter]);
    expect(await bench.engine.listErrors({ queue: "job-2", limit: 10 })).toHaveLength(1);
  });

  test("an attempt that the history omits is recorded as released", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    const letters = await exported(bench, QUEUE);
    await bench.engine.importLetters("job-2", letters);
    const attempts = await bench.engine.listAttempts((await bench.item("dead", "job-2")).ref);
    expect(attempts.map(({ number, outcome, failure }) => [number, outcome, failure?.attemptNumber])).toEqual(
      [
        [1, "failed", 1],
        [2, "released", undefined],
        [3, "failed", 3],
      ],
    );
    expect(attempts[0]?.endedAt).toBe(letters[0]?.failureHistory[0]?.timestamp);
    expect(attempts[2]?.endedAt).toBe(letters[0]?.lastAttempt);
  });

  test("each imported letter has an event, and the import has one", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    const cursor = await bench.lastEvent();
    await bench.engine.importLetters("job-2", (await exported(bench, QUEUE)).slice(0, 2));
    const told = await bench.engine.listEvents({ after: cursor, limit: 10 });
    const letters = told.filter(({ type }) => type !== "failure_imported");
    expect(letters.map(({ type, queue, itemId, data }) => [type, queue, itemId, data])).toEqual([
      ["dlq_item_added", "job-2", "dead", { reason: "imported", signature: "00000000000000aa" }],
      ["dlq_item_added", "job-2", "discarded", { reason: "imported", signature: "s2" }],
      ["dlq_items_imported", "job-2", undefined, { imported: 2, extended: 0, existing: 0 }],
    ]);
    const failures = told.filter(({ type }) => type === "failure_imported");
    expect(failures.map(({ itemId, attempt }) => [itemId, attempt])).toEqual([
      ["dead", 1],
      ["dead", 3],
      ["discarded", 1],
    ]);
  });

  test("an imported letter can be redriven, and its attempts continue counting", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    await bench.engine.importLetters("job-2", await exported(bench, QUEUE));
    await bench.begin("op-3", { queue: "job-2", filter: { itemIds: ["dead"] }, force: true });
    await bench.engine.advance("op-3", { max: 1 });
    const lease = await bench.leaseOne("holder-1", "job-2");
    expect(lease).toMatchObject({ itemId: "dead", attempt: 4, revision: 3, redriveCount: 1 });
    await bench.settle(buried(lease));
    const letter = await bench.engine.readLetter(lease.ref);
    expect(letter?.failureHistory.map(({ attemptNumber }) => attemptNumber)).toEqual([1, 3, 4]);
  });

  test("an imported discarded letter can be restored", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    await bench.engine.importLetters("job-2", await exported(bench, QUEUE));
    expect(await bench.operate("restore", ["discarded"], { queue: "job-2" })).toMatchObject({ done: 1 });
    expect(await bench.letterIds({ queue: "job-2" })).toContain("discarded");
  });

  test("letters cannot be imported into an unknown queue", async (bench) => {
    await richLetters(bench);
    const importing = bench.engine.importLetters("job-9", await exported(bench, QUEUE));
    await expect(importing).rejects.toMatchObject({ code: "job_not_found" });
  });
}

function meeting(test: Declare): void {
  test("importing twice changes nothing and writes no event", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    const letters = await exported(bench, QUEUE);
    await bench.engine.importLetters("job-2", letters);
    const before = await exported(bench, "job-2");
    const cursor = await bench.lastEvent();
    const again = await bench.engine.importLetters("job-2", letters);
    expect(again).toEqual({ imported: 0, extended: 0, existing: 5 });
    expect(await exported(bench, "job-2")).toEqual(before);
    expect(await bench.eventTypes(cursor)).toEqual([]);
  });

  test("a letter that occurs twice in one call is imported once", async (bench) => {
    await richLetters(bench);
    await bench.job("job-2");
    const [letter] = await exported(bench, QUEUE);
    if (!letter) throw new Error("there are letters");
    expect(await bench.engine.importLetters("job-2", [letter, letter])).toMatchObject({
      imported: 1,
      existing: 1,
    });
  });

  test("a dead letter with fewer attempts gets the missing ones and the new death record", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"], { signature: "s1" });
    await bench.job("job-2");
    await bench.engine.importLetters("job-2", await exported(bench, QUEUE));
    const before = await bench.item("a", "job-2");
    const lease = await bench.redriveOne("op-1", "a");
    await bench.settle(retried(lease));
    const last = await bench.leaseOne();
    bench.clock.advance(1000);
    const failure = failureOf(last, { errorMessage: "something else" });
    await bench.settle({ ...buried(last, { signature: "s2", reason: "again" }), failure });
    const report = await bench.engine.importLetters("job-2", await exported(bench, QUEUE));
    expect(report).toEqual({ imported: 0, extended: 1, existing: 1 });
    const letter = await bench.engine.readLetter(before.ref);
    expect(letter).toMatchObject({ errorSignature: "s2", reason: "again", failureCount: 3, state: "dead" });
    expect(letter?.lastAttempt).toBe(bench.clock.now());
    expect(await bench.letterIds({ queue: "job-2", text: "something else" })).toEqual(["a"]);
    expect(await bench.letterIds({ queue: "job-2" })).toEqual(["a", "b"]);
    expect(await bench.engine.count("job-2")).toMatchObject({ total: 2, letters: 2, attempts: 4 });
    expect(await bench.told("dlq_items_imported")).toMatchObject([{}, { data: { extended: 1 } }]);
  });

  test("an item that is alive, done, resolved or has as many attempts is unchanged", async (bench) => {
    await richLetters(bench);
    const letters = await exported(bench, QUEUE);
    const longer = letters.map((letter) => ({
      ...letter,
      failureHistory: [...letter.failureHistory, failureOf({ ref: 0, attempt: 9 })],
    }));
    const before = await exported(bench, QUEUE);
    await bench.job("job-2");
    await bench.engine.add("job-2", [newItem("dead")]);
    expect(await bench.engine.importLetters("job-2", letters.slice(0, 1))).toMatchObject({ existing: 1 });
    const closed = longer.filter(({ state }) => state !== "dead");
    expect(await bench.engine.importLetters(QUEUE, closed)).toMatchObject({ existing: 3, extended: 0 });
    expect(await bench.engine.importLetters(QUEUE, letters)).toMatchObject({ existing: 5 });
    expect(await exported(bench, QUEUE)).toEqual(before);
  });
}

function returning(test: Declare): void {
  test("a purged item is restored by importing its letter", async (bench) => {
    await richLetters(bench);
    const letters = await exported(bench, QUEUE);
    const { ref } = await bench.item("dead");
    await bench.operate("purge", ["dead"]);
    const counts = await bench.engine.count(QUEUE);
    expect(await bench.engine.importLetters(QUEUE, letters)).toMatchObject({ imported: 1, existing: 4 });
    const back = (await exported(bench, QUEUE)).find(({ itemId }) => itemId === "dead");
    expect(back).toEqual(letters[0]);
    expect(await bench.item("dead")).toMatchObject({ ref, state: "dead", attempts: 3 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({
      total: counts.total,
      attempts: counts.attempts,
      purged: 1,
      letters: counts.letters + 1,
      discarded: counts.discarded - 1,
    });
  });

  test("a purged item that is imported with fewer attempts keeps its attempt numbers", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const short = await exported(bench, QUEUE);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    await bench.operate("purge");
    await bench.engine.importLetters(QUEUE, short);
    expect(await bench.item("a")).toMatchObject({ attempts: 2 });
    const attempts = await bench.engine.listAttempts((await bench.item("a")).ref);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["failed", "released"]);
    expect(await bench.redriveOne("op-2", "a")).toMatchObject({ attempt: 3 });
  });
}
