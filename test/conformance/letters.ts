/** The contract of letters: what they contain while they wait and after they are resolved. */
import { inspect } from "node:util";
import { expect } from "vitest";
import { letterToText } from "../../src/dead-letter/letter-view.ts";
import type { AgentRun } from "../../src/item/agent-run.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { letterToJson } from "../../src/item/letter.ts";
import { attemptTimes } from "../../src/item/letter-query.ts";
import { stringifyJson } from "../../src/std/json.ts";
import { buried, failureOf, lost, retried, succeeded } from "../support/settlements.ts";
import { AUTHOR, type Declare, QUEUE } from "./workbench.ts";

export function letterTests(test: Declare): void {
  contents(test);
  closed(test);
  notes(test);
  records(test);
}

function records(test: Declare): void {
  test("a letter is read with everything that is shown with it", async (bench) => {
    const { engine } = bench;
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    await bench.settle(retried(await bench.leaseOne()));
    for (let left = 3; left > 0; left -= 1) await bench.settle(buried(await bench.leaseOne()));
    const { ref } = await bench.item("a");
    await engine.addNote(ref, { author: "ada", text: 'ask "the" vendor\u0001' });
    await bench.edit("a", { data: { fixed: 9007199254740993n } });
    await bench.operate("requeue", ["b"]);
    await bench.operate("redrive", ["c"]);
    await bench.settle(succeeded(await bench.lease(10).then((leased) => find(leased, "c"))));
    await engine.writeAgentRuns(QUEUE, [
      agentRun(ref, "run-2", 5),
      agentRun(ref, "run-1", 5),
      agentRun(ref, "run-0", 7),
    ]);
    const signature = (await bench.letter("a"))?.errorSignature ?? "";
    await engine.changeGroup(signature, { author: "ada", note: "known" });
    for (const itemId of ["a", "b", "c"]) {
      const [item] = await engine.findItems(itemId, { queue: QUEUE, limit: 1 });
      const groups = await engine.listGroups({ queue: QUEUE, signatures: [signature] });
      const { requeuedFrom, requeuedAs } = item ?? {};
      expect(await engine.readLetterRecords({ queue: QUEUE, itemId })).toEqual({
        letter: await bench.letter(itemId),
        attempts: await engine.listAttempts(item?.ref ?? 0),
        operations: await engine.listOperations({ queue: QUEUE }),
        groupCount: groups.reduce((sum, { count }) => sum + count, 0),
        group: await engine.readGroup(signature),
        links: { ...(requeuedFrom && { requeuedFrom }), ...(requeuedAs && { requeuedAs }) },
        events: await engine.listItemEvents({
          ...{ queue: QUEUE, itemId, times: attemptTimes(await engine.listAttempts(item?.ref ?? 0)) },
        }),
        agentRuns: await engine.listAgentRuns({ queue: QUEUE, ref: item?.ref ?? 0, limit: 10 }),
      });
    }
    for (const itemId of ["a", "b", "c"]) {
      const letter = await bench.letter(itemId);
      expect(letter && letterToText(letter)).toBe(letter && stringifyJson(letterToJson(letter)));
    }
    const read = await engine.readLetterRecords({ queue: QUEUE, itemId: "a" });
    expect(read?.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["attempt_failed", "dlq_item_added"]),
    );
    expect(read?.letter.itemData).toEqual({ fixed: 9007199254740993n });
    expect(read?.agentRuns.map(({ id }) => id)).toEqual(["run-1", "run-2", "run-0"]);
    expect(read?.group).toMatchObject({ notes: [{ text: "known" }], fixes: [{ count: 1 }] });
    const resolved = await engine.readLetterRecords({ queue: QUEUE, itemId: "c" });
    expect(resolved?.letter.resolution?.kind).toBe("requeue");
    expect(resolved?.operations.map(({ kind }) => kind)).toEqual(["edit", "requeue", "redrive"]);
  });

  test("an item that is no letter has no letter records", async (bench) => {
    await bench.add("a");
    const read = (itemId: string, queue = QUEUE) => bench.engine.readLetterRecords({ queue, itemId });
    expect(await read("a")).toBeNull();
    expect(await read("b")).toBeNull();
    expect(await read("a", "job-9")).toBeNull();
  });
}

function find(leased: readonly LeasedItem[], itemId: string): LeasedItem {
  const lease = leased.find((one) => one.itemId === itemId);
  if (lease === undefined) throw new Error(`${itemId} is not leased`);
  return lease;
}

function agentRun(ref: number, id: string, startedAt: number): AgentRun {
  const usage = { model: "m-1", costUsd: 0.25, inputTokens: 10 };
  return {
    ...{ id, lease: { ref, attempt: 1 }, step: "fix", agent: "claude", session: "s-1" },
    ...{ usage, isFinal: true, startedAt, updatedAt: startedAt + 1 },
  };
}

function contents(test: Declare): void {
  test("invariant 6: a letter keeps its data, all its failures and its origin", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const firstAttempt = bench.clock.now();
    const first = await bench.leaseOne();
    await bench.settle(retried(first));
    const second = await bench.leaseOne();
    await bench.settle(lost(second));
    const third = await bench.leaseOne();
    bench.clock.advance(900);
    const worktreeArtifacts = { worktreePath: "/trees/a", branchName: "agent-a", errorLogs: "boom" };
    await bench.settle(buried(third, { reason: "out of retries (2 of 2 attempts used)", worktreeArtifacts }));
    const letter = await bench.letter("a");
    expect(letter).toEqual({
      ref: expect.any(Number),
      letterSequence: expect.any(Number),
      itemId: "a",
      itemData: { name: "a" },
      firstAttempt,
      lastAttempt: bench.clock.now(),
      failureCount: 3,
      failureHistory: [
        failureOf(first),
        failureOf(second, { errorType: { name: "WorkerLost" }, errorMessage: "the worker vanished" }),
        failureOf(third),
      ],
      errorSignature: "00000000000000aa",
      errorPattern: "CommandFailed::attempt <num> failed with exit code <num>",
      reprocessEligible: true,
      manualReviewRequired: false,
      worktreeArtifacts,
      jobId: QUEUE,
      queue: QUEUE,
      state: "dead",
      reason: "out of retries (2 of 2 attempts used)",
      revision: 1,
      redriveCount: 0,
    });
    expect((await bench.engine.listLetters({ limit: 10 })).letters).toEqual([letter]);
  });

  test("a letter can be copied, printed and converted to JSON like any object", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const leased = await bench.leaseOne();
    await bench.settle(buried(leased));
    const letters = await Promise.all([1, 2, 3, 4].map(() => bench.letter("a")));
    const [copied, cloned, printed, written] = letters;
    const contents = { itemData: { name: "a" }, failureHistory: [failureOf(leased)] };
    expect({ ...copied }).toMatchObject(contents);
    expect(structuredClone(cloned)).toMatchObject(contents);
    expect(JSON.parse(JSON.stringify(written))).toMatchObject(contents);
    expect(inspect(printed, { depth: null })).toBe(inspect({ ...copied }, { depth: null }));
    expect(inspect(printed)).toContain(failureOf(leased).errorMessage);
  });

  test("every letter of a page has all its fields, whichever is read first", async (bench) => {
    const { engine } = bench;
    await bench.registerHolder();
    const dataOf = (at: number) => (at % 50 === 7 ? "x".repeat(70_000) : { at, text: "é☃".repeat(at) });
    const ids = Array.from({ length: 130 }, (_, at) => `item-${String(at).padStart(3, "0")}`);
    await engine.add(
      QUEUE,
      ids.map((itemId, at) => ({ itemId, data: dataOf(at) })),
    );
    const leased = await bench.lease(ids.length);
    await bench.settle(
      ...leased.slice(0, 10).map((lease) => retried(lease)),
      ...leased.slice(10).map((lease) => buried(lease)),
    );
    const again = await bench.lease(ids.length);
    await bench.settle(...again.map((lease) => buried(lease)));
    const read = async () => (await engine.listLetters({ limit: 200, order: "item" })).letters;
    const [copied, cloned, written, named, texts, whole] = await Promise.all([
      read(),
      read(),
      read(),
      read(),
      read(),
      read(),
    ]);
    expect(whole.map(({ itemId }) => itemId)).toEqual(ids);
    for (const [at, letter] of whole.entries()) {
      expect(letter.failureHistory).toHaveLength(letter.failureCount);
      expect(letter.failureHistory.at(-1)?.timestamp).toBe(letter.lastAttempt);
      expect(letter.itemData).toEqual(dataOf(at));
      const alone = await engine.readLetter(letter.ref);
      expect(letter).toEqual(alone);
      expect({ ...copied[at] }).toEqual({ ...alone });
      expect(structuredClone(cloned[at])).toEqual({ ...alone });
      expect(JSON.stringify(written[at])).toBe(JSON.stringify(alone));
      expect(letterToText(texts[at] ?? letter)).toBe(stringifyJson(letterToJson(letter)));
      expect(Object.keys(named[at] ?? {})).toEqual(Object.keys(alone ?? {}));
    }
    expect(whole.filter(({ failureCount }) => failureCount === 2)).toHaveLength(again.length);
    expect(again).toHaveLength(10);
  });

  test("an item that is not a letter cannot be read as one", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(retried(await bench.leaseOne()));
    expect(await bench.letter("a")).toBeNull();
    expect(await bench.engine.listLetters({ limit: 10 })).toEqual({ letters: [], total: 0, next: null });
  });
}

/** The contents of a resolved letter. */
function closed(test: Declare): void {
  test("a letter whose item succeeded can be read, with the author of the redrive", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const lease = await bench.redriveOne("op-1", "a");
    bench.clock.advance(1000);
    await bench.settle(succeeded(lease));
    expect(await bench.letter("a")).toMatchObject({
      state: "done",
      failureCount: 1,
      redriveCount: 1,
      resolution: { kind: "requeue", at: bench.clock.now(), author: AUTHOR, operationId: "op-1" },
    });
    expect(await bench.letterIds()).toEqual([]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ done: 1, letters: 0, resolved: 1 });
  });

  test("a letter that a person edited before it succeeded is a manual fix", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.edit("a", { data: 1, rule: "rule-1" });
    await bench.edit("a", { data: 2 });
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ kind: "manual_fix", operationId: "op-1" });
  });

  test("a letter that a rule edited last before it succeeded is an automatic fix", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.edit("a", { data: 1 });
    await bench.edit("a", { data: 2, rule: "rule-1" });
    await bench.settle(succeeded(await bench.redriveOne("op-1", "a")));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ kind: "auto_fix" });
  });

  test("an edit before the last burial is not a fix", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.edit("a", { data: 1 });
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    await bench.settle(succeeded(await bench.redriveOne("op-2", "a")));
    expect((await bench.letter("a"))?.resolution).toMatchObject({ kind: "requeue", operationId: "op-2" });
  });

  test("a poison letter keeps its mark until it is buried without it", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"], { poison: true, reprocessEligible: false });
    expect(await bench.letter("a")).toMatchObject({ poison: true });
    await bench.operate("redrive", ["a"], { force: true });
    await bench.settle(buried(await bench.leaseOne()));
    expect(await bench.letter("a")).not.toHaveProperty("poison");
  });
}

function notes(test: Declare): void {
  test("notes on a letter stay in order, also after another burial", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const { ref } = await bench.item("a");
    const at = bench.clock.now();
    expect(await bench.engine.addNote(ref, { author: "ada", text: 'looks like\n"disk"' })).toBe(true);
    bench.clock.advance(1000);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    expect(await bench.engine.addNote(ref, { author: "bob", text: "it was" })).toBe(true);
    expect((await bench.letter("a"))?.notes).toEqual([
      { at, author: "ada", text: 'looks like\n"disk"' },
      { at: at + 1000, author: "bob", text: "it was" },
    ]);
  });

  test("a resolved letter can have notes", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.operate("discard", ["a"]);
    const note = { author: "ada", text: "why" };
    expect(await bench.engine.addNote((await bench.item("a")).ref, note)).toBe(true);
    expect((await bench.letter("a"))?.notes).toHaveLength(1);
  });
}
