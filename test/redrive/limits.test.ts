/** The limits of a queue of letters: what is too old or too many is archived, then deleted, told and counted. */
import { existsSync, readdirSync } from "node:fs";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { archiveFolder, readArchive } from "../../src/dead-letter/archive.ts";
import type { Operation } from "../../src/item/operation.ts";
import { enforceLimits, previewLimits } from "../../src/redrive/enforce-limits.ts";
import { fullnessOf, fullnessWarning, type LetterLimits, limitsOf } from "../../src/redrive/limits.ts";
import { archiveOf } from "../../src/redrive/purge.ts";
import { AUTHOR, QUEUE, type Workbench } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { openBench } from "./fix-kit.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

const DAY_MS = 86_400_000;
const NONE: LetterLimits = { itemsMax: null, retentionMs: null };

let home: string;
beforeEach(() => {
  home = temporary.file("home");
});

const enforce = (bench: Workbench, limits: Partial<LetterLimits>) =>
  enforceLimits(bench.engine, { queue: QUEUE, limits: { ...NONE, ...limits }, home, author: AUTHOR });

const ids = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => `i${String(from + index).padStart(3, "0")}`);

/** The ids in the archive of an operation, in its order. */
async function archived(operation: Operation | undefined): Promise<string[]> {
  const found: string[] = [];
  const archive = operation && archiveOf(operation);
  if (archive) for await (const letter of readArchive(archive.path)) found.push(letter.itemId);
  return found;
}

describe("the limits of a queue", () => {
  test.each([
    [{ letters: 20, dead: 20 }, 20, { evict: 0, isNearlyFull: true }],
    [{ letters: 21, dead: 21 }, 20, { evict: 1, isNearlyFull: true }],
    [{ letters: 30, dead: 4 }, 20, { evict: 4, isNearlyFull: true }],
    [{ letters: 16, dead: 16 }, 20, { evict: 0, isNearlyFull: true }],
    [{ letters: 15, dead: 15 }, 20, { evict: 0, isNearlyFull: false }],
    [{ letters: 1_000_000, dead: 1_000_000 }, null, { evict: 0, isNearlyFull: false }],
  ])("%j of %j: %j", (counts, itemsMax, expected) => {
    expect(fullnessOf(counts, { itemsMax })).toEqual(expected);
  });

  test("days in the settings become milliseconds, and no limit stays none", () => {
    expect(limitsOf({ maxItems: 5, retentionDays: 2 })).toEqual({ itemsMax: 5, retentionMs: 2 * DAY_MS });
    expect(limitsOf({ maxItems: null, retentionDays: null })).toEqual(NONE);
  });
});

describe("more letters than the limit", () => {
  test("the oldest are archived and deleted, with an event and a counter", async () => {
    const bench = await openBench();
    await bench.bury(ids(50));
    const { evicted, purged, operations } = await enforce(bench, { itemsMax: 20 });
    expect([evicted, purged]).toEqual([30, 0]);
    expect(await archived(operations[0])).toEqual(ids(30));
    expect([...(await bench.letterIds())].sort()).toEqual(ids(20, 31));
    expect(await bench.engine.count(QUEUE)).toMatchObject({ letters: 20, evicted: 30, purged: 0 });
    const told = await bench.told("dlq_items_evicted");
    expect(told.reduce((sum, { data }) => sum + Number(data?.count), 0)).toBe(30);
    expect(await bench.told("dlq_item_removed")).toHaveLength(30);
    expect(operations).toMatchObject([
      { kind: "evict", status: "ended", done: 30, author: AUTHOR, reason: "more than 20 letters" },
    ]);
  });

  test("within the limit nothing is done or written", async () => {
    const bench = await openBench();
    await bench.bury(ids(20));
    expect(await enforce(bench, { itemsMax: 20 })).toEqual({ evicted: 0, purged: 0, operations: [] });
    expect(await bench.engine.listOperations({ queue: QUEUE })).toEqual([]);
    expect(existsSync(archiveFolder(home, QUEUE))).toBe(false);
  });

  test("letters in retry count, and are never touched", async () => {
    const bench = await openBench();
    await bench.bury(ids(6));
    await bench.operate("redrive", ids(3));
    const leased = await bench.leaseOne();
    const { operations } = await enforce(bench, { itemsMax: 1 });
    expect(await archived(operations[0])).toEqual(ids(3, 4));
    expect(await bench.engine.count(QUEUE)).toMatchObject({ letters: 3, ready: 2, leased: 1, evicted: 3 });
    expect((await bench.item(leased.itemId)).state).toBe("leased");
  });

  test("two concurrent evictions remove only the excess", async () => {
    const bench = await openBench();
    await bench.bury(ids(50));
    await Promise.all([enforce(bench, { itemsMax: 20 }), enforce(bench, { itemsMax: 20 })]);
    expect(await bench.engine.count(QUEUE)).toMatchObject({ letters: 20, evicted: 30 });
    expect(readdirSync(archiveFolder(home, QUEUE)).filter((name) => name.endsWith(".lock"))).toEqual([]);
  });
});

describe("letters beyond the retention", () => {
  test("dead, discarded and resolved ones are removed after the retention, and not before", async () => {
    const bench = await openBench();
    await bench.bury(["dead", "discarded", "sent"]);
    await bench.operate("discard", ["discarded"], { reason: "old" });
    await bench.operate("redrive", ["sent"]);
    bench.clock.advance(2 * DAY_MS);
    await bench.registerHolder("holder-2");
    await bench.engine.add(QUEUE, [{ itemId: "young", data: {} }]);
    bench.clock.advance(DAY_MS - 1);
    expect(await enforce(bench, { retentionMs: 3 * DAY_MS })).toMatchObject({ purged: 0, operations: [] });
    bench.clock.advance(1);
    const { purged, evicted, operations } = await enforce(bench, { retentionMs: 3 * DAY_MS });
    expect([purged, evicted]).toEqual([2, 0]);
    expect((await archived(operations[0])).sort()).toEqual(["dead", "discarded"]);
    expect(await bench.letterIds()).toEqual(["sent"]); // on its way
    expect(await bench.engine.count(QUEUE)).toMatchObject({ purged: 2, evicted: 0, letters: 1 });
    expect(await bench.told("dlq_items_purged")).toHaveLength(1);
  });

  test("are removed first, so that fewer exceed the limit", async () => {
    const bench = await openBench();
    await bench.bury(ids(5));
    bench.clock.advance(DAY_MS);
    await bench.engine.heartbeat("holder-1");
    await bench.bury(ids(5, 6));
    const limits = { itemsMax: 3, retentionMs: DAY_MS };
    expect(await previewLimits(bench.engine, { queue: QUEUE, limits })).toEqual({ evicted: 2, purged: 5 });
    expect(await bench.engine.count(QUEUE)).toMatchObject({ letters: 10 });
    expect(await enforce(bench, limits)).toMatchObject({ evicted: 2, purged: 5 });
    expect([...(await bench.letterIds())].sort()).toEqual(ids(3, 8));
  });
});

describe("the warning", () => {
  const limits = { itemsMax: 10, retentionMs: null };
  const look = async (bench: Workbench, warning = fullnessWarning(bench.engine, QUEUE)) =>
    warning(await bench.engine.count(QUEUE), limits);

  test("is reported once each time that the queue becomes nearly full", async () => {
    const bench = await openBench();
    const warning = fullnessWarning(bench.engine, QUEUE);
    await bench.bury(ids(7));
    expect(await look(bench, warning)).toBeNull();
    await bench.bury(ids(1, 8));
    expect(await look(bench, warning)).toMatch(/job-1 is nearly full: 8 letters, .*\b10\b/);
    await bench.bury(ids(1, 9));
    expect(await look(bench, warning)).toBeNull();
    await bench.operate("discard", ids(5), { reason: "x" });
    expect(await look(bench, warning)).toBeNull();
    await bench.bury(ids(4, 10));
    expect(await look(bench, warning)).toMatch(/8 letters/);
    expect((await bench.told("dlq_nearly_full")).map(({ data }) => data)).toEqual([
      { letters: 8, max_items: 10 },
      { letters: 8, max_items: 10 },
    ]);
  });

  test("is not repeated by a later process", async () => {
    const bench = await openBench();
    await bench.bury(ids(9));
    expect(await look(bench)).not.toBeNull();
    expect(await look(bench)).toBeNull();
  });
});
