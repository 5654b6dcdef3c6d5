/** The contract of filters: each returns exactly the matching letters, and a page has their exact total. */
import { expect } from "vitest";
import type { LetterQuery } from "../../src/engine.ts";
import { buried, failureOf, retried, succeeded } from "../support/settlements.ts";
import { type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function letterFilterTests(test: Declare): void {
  fields(test);
  lists(test);
  states(test);
  ages(test);
  texts(test);
}

/** Three letters that differ in every property that a filter can use. */
async function threeLetters(bench: Workbench): Promise<void> {
  await bench.registerHolder();
  await bench.bury(["a"], { errorType: "Timeout", errorClass: "transient", signature: "s1" });
  await bench.bury(["ab"], { errorClass: "permanent", reprocessEligible: false, signature: "s2" });
  await bench.add("c");
  await bench.settle(retried(await bench.leaseOne()));
  await bench.settle(retried(await bench.leaseOne()));
  await bench.settle(buried(await bench.leaseOne(), { errorType: "Unknown" }));
}

function fields(test: Declare): void {
  test("letters are found by the complete ids of their items", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ itemIds: ["a", "c", "none"] })).toEqual(["c", "a"]);
  });

  test("letters are found by error type", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ types: ["Timeout"] })).toEqual(["a"]);
    expect(await bench.letterIds({ types: ["Timeout", "Unknown"] })).toEqual(["c", "a"]);
  });

  test("letters are found by error class", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ classes: ["permanent"] })).toEqual(["ab"]);
    expect(await bench.letterIds({ classes: ["permanent", "transient"] })).toEqual(["ab", "a"]);
  });

  test("letters are found by one or several signatures", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ signatures: ["s1"] })).toEqual(["a"]);
    expect(await bench.letterIds({ signatures: ["s2", "s1", "s9"] })).toEqual(["ab", "a"]);
  });

  test("letters are found by eligibility", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ eligible: true })).toEqual(["c", "a"]);
    expect(await bench.letterIds({ eligible: false })).toEqual(["ab"]);
  });

  test("a letter in retry is found by its current number of attempts, before and after it fails again", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    const ids = async (query: Partial<LetterQuery>) => {
      const { letters, total } = await bench.engine.listLetters({ limit: 9, ...query });
      expect(total).toBe(letters.length);
      return letters.map(({ itemId }) => itemId);
    };
    const lease = await bench.redriveOne("op-1", "b");
    expect(await ids({ attemptsMin: 2 })).toEqual(["b"]);
    expect(await ids({ order: "attempts" })).toEqual(["b", "c", "a"]);
    expect(await ids({ order: "item" })).toEqual(["a", "b", "c"]);
    expect(await ids({ attemptsMax: 1, states: ["dead"] })).toEqual(["c", "a"]);
    await bench.settle(buried(lease));
    expect(await ids({ attemptsMin: 2, states: ["dead"] })).toEqual(["b"]);
    expect(await ids({ attemptsMax: 1 })).toEqual(["c", "a"]);
    expect(await ids({ order: "attempts", types: ["CommandFailed"] })).toEqual(["b", "c", "a"]);
    await bench.settle(succeeded(await bench.redriveOne("op-2", "b")));
    expect(await ids({ order: "attempts" })).toEqual(["c", "a"]);
    expect(await ids({ attemptsMin: 3, states: ["dead", "done"] })).toEqual(["b"]);
  });

  test("letters are found by the number of started attempts, bounds included", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ attemptsMin: 2 })).toEqual(["c"]);
    expect(await bench.letterIds({ attemptsMin: 3 })).toEqual(["c"]);
    expect(await bench.letterIds({ attemptsMin: 4 })).toEqual([]);
    expect(await bench.letterIds({ attemptsMax: 1 })).toEqual(["ab", "a"]);
    expect(await bench.letterIds({ attemptsMax: 3 })).toEqual(["c", "ab", "a"]);
    expect(await bench.letterIds({ attemptsMin: 1, attemptsMax: 2 })).toEqual(["ab", "a"]);
    expect(await bench.letterIds({ attemptsMin: 3, attemptsMax: 2 })).toEqual([]);
  });

  test("letters of one queue do not include those of another", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.engine.add("job-2", [{ itemId: "a", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2")));
    const { letters, total } = await bench.engine.listLetters({ queue: "job-2", limit: 10 });
    expect([letters.length, total, letters[0]?.itemData]).toEqual([1, 1, 2]);
    expect(await bench.engine.listLetters({ limit: 10 })).toMatchObject({ total: 2 });
    expect(await bench.letterIds({ queue: "job-9" })).toEqual([]);
  });
}

function lists(test: Declare): void {
  test("all conditions of a filter must match", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ types: ["Timeout", "Unknown"], attemptsMin: 2 })).toEqual(["c"]);
    expect(await bench.letterIds({ types: ["Timeout"], eligible: false })).toEqual([]);
    expect(await bench.letterIds({ signatures: ["s1"], itemIds: ["ab"] })).toEqual([]);
    expect(await bench.letterIds({ classes: ["permanent"], signatures: ["s2"], eligible: false })).toEqual([
      "ab",
    ]);
    expect(await bench.letterIds({ text: "attempt 3", eligible: true, attemptsMax: 3 })).toEqual(["c"]);
  });

  test("an empty list in a filter matches nothing", async (bench) => {
    await threeLetters(bench);
    expect(await bench.letterIds({ itemIds: [] })).toEqual([]);
    expect(await bench.letterIds({ types: [] })).toEqual([]);
    expect(await bench.letterIds({ classes: [] })).toEqual([]);
    expect(await bench.letterIds({ signatures: [] })).toEqual([]);
    expect(await bench.letterIds({ states: [] })).toEqual([]);
  });

  test("an operation whose filter has an empty list selects nothing", async (bench) => {
    await threeLetters(bench);
    expect(await bench.begin("op-1", { filter: { signatures: [] } })).toMatchObject({ selected: 0 });
    expect(await bench.begin("op-2", { filter: { states: [] } })).toMatchObject({ selected: 0 });
  });

  test("all ids are found even if there are more than one statement can have", async (bench) => {
    await threeLetters(bench);
    const itemIds = [...Array.from({ length: 40_000 }, (_, n) => `none-${n}`), "ab"];
    expect(await bench.letterIds({ itemIds })).toEqual(["ab"]);
  });
}

function states(test: Declare): void {
  test("states distinguish waiting letters from resolved ones", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["resolved", "discarded", "leased", "ready", "dead"]);
    await bench.settle(succeeded(await bench.redriveOne("op-1", "resolved")));
    await bench.operate("discard", ["discarded"]);
    await bench.redriveOne("op-2", "leased");
    await bench.operate("redrive", ["ready"]);
    expect(await bench.letterIds()).toEqual(["dead", "ready", "leased"]);
    for (const state of ["dead", "ready", "leased", "discarded"] as const)
      expect(await bench.letterIds({ states: [state] })).toEqual([state]);
    expect(await bench.letterIds({ states: ["done"] })).toEqual(["resolved"]);
    expect(await bench.letterIds({ states: ["done", "discarded", "dead"] })).toEqual([
      "dead",
      "discarded",
      "resolved",
    ]);
    expect(await bench.letterIds({ states: ["held", "skipped"] })).toEqual([]);
  });

  test("items that were never letters have no letter state", async (bench) => {
    await bench.registerHolder();
    await bench.add("done", "ready");
    await bench.settle(succeeded(await bench.leaseOne()));
    expect(await bench.letterIds({ states: ["done", "ready", "leased", "dead", "discarded"] })).toEqual([]);
  });
}

function ages(test: Declare): void {
  test("the age of a letter is measured from its first failure, or from its last one if requested", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await bench.settle(retried(await bench.leaseOne()));
    bench.clock.advance(5000);
    await bench.settle(buried(await bench.leaseOne()));
    bench.clock.advance(2000);
    await bench.bury(["b"]);
    expect(await bench.letterIds({ olderThanMs: 0 })).toEqual(["b", "a"]);
    expect(await bench.letterIds({ olderThanMs: 7000 })).toEqual(["a"]);
    expect(await bench.letterIds({ olderThanMs: 7001 })).toEqual([]);
    expect(await bench.letterIds({ olderThanMs: 2000, ageOf: "last" })).toEqual(["a"]);
    expect(await bench.letterIds({ olderThanMs: 2001, ageOf: "last" })).toEqual([]);
    const { ref } = await bench.item("a");
    expect(await bench.engine.readLetter(ref)).toMatchObject({
      firstAttempt: bench.clock.now() - 7000,
      lastAttempt: bench.clock.now() - 2000,
    });
  });

  test("newer-than finds exactly the letters that older-than excludes", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    bench.clock.advance(5000);
    await bench.bury(["b"]);
    bench.clock.advance(5000);
    await bench.bury(["c"]);
    for (const ageOf of ["first", "last", "arrival"] as const) {
      expect(await bench.letterIds({ newerThanMs: 5000, ageOf })).toEqual(["c"]);
      expect(await bench.letterIds({ newerThanMs: 5001, ageOf })).toEqual(["c", "b"]);
      expect(await bench.letterIds({ newerThanMs: 10_000, olderThanMs: 1, ageOf })).toEqual(["b"]);
      expect(await bench.letterIds({ newerThanMs: 1, olderThanMs: 5000, ageOf })).toEqual([]);
      expect(await bench.letterIds({ newerThanMs: 6000, signatures: ["none"], ageOf })).toEqual([]);
      const page = await bench.engine.listLetters({ newerThanMs: 5001, ageOf, order: "oldest", limit: 1 });
      expect(page).toMatchObject({ total: 2, letters: [{ itemId: "b" }] });
    }
  });

  test("the earliest failure is that of the waiting letters", async (bench) => {
    await bench.registerHolder();
    expect(await bench.engine.earliestFailure(QUEUE)).toBeNull();
    const first = bench.clock.now();
    await bench.bury(["a"]);
    bench.clock.advance(5000);
    await bench.bury(["b"], { signature: "s2" });
    expect(await bench.engine.earliestFailure(QUEUE)).toBe(first);
    bench.clock.advance(5000);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    expect(await bench.engine.earliestFailure(QUEUE)).toBe(first);
    await bench.operate("discard", ["a"]);
    expect(await bench.engine.earliestFailure(QUEUE)).toBe(first + 5000);
    expect(await bench.engine.earliestFailure("none")).toBeNull();
  });

  test("the age is measured from the last failure even if the letter was discarded and restored since", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b"]);
    bench.clock.advance(5000);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    await bench.operate("discard", ["b"]);
    const old = { olderThanMs: 5000, ageOf: "last" } as const;
    expect(await bench.letterIds({ ...old, states: ["discarded"] })).toEqual(["b"]);
    await bench.operate("restore", ["b"]);
    expect(await bench.letterIds(old)).toEqual(["b"]);
    expect(await bench.letterIds({ olderThanMs: 5000 })).toEqual(["a", "b"]);
  });

  test("ages are exact among thousands of letters even if the clock was set back", async (bench) => {
    await bench.registerHolder();
    const letterSequences: { itemId: string; at: number; isOdd: boolean }[] = [];
    for (const [batch, ms] of [0, 4000, 4000, -6000, 1000, 5000].entries()) {
      bench.clock.advance(ms);
      const items = Array.from({ length: 1500 }, (_, index) => newItem(`${batch}-${index}`));
      await bench.engine.add(QUEUE, items);
      const leased = await bench.lease(items.length);
      const isOdd = (ref: number) => ref % 2 === 1;
      await bench.settle(...leased.map((one) => buried(one, { signature: isOdd(one.ref) ? "odd" : "even" })));
      const at = bench.clock.now();
      letterSequences.push(...leased.map(({ itemId, ref }) => ({ itemId, at, isOdd: isOdd(ref) })));
    }
    for (const olderThanMs of [0, 1, 4000, 5000, 7999, 8000, 8001]) {
      const fits = letterSequences.filter(({ at }) => at <= bench.clock.now() - olderThanMs).reverse();
      const others = letterSequences.filter(({ at }) => at > bench.clock.now() - olderThanMs).reverse();
      for (const ageOf of ["first", "last"] as const) {
        const page = await bench.engine.listLetters({ olderThanMs, ageOf, limit: 30 });
        expect(page.total).toBe(fits.length);
        expect(idsOf(page.letters)).toEqual(idsOf(fits.slice(0, 30)));
        const odd = await bench.engine.listLetters({ olderThanMs, ageOf, signatures: ["odd"], limit: 1 });
        expect(odd.total).toBe(fits.filter(({ isOdd }) => isOdd).length);
        const newer = await bench.engine.listLetters({ newerThanMs: olderThanMs, ageOf, limit: 30 });
        expect(newer.total).toBe(others.length);
        expect(idsOf(newer.letters)).toEqual(idsOf(others.slice(0, 30)));
      }
    }
  });
}

const idsOf = (letters: readonly { readonly itemId: string }[]) => letters.map(({ itemId }) => itemId);

function texts(test: Declare): void {
  const MESSAGES = {
    quotes: `unexpected token '"' in "a's b.json"`,
    backslash: String.raw`cannot open C:\temp\n_1%.txt`,
    lines: "first line\nsecond line\ttabbed",
    umlauts: "Übergröße: die Straße ist gesperrt",
    plain: "Connection REFUSED by upstream",
  } as const;

  const FOUND: readonly (readonly [text: string, itemIds: readonly string[]])[] = [
    [`'"' in "a's`, ["quotes"]],
    [String.raw`temp\n_1%`, ["backslash"]],
    ["\\", ["backslash"]],
    ["line\nsecond", ["lines"]],
    ["\t", ["lines"]],
    ["connection refused", ["plain"]],
    ["ÜBERGRÖSSE", []],
    ["übergröße", ["umlauts"]],
    ["ÜBERGRÖ", ["umlauts"]],
    ["%", ["backslash"]],
    ["n_1", ["backslash"]],
    ["a_s", []],
    ["first%line", []],
    ["*", []],
    ["", ["plain", "umlauts", "lines", "backslash", "quotes"]],
  ];

  test("a search finds text in the last message literally, ignoring case", async (bench) => {
    await bench.registerHolder();
    for (const [itemId, message] of Object.entries(MESSAGES)) await bench.buryFor(itemId, message);
    const found = await Promise.all(FOUND.map(async ([text]) => [text, await bench.letterIds({ text })]));
    expect(found).toEqual(FOUND);
  });

  test("a search reads the last failure and not earlier ones", async (bench) => {
    await bench.registerHolder();
    await bench.buryFor("a", "disk full");
    const lease = await bench.redriveOne("op-1", "a");
    await bench.settle({ ...buried(lease), failure: failureOf(lease, { errorMessage: "no network" }) });
    expect(await bench.letterIds({ text: "disk" })).toEqual([]);
    expect(await bench.letterIds({ text: "network" })).toEqual(["a"]);
  });

  test("a letter in retry is found by the message of its latest attempt", async (bench) => {
    await bench.registerHolder();
    await bench.buryFor("a", "disk full");
    const lease = await bench.redriveOne("op-1", "a");
    await bench.settle({
      ...retried(lease, 1000),
      failure: failureOf(lease, { errorMessage: "no network" }),
    });
    expect(await bench.letterIds({ text: "disk" })).toEqual([]);
    expect(await bench.letterIds({ text: "network" })).toEqual(["a"]);
  });
}
