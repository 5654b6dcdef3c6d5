/** The error log as it is read: pages, queues together, following, and the two forms that leave the process. */
import { beforeEach, describe, expect, it } from "vitest";
import { errorLine, errorTable } from "../../src/cli/commands/errors.ts";
import { paintFor } from "../../src/cli/render/text.ts";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { ErrorEntry } from "../../src/item/error-log.ts";
import type { Failure } from "../../src/item/failure.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { errorToBody, errorToJson, followErrors, originOf, readErrors } from "../../src/queue/error-log.ts";
import { assert } from "../../src/std/assert.ts";
import { newHolder } from "../conformance/workbench.ts";
import { buried, failureOf, lost, released, retried } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";

const HOLDER = "robot-3:17:abcdef";
let clock: TestClock;
let engine: Engine;

beforeEach(async () => {
  clock = new TestClock();
  engine = await openStore("memory:", { clock });
  for (const queue of ["orders", "guides"]) {
    await engine.createJob({ id: queue, name: queue, kind: "queue", spec: {} });
    await engine.registerHolder(newHolder(`${HOLDER}-${queue}`, { queue }));
  }
});

async function lease(queue: string): Promise<LeasedItem> {
  const { leased } = await engine.settleAndLease(`${HOLDER}-${queue}`, {
    settle: [],
    lease: { queue, max: 1 },
  });
  assert(leased[0], "nothing was leased");
  return leased[0];
}

/** Fails one attempt of the queue's only item. */
async function fail(queue: string, change: Partial<Failure> = {}): Promise<void> {
  await engine.add(queue, [{ itemId: `item of ${queue}`, data: 1 }]);
  const held = await lease(queue);
  const failure = failureOf(held, { agentId: `${HOLDER}-${queue}/1`, ...change });
  await engine.settleAndLease(null, { settle: [{ ...retried(held), failure }] });
  clock.advance(1000);
}

const messages = (entries: readonly ErrorEntry[]) => entries.map(({ message }) => message);

describe("a page of the error log", () => {
  beforeEach(async () => {
    for (const [index, queue] of ["orders", "guides", "orders", "orders", "guides"].entries())
      await fail(queue, { errorMessage: `error ${index}` });
  });

  it("has every failure of every queue, even those that were retried, newest first", async () => {
    const { errors, next } = await readErrors(engine, { limit: 10 });
    expect(messages(errors)).toEqual(["error 4", "error 3", "error 2", "error 1", "error 0"]);
    expect(errors.map(({ attempt }) => attempt)).toEqual([2, 3, 2, 1, 1]);
    expect(next).toBeNull();
  });

  it("continues after the previous page until nothing is left", async () => {
    const seen: string[] = [];
    let before: number | null = Number.MAX_SAFE_INTEGER;
    while (before !== null) {
      const page = await readErrors(engine, { limit: 2, before });
      seen.push(...messages(page.errors));
      before = page.next;
    }
    expect(seen).toEqual(["error 4", "error 3", "error 2", "error 1", "error 0"]);
  });

  it("of several queues is one list, and counts each entry once", async () => {
    const both = { queues: ["guides", "orders", "guides"], limit: 3 };
    const { errors, next } = await readErrors(engine, both);
    expect(messages(errors)).toEqual(["error 4", "error 3", "error 2"]);
    const rest = await readErrors(engine, { ...both, before: next ?? 0 });
    expect(messages(rest.errors)).toEqual(["error 1", "error 0"]);
    expect(messages((await readErrors(engine, { queues: ["guides"], limit: 9 })).errors)).toEqual([
      "error 4",
      "error 1",
    ]);
  });

  it("can be limited to one item or a period", async () => {
    const ofItem = await readErrors(engine, { itemId: "item of guides", limit: 9 });
    expect(messages(ofItem.errors)).toEqual(["error 4", "error 1"]);
    const since = await readErrors(engine, { since: clock.now() - 2500, limit: 9 });
    expect(messages(since.errors)).toEqual(["error 4", "error 3"]);
  });
});

describe("an entry for programs", () => {
  const newest = async () => {
    const [entry] = (await readErrors(engine, { limit: 1 })).errors;
    assert(entry, "the log is empty");
    return entry;
  };

  it("names the source that the work reported, from large to small", async () => {
    await fail("guides", {
      errorMessage: "Element not found on screen within timeout",
      evidence: [
        { path: "/tmp/shot.png", sha256: "ab12", bytes: 7, mediaType: "image/png", host: "robot-3" },
      ],
      source: {
        executionId: "20260216143022",
        flow: "DF0001-GenerateGuide",
        subflow: "Main",
        action: "5",
        actionName: "Click UI Element in Window",
      },
    });
    const entry = await newest();
    expect(errorToJson(entry)).toEqual({
      id: entry.id,
      timestamp: "2026-01-01T00:00:00.000Z",
      name: "Error-20260216143022-DF0001-GenerateGuide",
      origin: "work",
      event: "attempt_failed",
      queue: "guides",
      item_id: "item of guides",
      attempt: 1,
      machine: "robot-3",
      execution_id: "20260216143022",
      flow: "DF0001-GenerateGuide",
      subflow: "Main",
      step: "shell: cargo test",
      action: "5",
      action_name: "Click UI Element in Window",
      error_type: { CommandFailed: { exit_code: 101 } },
      error_class: "unknown",
      error_message: "Element not found on screen within timeout",
      evidence: [
        { path: "/tmp/shot.png", sha256: "ab12", bytes: 7, media_type: "image/png", host: "robot-3" },
      ],
    });
  });

  it("has the attempt, the queue and the step if the work reported nothing", async () => {
    await fail("orders");
    expect(errorToJson(await newest())).toMatchObject({
      name: `Error-${HOLDER}-orders/1#1-orders`,
      execution_id: `${HOLDER}-orders/1#1`,
      flow: "orders",
      subflow: "shell: cargo test",
      action: "1",
      action_name: "shell: cargo test",
      evidence: [],
    });
  });

  it("pitfall 48: has the record's fields, whatever lines or words its message has", async () => {
    const misleading = "Failed to run flow\nDesktopFlow: other\nSubflow: other\nAction: 99\nTimeout";
    await fail("orders", { errorMessage: misleading, errorType: { name: "BusinessException" } });
    expect(errorToJson(await newest())).toMatchObject({
      flow: "orders",
      action: "1",
      error_type: "BusinessException",
      error_message: misleading,
      origin: "work",
    });
  });

  it("has the seven fields of an error body first, as texts, then ours", async () => {
    await fail("guides", { source: { flow: "DF0001" }, log: "/logs/1.log" });
    const body = errorToBody(await newest());
    expect(Object.entries(body).slice(0, 7)).toEqual([
      ["ExecutionId", `${HOLDER}-guides/1#1`],
      ["DesktopFlow", "DF0001"],
      ["Subflow", "shell: cargo test"],
      ["Action", "1"],
      ["Action name", "shell: cargo test"],
      ["Error Message", "attempt 1 failed with exit code 101"],
      ["Error Evidence", "/logs/1.log"],
    ]);
    expect(body).toMatchObject({
      Queue: "guides",
      "Item Id": "item of guides",
      Attempt: 1,
      Machine: "robot-3",
    });
  });

  it("attributes a lost worker to the work, with the machine on which it vanished", async () => {
    await engine.add("orders", [{ itemId: "a", data: 1 }]);
    await engine.settleAndLease(null, { settle: [lost(await lease("orders"))] });
    expect(errorToJson(await newest())).toMatchObject({
      origin: "work",
      event: "attempt_lost",
      error_type: "WorkerLost",
      machine: "robot-3",
    });
  });

  it("pitfall 44: attributes a failure of the runner to the runner, and its item is ready again", async () => {
    await engine.add("orders", [{ itemId: "a", data: 1 }]);
    const held = await lease("orders");
    const fault = "no process could be started (EAGAIN)";
    await engine.settleAndLease(null, { settle: [{ ...released(held), fault }] });
    const entry = await newest();
    expect(errorToJson(entry)).toMatchObject({
      origin: "runner",
      event: "runner_failed",
      queue: "orders",
      item_id: "a",
      attempt: 1,
      machine: "robot-3",
      execution_id: `${HOLDER}-orders#1`,
      flow: "orders",
      step: null,
      error_type: null,
      error_message: fault,
    });
    expect(errorToBody(entry)).toMatchObject({
      "Error Message": fault,
      "Error Evidence": "",
      Origin: "runner",
    });
    expect((await engine.count("orders")).ready).toBe(1);
    const ofRunner = await readErrors(engine, { origin: "runner", limit: 9 });
    expect(ofRunner.errors.map(originOf)).toEqual(["runner"]);
    expect((await readErrors(engine, { origin: "work", limit: 9 })).errors).toEqual([]);
  });

  it("of a purged item still has its time, source, type and message", async () => {
    await engine.add("orders", [{ itemId: "a", data: 1 }]);
    await engine.settleAndLease(null, { settle: [buried(await lease("orders"))] });
    const all = { queue: "orders", filter: {}, force: true, author: "ana", plan: {} };
    await engine.beginOperation({ id: "p", kind: "purge", ...all });
    await engine.advance("p", { max: 10 });
    expect((await engine.listLetters({ queue: "orders", limit: 9 })).total).toBe(0);
    expect(errorToJson(await newest())).toMatchObject({
      queue: "orders",
      item_id: "a",
      attempt: 1,
      error_type: "CommandFailed",
      error_class: "unknown",
      error_message: "attempt 1 failed with exit code 101",
      evidence: [],
    });
  });

  it("reports a failed write of the store even if no item was affected", async () => {
    const data = { message: "disk full", machine: "robot-3" };
    const event = { type: "store_write_failed", data } as const;
    await engine.changeJob("orders", { event });
    expect(errorToJson(await newest())).toMatchObject({
      origin: "runner",
      item_id: null,
      attempt: null,
      machine: "robot-3",
      execution_id: "orders",
      action: "",
      error_message: "disk full",
    });
  });
});

describe("following the log", () => {
  it("starts with the latest entries, oldest first, and continues with each new one, once", async () => {
    for (const index of [0, 1, 2]) await fail("orders", { errorMessage: `old ${index}` });
    const stop = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      const log = followErrors(engine, { limit: 2 }, { stop: stop.signal, clock });
      for await (const { message } of log) seen.push(message);
    })();
    await until("the latest", () => seen.length === 2 && clock.sleeping === 1);
    for (const index of [0, 1, 2, 3, 4]) await fail("guides", { errorMessage: `new ${index}` });
    await until("the new ones", () => seen.length === 7 && clock.sleeping === 1);
    clock.advance(1000);
    await until("another look", () => clock.sleeping === 1);
    stop.abort();
    await following;
    expect(seen).toEqual(["old 1", "old 2", "new 0", "new 1", "new 2", "new 3", "new 4"]);
  });
});

describe("the log for people", () => {
  const paint = paintFor({ isTty: false, env: {} });

  it("fits the terminal, and shortens the message last", async () => {
    await fail("orders", { errorMessage: `the order ${"was refused ".repeat(20)}` });
    await fail("guides", { errorMessage: "no such page\u001b[31m" });
    const { errors } = await readErrors(engine, { limit: 9 });
    const wide = errorTable(errors, { paint, columns: 120 }).split("\n");
    expect(wide[0]).toMatch(/^CommandFailed/);
    expect(wide[1]).toMatch(/^TIME +QUEUE +ITEM +TRY +ERROR$/);
    expect(wide[2]).toMatch(/^01-01 00:00:01 {2}guides {2}item of guides +1 {2}no such page\u241b\[31m$/);
    for (const columns of [120, 80, 60])
      for (const line of errorTable(errors, { paint, columns }).split("\n"))
        expect(line.length).toBeLessThanOrEqual(columns);
  });

  it("omits a queue that all entries share, and marks failures of the runner", async () => {
    await engine.add("orders", [{ itemId: "a", data: 1 }]);
    await engine.settleAndLease(null, {
      settle: [{ ...released(await lease("orders")), fault: "the disk is full" }],
    });
    const { errors } = await readErrors(engine, { limit: 9 });
    const text = errorTable(errors, { paint, columns: 100 });
    expect(text).not.toContain("QUEUE");
    expect(text).toMatch(/^\(runner\)\n/);
    expect(text).toMatch(/ a +1 {2}the disk is full\n/);
    const [entry] = errors;
    assert(entry, "the log is empty");
    expect(errorLine(entry, { paint, columns: 100 })).toBe(
      "2026-01-01T00:00:00.000Z  orders  a #1  (runner)  the disk is full\n",
    );
  });
});
