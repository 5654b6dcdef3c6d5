/** Statistics of the dead letter queue. */
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  hadLetters,
  letterStatsToJson,
  NO_LETTERS,
  percentOf,
  readLetterStats,
  sumOfStats,
} from "../../src/dead-letter/stats.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { QUEUE, Workbench } from "../conformance/workbench.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

const HOUR = 3_600_000;
let bench: Workbench;
let clock: TestClock;

beforeEach(async () => {
  clock = new TestClock();
  bench = new Workbench(openMemoryEngine({ clock }), clock);
  await bench.job(QUEUE);
  await bench.registerHolder();
});

afterEach(() => bench.close());

const read = () => readLetterStats(bench.engine, QUEUE);

test("a queue without letters has zero statistics", async () => {
  expect(await read()).toEqual({ jobId: QUEUE, ...NO_LETTERS });
  expect(hadLetters(await read())).toBe(false);
});

test("every letter is counted in its state", async () => {
  await bench.bury(["a", "b", "c", "d", "e"]);
  await bench.operate("redrive", ["a", "b", "c"]);
  const [a, b] = await bench.lease(2);
  if (!a || !b) throw new Error("two were sent again");
  await bench.settle(succeeded(a), buried(b));
  await bench.operate("discard", ["d"], { reason: "old" });
  await bench.operate("purge", ["e"]);
  expect(await read()).toMatchObject({
    size: 2,
    onTheirWay: 1,
    resolved: 1,
    discarded: 1,
    purged: 1,
    evicted: 0,
    redriveSucceeded: 1,
    redriveFailed: 1,
  });
  expect(letterStatsToJson(await read())).toMatchObject({ redrive_success_rate: 0.5 });
});

test("the age is that of the oldest waiting letter, and arrivals are those of the last hour and day", async () => {
  await bench.bury(["a"]);
  clock.advance(30 * HOUR);
  await bench.bury(["b"]);
  clock.advance(2 * HOUR);
  await bench.bury(["c", "d"]);
  clock.advance(HOUR / 2);
  expect(await read()).toMatchObject({ oldestAgeMs: 32.5 * HOUR, arrivedLastHour: 2, arrivedLastDay: 3 });
  await bench.operate("discard", ["a"], { reason: "old" });
  expect(await read()).toMatchObject({ oldestAgeMs: 2.5 * HOUR });
});

test("several jobs add up, and the oldest of their letters is the oldest", async () => {
  await bench.bury(["a"]);
  clock.advance(5000);
  const one = await read();
  const sum = sumOfStats([one, { ...one, size: 2, oldestAgeMs: 9000 }, NO_LETTERS]);
  expect(sum).toMatchObject({ size: 3, oldestAgeMs: 9000 });
});

test("the used capacity is a share of the limit of a job; without a limit there is none", async () => {
  const stats = { ...NO_LETTERS, size: 8123 };
  expect(percentOf(stats, 10_000)).toBe(81.2);
  expect(letterStatsToJson(stats, 10_000)).toMatchObject({ max_items: 10_000, capacity_used_percent: 81.2 });
  expect(letterStatsToJson(stats, null)).toMatchObject({ max_items: null, capacity_used_percent: null });
  expect(letterStatsToJson(stats)).not.toHaveProperty("max_items");
});
