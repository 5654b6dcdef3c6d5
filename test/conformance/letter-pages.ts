/** The contract of pages: every order, over all pages, while letters are buried and resolved. */
import { expect } from "vitest";
import { LETTER_ORDERS, LETTER_PARTS, type LetterPart, type LetterQuery } from "../../src/engine.ts";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function letterPageTests(test: Declare): void {
  orders(test);
  paging(test);
  cursors(test);
}

/** Reads all pages; `between` may change letters between two of them. */
async function readAll(
  bench: Workbench,
  query: Partial<LetterQuery>,
  between: () => Promise<void> = async () => {},
): Promise<{ readonly ids: readonly string[]; readonly sizes: readonly number[] }> {
  const ids: string[] = [];
  const sizes: number[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await bench.engine.listLetters({
      queue: QUEUE,
      limit: 3,
      ...query,
      ...(cursor && { cursor }),
    });
    ids.push(...page.letters.map(({ itemId }) => itemId));
    sizes.push(page.letters.length);
    cursor = page.next;
    if (cursor !== null) await between();
  }
  return { ids, sizes };
}

/** Seven letters, buried in the order e d c b a g f, with one to three attempts and three types. */
async function sevenLetters(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  for (const [place, itemId] of ["e", "d", "c", "b", "a", "g", "f"].entries()) {
    await bench.add(itemId);
    for (let failed = 0; failed < place % 3; failed += 1) await bench.settle(retried(await bench.leaseOne()));
    const errorType = (["Unknown", "Timeout", "ClientError"] as const)[place % 3] ?? "Unknown";
    await bench.settle(buried(await bench.leaseOne(), { errorType }));
  }
}

const IN_ORDER = {
  newest: ["f", "g", "a", "b", "c", "d", "e"],
  oldest: ["e", "d", "c", "b", "a", "g", "f"],
  attempts: ["g", "c", "a", "d", "f", "b", "e"],
  item: ["a", "b", "c", "d", "e", "f", "g"],
  type: ["g", "c", "a", "d", "f", "b", "e"],
} as const;

function orders(test: Declare): void {
  for (const order of LETTER_ORDERS) {
    test(`pages in the order "${order}" have neither gaps nor duplicates`, async (bench) => {
      await sevenLetters(bench);
      expect(await readAll(bench, { order })).toEqual({ ids: IN_ORDER[order], sizes: [3, 3, 1] });
      expect((await readAll(bench, { order, limit: 1 })).ids).toEqual(IN_ORDER[order]);
    });

    test(`pages in the order "${order}" list each remaining letter once while others arrive and leave`, async (bench) => {
      await sevenLetters(bench);
      const victims = ["c", "f"];
      const { ids } = await readAll(bench, { order, limit: 2 }, async () => {
        const victim = victims.pop();
        if (victim) await bench.operate("discard", [victim]);
        await bench.bury([`${victim ?? "late"}-${await bench.lastEvent()}`]);
      });
      const stayed = ids.filter((itemId) => ["a", "b", "d", "e", "g"].includes(itemId));
      expect(stayed).toEqual(IN_ORDER[order].filter((itemId) => itemId !== "c" && itemId !== "f"));
      expect(new Set(ids).size).toBe(ids.length);
    });
  }

  test("letters are listed newest burial first by default", async (bench) => {
    await sevenLetters(bench);
    expect(await bench.letterIds()).toEqual(IN_ORDER.newest);
  });

  test("letters are listed newest burial first even if the clock is set back", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    bench.clock.advance(1000);
    await bench.bury(["b"]);
    bench.clock.advance(-500);
    await bench.bury(["c"]);
    expect(await bench.letterIds()).toEqual(["c", "b", "a"]);
  });

  test("item ids are ordered by code point", async (bench) => {
    await bench.registerHolder();
    const inOrder = ["", " ", "Z", "a", "a/b", "ab", "é", "\uFFFD", "😀"].slice(1);
    await bench.bury(inOrder.toReversed());
    expect((await readAll(bench, { order: "item", limit: 2 })).ids).toEqual(inOrder);
  });

  test("letters with equal sort keys are listed newest first, also across queues", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.engine.add("job-2", [{ itemId: "a", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2")));
    for (const order of ["item", "attempts", "type"] as const) {
      const { letters, next } = await bench.engine.listLetters({ order, limit: 1 });
      const rest = await bench.engine.listLetters({ order, limit: 1, cursor: next ?? "" });
      expect([...letters, ...rest.letters].map(({ queue }) => queue)).toEqual(["job-2", QUEUE]);
    }
  });

  test("resolved letters have the same orders", async (bench) => {
    await sevenLetters(bench);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "b")));
    await bench.operate("discard", ["a", "g", "e"]);
    const states = ["discarded", "done"] as const;
    expect((await readAll(bench, { states, order: "item", limit: 1 })).ids).toEqual(["a", "b", "e", "g"]);
    expect((await readAll(bench, { states, order: "oldest", limit: 2 })).ids).toEqual(["e", "b", "a", "g"]);
  });
}

function paging(test: Declare): void {
  test("every page has the exact total of the query", async (bench) => {
    await sevenLetters(bench);
    const first = await bench.engine.listLetters({ types: ["Unknown"], limit: 2 });
    const last = await bench.engine.listLetters({ types: ["Unknown"], limit: 2, cursor: first.next ?? "" });
    expect([first.total, last.total, first.letters.length, last.letters.length]).toEqual([3, 3, 2, 1]);
  });

  test("a page that ends with the last letter has no next page", async (bench) => {
    await sevenLetters(bench);
    for (const order of LETTER_ORDERS)
      expect(await bench.engine.listLetters({ order, limit: 7 })).toMatchObject({ next: null, total: 7 });
  });

  test("a limit of 0 returns only the total", async (bench) => {
    await sevenLetters(bench);
    const page = await bench.engine.listLetters({ attemptsMax: 2, limit: 0 });
    expect(page).toEqual({ letters: [], total: 5, next: null });
  });
}

function cursors(test: Declare): void {
  test("a requested part of a letter equals that part of the complete letter", async (bench) => {
    await sevenLetters(bench);
    for (const { ref } of (await bench.engine.listLetters({ limit: 3 })).letters) {
      await bench.engine.addNote(ref, { author: "ada", text: "seen" });
    }
    for (const whole of (await bench.engine.listLetters({ limit: 7 })).letters) {
      const inPart = async (...parts: LetterPart[]) => {
        const { letters } = await bench.engine.listLetters({ itemIds: [whole.itemId], limit: 7, parts });
        return letters.find(({ letterSequence }) => letterSequence === whole.letterSequence);
      };
      const { ref, letterSequence, itemId, jobId, errorSignature, errorPattern, reprocessEligible } = whole;
      expect(await inPart()).toMatchObject({
        ref,
        letterSequence,
        itemId,
        jobId,
        errorSignature,
        errorPattern,
      });
      expect(await inPart()).toMatchObject({ reprocessEligible });
      expect(await inPart("data")).toMatchObject({ itemData: whole.itemData });
      const { state, reason, revision, redriveCount } = whole;
      expect(await inPart("record")).toMatchObject({ state, reason, revision, redriveCount });
      const { firstAttempt, lastAttempt, failureCount, failureHistory } = whole;
      expect(await inPart("times")).toMatchObject({ firstAttempt, lastAttempt, failureCount });
      expect((await inPart("additions"))?.notes).toEqual(whole.notes);
      expect((await inPart("failures"))?.failureHistory).toEqual(failureHistory);
      expect((await inPart("last_failure"))?.failureHistory.at(-1)).toEqual(failureHistory.at(-1));
      expect(await inPart(...LETTER_PARTS)).toEqual(whole);
    }
  });

  test("a query without a count has the same letters and the same next page", async (bench) => {
    await sevenLetters(bench);
    for (const order of LETTER_ORDERS) {
      for (const filter of [{}, { text: "" }, { attemptsMin: 1 }, { types: ["Unknown"] as const }]) {
        const { letters, next } = await bench.engine.listLetters({ ...filter, order, limit: 2 });
        const page = await bench.engine.listLetters({ ...filter, order, limit: 2, counted: false });
        expect(page).toMatchObject({ letters, next });
      }
    }
  });

  test("a cursor stays valid when letters arrive and its own letter is buried again", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c", "d"]);
    const { next } = await bench.engine.listLetters({ limit: 2 });
    await bench.settle(buried(await bench.redriveOne("op-1", "c")));
    await bench.bury(["e"]);
    const page = await bench.engine.listLetters({ limit: 2, cursor: next ?? "" });
    expect(page.letters.map(({ itemId }) => itemId)).toEqual(["b", "a"]);
    expect(page.total).toBe(5);
  });

  test("a cursor that no page returned is an error and not the first page", async (bench) => {
    await sevenLetters(bench);
    for (const cursor of ["no cursor", "", "W10", Buffer.from("{}").toString("base64url")]) {
      const reading = bench.engine.listLetters({ limit: 2, cursor });
      await expect(reading).rejects.toMatchObject({ name: "RedriveError", code: "usage" });
    }
  });

  test("a cursor of another order is an error", async (bench) => {
    await sevenLetters(bench);
    for (const order of LETTER_ORDERS) {
      const { next } = await bench.engine.listLetters({ order, limit: 2 });
      for (const other of LETTER_ORDERS.filter((one) => one !== order)) {
        const reading = bench.engine.listLetters({ order: other, limit: 2, cursor: next ?? "" });
        await expect(reading).rejects.toMatchObject({ name: "RedriveError", code: "usage" });
      }
    }
  });
}
