/** A letter's life in order. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { momentsOf, readHistory } from "../../src/dead-letter/history.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { QUEUE, Workbench } from "../conformance/workbench.ts";
import { buried, released, retried, succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

let bench: Workbench;
let clock: TestClock;

beforeEach(async () => {
  clock = new TestClock();
  bench = new Workbench(openMemoryEngine({ clock }), clock);
  await bench.job(QUEUE);
  await bench.registerHolder();
});

afterEach(() => bench.close());

async function historyOf(itemId: string) {
  const records = await bench.engine.readLetterRecords({ queue: QUEUE, itemId });
  if (records === null) throw new Error(`${itemId} is no letter`);
  return readHistory(bench.engine, records);
}

const kinds = async (itemId: string) => (await historyOf(itemId)).moments.map(({ kind }) => kind);

/** Each step of a life at its own time. */
const later = () => clock.advance(1000);

test("attempts, notes, edits, redrives, discards and restores are in the order of their times", async () => {
  await bench.add("a");
  await bench.settle(retried(await bench.leaseOne()));
  later();
  await bench.settle(buried(await bench.leaseOne()));
  later();
  const { ref } = await bench.item("a");
  await bench.engine.addNote(ref, { author: "ada", text: "ask the vendor" });
  later();
  await bench.operate("discard", ["a"], { reason: "vendor bug" });
  later();
  await bench.operate("restore", ["a"]);
  later();
  await bench.edit("a", { data: { fixed: true } });
  later();
  await bench.operate("redrive", ["a"]);
  later();
  await bench.settle(buried(await bench.leaseOne()));
  expect(await kinds("a")).toEqual([
    ...["attempt", "attempt", "note", "discard", "restore", "amendment", "redrive", "attempt"],
  ]);
  const { moments } = await historyOf("a");
  expect(moments[5]).toMatchObject({ amendment: { before: { name: "a" } }, after: { fixed: true } });
  expect(moments[6]).toMatchObject({ operation: { kind: "redrive", author: "ada@host-1" } });
});

test("attempts without a failure are included, with their outcome", async () => {
  await bench.add("a");
  await bench.settle(released(await bench.leaseOne()));
  later();
  await bench.settle(buried(await bench.leaseOne()));
  later();
  await bench.operate("redrive", ["a"]);
  later();
  await bench.settle(succeeded(await bench.leaseOne()));
  const { moments, groupCount } = await historyOf("a");
  expect(moments.map((moment) => (moment.kind === "attempt" ? moment.attempt.outcome : moment.kind))).toEqual(
    [...["released", "failed", "redrive", "succeeded", "resolved"]],
  );
  expect(groupCount).toBe(0);
});

test("the latest events of the item are found among thousands", async () => {
  await bench.bury(Array.from({ length: 300 }, (_, n) => `other-${n}`));
  later();
  await bench.bury(["a"]);
  later();
  await bench.bury(Array.from({ length: 300 }, (_, n) => `later-${n}`));
  const { events, groupCount } = await historyOf("a");
  expect(events.map(({ type }) => type)).toEqual([
    "item_queued",
    "attempt_started",
    "attempt_failed",
    "dlq_item_added",
  ]);
  expect(events.every(({ itemId }) => itemId === "a")).toBe(true);
  expect(groupCount).toBe(601);
});

test("a letter without a store has its failures, notes and end", async () => {
  await bench.bury(["a"]);
  const { ref } = await bench.item("a");
  later();
  await bench.engine.addNote(ref, { author: "ada", text: "x" });
  await bench.operate("discard", ["a"], { reason: "old" });
  const letter = await bench.letter("a");
  if (letter === null) throw new Error("it is a letter");
  expect(
    momentsOf(letter)
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(["attempt", "note", "resolved"]);
  expect(await kinds("a")).toEqual(expect.arrayContaining(["discard"]));
  expect(await kinds("a")).not.toContain("resolved");
});

test.each([0, 1])(
  "the events are the same when an operation changes letters %i ms after it began",
  async (ms) => {
    await bench.bury(["a"]);
    for (const kind of ["discard", "restore", "discard"] as const) {
      later();
      const id = `${kind}-${clock.now()}`;
      await bench.begin(id, { kind, filter: { itemIds: ["a"] } });
      clock.advance(ms);
      await bench.engine.advance(id, { max: 10 });
      await bench.engine.closeOperation(id);
    }
    const { events, moments } = await historyOf("a");
    expect(events.map(({ type }) => type)).toEqual([
      "item_queued",
      "attempt_started",
      "attempt_failed",
      "dlq_item_added",
      "group_opened",
      "dlq_item_removed",
    ]);
    expect(moments.map(({ kind }) => kind)).toEqual(["attempt", "discard", "restore", "discard"]);
  },
);
