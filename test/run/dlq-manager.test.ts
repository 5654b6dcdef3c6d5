/** The dead letter queue as an object: what a program reports, finds, works again, exports and deletes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { parseBackoff } from "../../src/retry/backoff.ts";
import { DEFAULT_POLICY } from "../../src/retry/policy.ts";
import { DlqManager, type DlqManagerOptions } from "../../src/run/dlq-manager.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";
import { until } from "../support/until.ts";

const POLICY = { ...DEFAULT_POLICY, maxAttempts: 1 };
const DAY_MS = 24 * 60 * 60_000;

describe("DlqManager", () => {
  const temporary = new TemporaryDirectory();
  afterAll(() => temporary.remove());
  let engine: Engine;
  let home: string;
  beforeEach(async () => {
    engine = await openStore("memory:");
    home = temporary.file("home");
  });

  const open = (options: Partial<DlqManagerOptions> = {}) =>
    DlqManager.open(engine, { job: "orders", home, policy: POLICY, ...options });
  const item = (itemId: string) => ({ itemId, data: { order: itemId } });
  const refused = { errorMessage: "connect ECONNREFUSED 10.0.0.7:443", exitCode: 7 };

  it("keeps a failed item as a letter that the commands see too", async () => {
    const manager = await open();
    const letter = await manager.addFailedItem(item("a"), { ...refused, durationMs: 1200 });
    expect(letter).toMatchObject({
      itemId: "a",
      itemData: { order: "a" },
      jobId: "orders",
      state: "dead",
      failureCount: 1,
      failureHistory: [
        { attemptNumber: 1, errorMessage: refused.errorMessage, exitCode: 7, durationMs: 1200 },
      ],
    });
    expect((await engine.listLetters({ queue: "orders", limit: 10 })).letters).toEqual([letter]);
    expect(await engine.check()).toEqual([]);
  });

  it("a second failure extends the history of the same letter", async () => {
    const manager = await open();
    await manager.addFailedItem(item("a"), { errorMessage: "first" });
    await manager.addFailedItem(item("a"), { errorMessage: "second", errorType: { name: "Timeout" } });
    const [letter, ...more] = await manager.listItems();
    expect(more).toEqual([]);
    expect(
      letter?.failureHistory.map(({ attemptNumber, errorMessage }) => [attemptNumber, errorMessage]),
    ).toEqual([
      [1, "first"],
      [2, "second"],
    ]);
    expect(letter?.failureHistory[1]).toMatchObject({
      errorType: { name: "Timeout" },
      errorClass: "transient",
    });
    expect(letter?.errorPattern).toMatch(/^Timeout::/);
  });

  it("failures that are reported at the same time are all kept", async () => {
    const managers = await Promise.all([open(), open(), open()]);
    const said = ["one", "two", "three"];
    await Promise.all(
      managers.map((one, n) => one.addFailedItem(item("a"), { errorMessage: said[n] ?? "" })),
    );
    const letter = await managers[0]?.getItem("a");
    expect(letter?.failureHistory.map(({ errorMessage }) => errorMessage).sort()).toEqual([...said].sort());
    expect(await engine.check()).toEqual([]);
  });

  it("the failure of a leased item is refused, not dropped", async () => {
    const manager = await open();
    await engine.add("orders", [{ itemId: "busy", data: 1 }]);
    await expect(manager.addFailedItem(item("busy"), refused)).rejects.toMatchObject({
      code: "illegal_move",
    });
  });

  it("lists matches, by filter and by CEL, in an order", async () => {
    const manager = await open();
    for (const id of ["a", "b", "c"]) await manager.addFailedItem(item(id), refused);
    await manager.addFailedItem(item("d"), { errorMessage: "too late", errorType: { name: "Timeout" } });
    const ids = async (request = {}) => (await manager.listItems(request)).map(({ itemId }) => itemId);
    expect(await ids()).toEqual(["d", "c", "b", "a"]);
    expect(await ids({ order: "oldest" })).toEqual(["a", "b", "c", "d"]);
    expect(await ids({ types: ["Timeout"] })).toEqual(["d"]);
    expect(await ids({ where: 'item.order == "b"' })).toEqual(["b"]);
    await expect(ids({ where: "item.order ==" })).rejects.toMatchObject({ code: "filter_invalid" });
  });

  it("finds a letter by its complete id only", async () => {
    const manager = await open();
    await manager.addFailedItem(item("order-12"), refused);
    expect((await manager.getItem("order-12"))?.itemId).toBe("order-12");
    expect(await manager.getItem("order-1")).toBeNull();
  });

  it("retries letters with the program's own function; those that fail again stay", async () => {
    const seen: string[] = [];
    const manager = await open({
      handler: async ({ itemId }) => {
        seen.push(itemId);
        if (itemId === "b") throw new Error("still broken");
        return { kind: "succeeded" };
      },
    });
    for (const id of ["a", "b", "c"]) await manager.addFailedItem(item(id), refused);
    const operation = await manager.reprocessItems({ itemIds: ["a", "b"] });
    expect(operation).toMatchObject({
      selected: 2,
      done: 2,
      refused: 0,
      succeeded: 1,
      failed: 1,
      status: "ended",
    });
    expect(seen.sort()).toEqual(["a", "b"]);
    const left = await manager.listItems();
    expect(left.map(({ itemId, failureCount }) => [itemId, failureCount])).toEqual([
      ["b", 2],
      ["c", 1],
    ]);
    expect(await engine.check()).toEqual([]);
  });

  it("maxRetries is the number of retries of each letter", async () => {
    let tries = 0;
    const manager = await open({
      policy: { ...DEFAULT_POLICY, backoff: parseBackoff("none"), maxAttempts: 5 },
      handler: async () => {
        tries += 1;
        throw new Error("no");
      },
    });
    await manager.addFailedItem(item("a"), refused);
    await manager.reprocessItems({ maxRetries: 1 });
    expect(tries).toBe(2);
  });

  it("delayMs is the wait before the first letter", async () => {
    const clock = new TestClock();
    engine = await openStore("memory:", { clock });
    const seen: number[] = [];
    const manager = await open({
      clock,
      handler: async () => {
        seen.push(clock.now());
        return { kind: "succeeded" };
      },
    });
    await manager.addFailedItem(item("a"), refused);
    const began = clock.now();
    let isOver = false;
    const working = manager.reprocessItems({ delayMs: 60_000, force: true }).finally(() => {
      isOver = true;
    });
    await until("it is worked again", () => {
      clock.advance(1000);
      return isOver;
    });
    expect((await working).succeeded).toBe(1);
    expect((seen[0] ?? 0) - began).toBeGreaterThanOrEqual(60_000);
  });

  it("slots is the number of concurrent items, and author is recorded", async () => {
    let [atWork, most] = [0, 0];
    const manager = await open({
      slots: 2,
      author: "night shift",
      handler: async () => {
        atWork += 1;
        most = Math.max(most, atWork);
        await new Promise((resolve) => setImmediate(resolve));
        atWork -= 1;
        return { kind: "succeeded" };
      },
    });
    for (const id of ["a", "b", "c", "d", "e"]) await manager.addFailedItem(item(id), refused);
    const operation = await manager.reprocessItems();
    expect(operation).toMatchObject({ author: "night shift", succeeded: 5 });
    expect(most).toBe(2);
  });

  it("letters that need manual review are retried with force only", async () => {
    const manager = await open({ handler: async () => ({ kind: "succeeded" }) });
    await manager.addFailedItem(item("a"), {
      errorMessage: "no such customer",
      errorType: { name: "BusinessException" },
    });
    expect(await manager.reprocessItems()).toMatchObject({ selected: 1, refused: 1, succeeded: 0 });
    expect(await manager.reprocessItems({ force: true })).toMatchObject({ refused: 0, succeeded: 1 });
  });

  it("an id that is not a dead letter is an error, and nothing is run", async () => {
    const manager = await open({ handler: async () => ({ kind: "succeeded" }) });
    await manager.addFailedItem(item("a"), refused);
    await expect(manager.reprocessItems({ itemIds: ["a", "z"] })).rejects.toMatchObject({
      code: "item_not_found",
    });
    expect(await manager.listItems()).toHaveLength(1);
  });

  it("without a handler, letters without their own work are refused with a hint", async () => {
    const manager = await open();
    await manager.addFailedItem(item("a"), refused);
    await expect(manager.reprocessItems()).rejects.toMatchObject({ code: "usage" });
  });

  it("purges letters older than a date, archives them first, and returns their number", async () => {
    const manager = await open();
    await manager.addFailedItem(item("a"), refused);
    expect(await manager.purgeOldItems(new Date(Date.now() - DAY_MS))).toBe(0);
    expect(await manager.purgeOldItems(new Date(Date.now() + DAY_MS))).toBe(1);
    expect(await manager.listItems()).toEqual([]);
    expect(readdirSync(join(home, "dlq", "archive", "orders"))).toHaveLength(1);
  });

  it("exports waiting letters, in the format of the file's name", async () => {
    const manager = await open();
    for (const id of ["a", "b"]) await manager.addFailedItem(item(id), refused);
    const path = temporary.file("letters.jsonl");
    expect(await manager.exportItems(path)).toBe(2);
    const lines = readFileSync(path, "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).item_id)).toEqual(["a", "b"]);
    const folder = temporary.file("letters");
    expect(await manager.exportItems(folder, { format: "directory" })).toBe(2);
    expect(existsSync(join(folder, "orders", "items", "a.json"))).toBe(true);
  });

  it("analyzes why letters died", async () => {
    const manager = await open();
    for (const id of ["a", "b"]) await manager.addFailedItem(item(id), refused);
    await manager.addFailedItem(item("c"), { errorMessage: "too late", errorType: { name: "Timeout" } });
    const { totalItems, patternGroups, errorDistribution } = await manager.analyzePatterns();
    expect(totalItems).toBe(3);
    expect(patternGroups.map(({ count }) => count)).toEqual([2, 1]);
    expect(errorDistribution.get("Timeout")).toBe(1);
  });
});
