/** The contract of letters: what they keep, and how they are listed, filtered and paged. */
import { expect } from "vitest";
import type { LetterFilter } from "../../src/engine.ts";
import type { Grave } from "../../src/item/item.ts";
import { buried, failureOf, lost, retried } from "../support/settlements.ts";
import { type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function letterTests(test: Declare): void {
  contents(test);
  filters(test);
  pages(test);
}

/** Adds an item and buries it at once, under the given gravestone. */
async function bury(bench: Workbench, itemId: string, grave: Partial<Grave> = {}): Promise<void> {
  await bench.add(itemId);
  await bench.settle(buried(await bench.leaseOne(), grave));
}

function contents(test: Declare): void {
  test("invariant 6: a letter keeps its data, all its failures and its origin", async (bench) => {
    await bench.enter();
    await bench.add("a");
    const firstAttempt = bench.clock.now();
    const first = await bench.leaseOne();
    await bench.settle(retried(first));
    const second = await bench.leaseOne();
    await bench.settle(lost(second));
    const third = await bench.leaseOne();
    bench.clock.advance(900);
    const worktreeArtifacts = { worktreePath: "/trees/a", branchName: "agent-a", errorLogs: "boom" };
    await bench.settle(buried(third, { reason: "attempts spent (2 of 2)", worktreeArtifacts }));
    const letter = await bench.letter("a");
    expect(letter).toEqual({
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
      reason: "attempts spent (2 of 2)",
      revision: 1,
      redriveCount: 0,
    });
    expect((await bench.engine.listLetters({ limit: 10 })).letters).toEqual([letter]);
  });

  test("an item that is not a letter has none to read", async (bench) => {
    await bench.enter();
    await bench.add("a");
    await bench.settle(retried(await bench.leaseOne()));
    expect(await bench.letter("a")).toBeNull();
    expect(await bench.engine.listLetters({ limit: 10 })).toEqual({ letters: [], total: 0, next: null });
  });
}

function filters(test: Declare): void {
  const ids = async (bench: Workbench, filter: LetterFilter) => {
    const { letters, total } = await bench.engine.listLetters({ ...filter, limit: 100 });
    expect(total).toBe(letters.length);
    return letters.map(({ itemId }) => itemId);
  };

  test("every filter leaves just the letters that fit it", async (bench) => {
    await bench.enter();
    await bury(bench, "a", { errorType: "Timeout", errorClass: "transient", signature: "1111111111111111" });
    bench.clock.advance(5000);
    await bury(bench, "ab", { errorClass: "permanent", reprocessEligible: false });
    await bury(bench, "c", { errorType: "Unknown" });
    expect(await ids(bench, { itemIds: ["a", "c"] })).toEqual(["c", "a"]);
    expect(await ids(bench, { types: ["Timeout", "Unknown"] })).toEqual(["c", "a"]);
    expect(await ids(bench, { classes: ["permanent", "transient"] })).toEqual(["ab", "a"]);
    expect(await ids(bench, { signature: "1111111111111111" })).toEqual(["a"]);
    expect(await ids(bench, { eligible: true })).toEqual(["c", "a"]);
    expect(await ids(bench, { eligible: false })).toEqual(["ab"]);
    expect(await ids(bench, { olderThanMs: 5000 })).toEqual(["a"]);
    expect(await ids(bench, { olderThanMs: 5001 })).toEqual([]);
  });

  test("ages are told exactly among thousands of letters, though the clock was put back", async (bench) => {
    await bench.enter();
    const burials: { itemId: string; at: number; isOdd: boolean }[] = [];
    for (const [batch, ms] of [0, 4000, 4000, -6000, 1000, 5000].entries()) {
      bench.clock.advance(ms);
      const items = Array.from({ length: 1500 }, (_, index) => newItem(`${batch}-${index}`));
      await bench.engine.add(QUEUE, items);
      const leased = await bench.lease(items.length);
      const isOdd = (ref: number) => ref % 2 === 1;
      await bench.settle(...leased.map((one) => buried(one, { signature: isOdd(one.ref) ? "odd" : "even" })));
      const at = bench.clock.now();
      burials.push(...leased.map(({ itemId, ref }) => ({ itemId, at, isOdd: isOdd(ref) })));
    }
    for (const olderThanMs of [0, 1, 4000, 5000, 7999, 8000, 8001]) {
      const fits = burials.filter(({ at }) => at <= bench.clock.now() - olderThanMs).reverse();
      const page = await bench.engine.listLetters({ olderThanMs, limit: 30 });
      expect(page.total).toBe(fits.length);
      expect(page.letters.map(({ itemId }) => itemId)).toEqual(fits.slice(0, 30).map(({ itemId }) => itemId));
      const odd = await bench.engine.listLetters({ olderThanMs, signature: "odd", limit: 1 });
      expect(odd.total).toBe(fits.filter(({ isOdd }) => isOdd).length);
    }
  });

  test("filters that are given together must all hold", async (bench) => {
    await bench.enter();
    await bury(bench, "a", { errorType: "Timeout" });
    await bury(bench, "b", { errorType: "Timeout", reprocessEligible: false });
    await bury(bench, "c");
    expect(await ids(bench, { types: ["Timeout"], eligible: true })).toEqual(["a"]);
    expect(await ids(bench, { types: ["Timeout"], itemIds: ["c"] })).toEqual([]);
  });

  test("an empty list in a filter matches nothing", async (bench) => {
    await bench.enter();
    await bury(bench, "a");
    expect(await ids(bench, { itemIds: [] })).toEqual([]);
    expect(await ids(bench, { types: [] })).toEqual([]);
    expect(await ids(bench, { classes: [] })).toEqual([]);
  });

  test("letters of one queue are not those of another", async (bench) => {
    await bench.job("job-2");
    await bench.enter();
    await bury(bench, "a");
    await bench.engine.add("job-2", [{ itemId: "a", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2")));
    const { letters, total } = await bench.engine.listLetters({ queue: "job-2", limit: 10 });
    expect([letters.length, total, letters[0]?.itemData]).toEqual([1, 1, 2]);
    expect(await ids(bench, {})).toHaveLength(2);
    expect(await ids(bench, { queue: "job-9" })).toEqual([]);
  });
}

function pages(test: Declare): void {
  test("letters are listed newest burial first, also when the clock goes back", async (bench) => {
    await bench.enter();
    await bury(bench, "a");
    bench.clock.advance(1000);
    await bury(bench, "b");
    bench.clock.advance(-500);
    await bury(bench, "c");
    expect(await bench.letterIds()).toEqual(["c", "b", "a"]);
  });

  test("pages follow one another without a gap or a double, each with the exact total", async (bench) => {
    await bench.enter();
    const all = Array.from({ length: 7 }, (_, n) => `item-${n}`);
    for (const itemId of all) await bury(bench, itemId);
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await bench.engine.listLetters({ queue: QUEUE, limit: 3, ...(cursor && { cursor }) });
      expect(page.total).toBe(7);
      seen.push(...page.letters.map(({ itemId }) => itemId));
      sizes.push(page.letters.length);
      cursor = page.next;
    }
    expect(sizes).toEqual([3, 3, 1]);
    expect(seen).toEqual(all.toReversed());
  });

  test("a page that ends with the last letter has no next one", async (bench) => {
    await bench.enter();
    await bury(bench, "a");
    await bury(bench, "b");
    expect((await bench.engine.listLetters({ limit: 2 })).next).toBeNull();
  });

  test("a cursor stays right when letters arrive and its own letter has been buried anew", async (bench) => {
    await bench.enter();
    for (const itemId of ["a", "b", "c", "d"]) await bury(bench, itemId);
    const { next } = await bench.engine.listLetters({ limit: 2 });
    await bench.begin("op-1", { filter: { itemIds: ["c"] } });
    await bench.engine.redrive("op-1", 1);
    await bench.settle(buried(await bench.leaseOne()));
    await bury(bench, "e");
    const page = await bench.engine.listLetters({ limit: 2, cursor: next ?? "" });
    expect(page.letters.map(({ itemId }) => itemId)).toEqual(["b", "a"]);
    expect(page.total).toBe(5);
  });

  test("a cursor that no page gave is an error and not the first page", async (bench) => {
    await bench.enter();
    await bury(bench, "a");
    const reading = bench.engine.listLetters({ limit: 2, cursor: "no cursor" });
    await expect(reading).rejects.toMatchObject({ name: "WorkError", code: "usage" });
  });
}
