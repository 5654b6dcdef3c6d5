/** Selecting letters: what the store searches by, and CEL over the letter, page by page. */
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import type { LetterOrder, LetterQuery } from "../../src/engine.ts";
import { LETTER_ORDERS } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { letterToJson } from "../../src/item/letter.ts";
import { analyseSelected, recordAnalysis } from "../../src/redrive/analyse-selected.ts";
import { compileMatcher, LETTER_VARIABLES } from "../../src/redrive/matcher.ts";
import {
  countSelected,
  matcherOf,
  type Selection,
  selectLetters,
  selectPage,
} from "../../src/redrive/select.ts";
import { analysisToJson } from "../../src/triage/analyse.ts";
import { QUEUE, Workbench } from "../conformance/workbench.ts";
import { letters } from "../item/arbitraries.ts";
import { fc } from "../support/properties.ts";
import { buried, failureOf } from "../support/settlements.ts";
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

/** Letters n-0 to n-(count-1) with their number as data; every third is of another failure. */
async function bury(count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ itemId: `n-${n}`, data: { n } }));
  await bench.engine.add(QUEUE, items);
  const { leased } = await bench.engine.settleAndLease("holder-1", {
    settle: [],
    lease: { queue: QUEUE, max: count },
  });
  for (const [n, lease] of leased.entries()) {
    clock.advance(n % 7 === 0 ? 61_000 : 10);
    const other = n % 3 === 0;
    const death = other ? { signature: "00000000000000cc", pattern: "c", errorType: "Timeout" as const } : {};
    const failure = failureOf(lease, {
      errorType: { name: other ? "Timeout" : "CommandFailed" },
      exitCode: n % 5,
    });
    await bench.settle({ ...buried(lease, death), failure });
  }
}

async function ids(selection: Selection, order?: LetterOrder): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { itemId } of selectLetters(bench.engine, selection, order && { order }))
    found.push(itemId);
  return found;
}

describe("letters are selected by", () => {
  test("the filter alone, all of them and not a page", async () => {
    await bury(450);
    expect(await ids({ filter: {} })).toHaveLength(450);
    expect(await countSelected(bench.engine, { filter: {} })).toBe(450);
    expect(await countSelected(bench.engine, { filter: { types: ["Timeout"] } })).toBe(150);
  });

  test("an expression over item, letter and failure, in the order that is asked for", async () => {
    await bury(12);
    expect(await ids({ filter: {}, where: "item.n >= 10" })).toEqual(["n-11", "n-10"]);
    expect(await ids({ filter: {}, where: "item.n >= 10" }, "oldest")).toEqual(["n-10", "n-11"]);
    expect(await ids({ filter: {}, where: "failure.exit_code == 4 && letter.failure_count == 1" })).toEqual([
      "n-9",
      "n-4",
    ]);
    expect(await ids({ filter: { types: ["Timeout"] }, where: "failure.exit_code == 4" })).toEqual(["n-9"]);
    expect(await ids({ filter: {}, where: "letter.item_id == 'n-3'" })).toEqual(["n-3"]);
    expect(await countSelected(bench.engine, { filter: {}, where: "item.n % 2 == 0" })).toBe(6);
  });

  test("several pages of the store, none left out and none twice", async () => {
    await bury(450);
    expect(await ids({ filter: {}, where: "item.n % 2 == 0" })).toEqual(
      Array.from({ length: 225 }, (_, index) => `n-${448 - 2 * index}`),
    );
  });
});

describe("a page of matches", () => {
  test.each(LETTER_ORDERS)("goes on where the last one ended, in the order %s", async (order) => {
    await bury(230);
    const selection = { filter: {}, where: "item.n % 50 == 7" };
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await selectPage(bench.engine, selection, { order, limit: 2, ...(cursor && { cursor }) });
      expect(page.total).toBe(5);
      expect(page.letters.length).toBeGreaterThan(0);
      seen.push(...page.letters.map(({ itemId }) => itemId));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(await ids(selection, order));
    expect(new Set(seen).size).toBe(5);
  });

  test("never promises an empty page", async () => {
    await bury(10);
    const page = await selectPage(bench.engine, { filter: {}, where: "item.n < 3" }, { limit: 3 });
    expect([page.letters.length, page.next]).toEqual([3, null]);
  });
});

describe("invariant 10: an expression without an answer matches nothing and is an error", () => {
  test.each([
    ["item.n >", "nexpected"],
    ["itm.n > 3", "did you mean item"],
    ["letter.failure_cuont > 1", "did you mean failure_count"],
    ["!has(letter.poisn)", "did you mean poison"],
    ["failure.exit_cod == 1", "did you mean exit_code"],
    ["'text'", "not true or false"],
    ["", "nexpected"],
  ])("%j is refused before a letter is looked at", async (where, message) => {
    await expect(matcherOf(where)).rejects.toMatchObject({
      code: "filter_invalid",
      message: expect.stringContaining(message),
    });
    await expect(countSelected(bench.engine, { filter: {}, where })).rejects.toMatchObject({
      code: "filter_invalid",
    });
  });

  it("a field that one letter lacks is reported with the letter and a guard", async () => {
    await bury(3);
    await expect(ids({ filter: {}, where: "item.gone > 1" })).rejects.toMatchObject({
      code: "filter_invalid",
      message: expect.stringContaining(`for n-2 of ${QUEUE}: there is no field "gone"`),
      hint: expect.stringContaining("has(item.x)"),
    });
    expect(await ids({ filter: {}, where: "has(item.gone) && item.gone > 1" })).toEqual([]);
  });

  it("every field that a letter can have can be named", () => {
    fc.assert(
      fc.property(letters, (letter) => {
        for (const field of Object.keys(letterToJson(letter))) {
          expect(LETTER_VARIABLES.get("letter")).toContain(field);
        }
        for (const failure of (letterToJson(letter).failure_history ?? []) as object[]) {
          for (const field of Object.keys(failure)) expect(LETTER_VARIABLES.get("failure")).toContain(field);
        }
        expect(compileMatcher("letter.queue == letter.queue")(letter)).toBe(true);
      }),
    );
  });
});

describe("the analysis of a selection", () => {
  it("is the same from the store's counters and from every letter", async () => {
    await bury(60);
    const counted = analysisToJson(await analyseSelected(bench.engine, { filter: { queue: QUEUE } }));
    const looked = analysisToJson(
      await analyseSelected(bench.engine, { filter: { queue: QUEUE }, where: "true" }),
    );
    expect(counted).toMatchObject({
      total_items: 60,
      error_distribution: { Timeout: 20, CommandFailed: 40 },
    });
    expect(counted).toEqual(looked);
    const some = { filter: { types: ["Timeout" as const] } };
    expect(analysisToJson(await analyseSelected(bench.engine, some))).toEqual(
      analysisToJson(await analyseSelected(bench.engine, { ...some, where: "true" })),
    );
  });

  it("reads no letters but samples if the store has counters", async () => {
    await bury(40);
    const asked: LetterQuery[] = [];
    const engine = {
      ...bench.engine,
      listLetters: (query: LetterQuery) => {
        asked.push(query);
        return bench.engine.listLetters(query);
      },
    };
    await analyseSelected(engine, { filter: {} }, { sampledGroupsMax: 1 });
    expect(asked.map(({ limit }) => limit).filter((limit) => limit > 0)).toEqual([3]);
  });

  it("leaves an event, and is useful even where none can be written", async () => {
    await bury(2);
    const analysis = await analyseSelected(bench.engine, { filter: {} });
    expect(await recordAnalysis(bench.engine, QUEUE, analysis)).toBeNull();
    const [event] = await bench.engine.listEvents({ types: ["dlq_analysis_generated"], after: 0, limit: 9 });
    expect(event).toMatchObject({ queue: QUEUE, data: { total_items: 2, groups: 2 } });
  });
});
