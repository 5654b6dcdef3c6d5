/** What a test of a program gets from `redrive/testing`: a store, a clock, `drain`, and assertions that explain themselves. */
import { AssertionError } from "node:assert";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  assertLetter,
  assertLetters,
  assertNoLetters,
  openTest,
  TestClock,
  type TestStore,
} from "../../src/exports/testing.ts";
import { PermanentError } from "../../src/index.ts";

const invoice = z.object({ vat: z.string(), total: z.number() });

function declareInvoices({ redrive }: TestStore) {
  return redrive.queue("invoices", { schema: invoice, retries: 2, backoff: "fixed:1m" });
}

describe("a test store", () => {
  let test: TestStore;
  beforeEach(async () => {
    test = await openTest({ start: "2026-03-01T09:00:00Z" });
  });
  afterEach(() => test.close());

  it("drain waits until everything that is due was processed, by several workers of several queues", async () => {
    const [first, second] = [test.redrive.queue<number>("first"), test.redrive.queue<number>("second")];
    const seen: number[] = [];
    first.work(async ({ data }) => {
      await new Promise((resolve) => setTimeout(resolve, data));
      await second.add(data * 10);
    });
    second.work(({ data }) => void seen.push(data));
    for (const number of [1, 2, 3]) await first.add(number);
    await test.drain();
    expect(seen.sort()).toEqual([10, 20, 30]);
  });

  it("drain waits for a worker that has just been started", async () => {
    const queue = test.redrive.queue<string>("names");
    await queue.add("ana");
    const seen: string[] = [];
    queue.work(({ data }) => void seen.push(data));
    await test.drain();
    expect(seen).toEqual(["ana"]);
  });

  it("drain waits for a worker that takes the place of another", async () => {
    const queue = test.redrive.queue<string>("names");
    await queue.work(() => undefined, { untilEmpty: true }).ended;
    await queue.add("ana");
    const seen: string[] = [];
    queue.work(({ data }) => void seen.push(data));
    await test.drain();
    expect(seen).toEqual(["ana"]);
  });

  it("a retry waits until the clock is moved to its time, and not a millisecond less", async () => {
    const invoices = declareInvoices(test);
    const attempts: Date[] = [];
    invoices.work(() => {
      attempts.push(test.clock.date());
      throw new Error("bank is closed");
    });
    await invoices.add({ vat: "DE1", total: 1 }, { key: "4711" });
    await test.drain();
    test.clock.advance("59999ms");
    await test.drain();
    expect(attempts).toHaveLength(1);
    test.clock.advance(1);
    await test.drain();
    await assertNoLetters(invoices);
    test.clock.advance("1m");
    await test.drain();
    expect(attempts.map((at) => at.toISOString())).toEqual([
      "2026-03-01T09:00:00.000Z",
      "2026-03-01T09:01:00.000Z",
      "2026-03-01T09:02:00.000Z",
    ]);
    await assertLetters(invoices, [{ id: "4711", failures: 3, message: "bank is closed" }]);
  });

  it("a retry waits as long as the server has asked for in Retry-After", async () => {
    const queue = test.redrive.queue<number>("pages", { retries: 3, backoff: "none" });
    const errors = [
      { response: new Response(null, { status: 429, headers: { "Retry-After": "90" } }) },
      { status: 503, retryAfter: 30 },
      { statusCode: 503, headers: { "retry-after": "Sun, 01 Mar 2026 09:10:00 GMT" } },
    ];
    const attempts: string[] = [];
    queue.work(({ attempt }) => {
      attempts.push(test.clock.date().toISOString().slice(11, 19));
      const error = errors[attempt - 1];
      if (error) throw Object.assign(new Error("busy"), error);
    });
    await queue.add(1);
    await test.drain({ advance: true });
    expect(attempts).toEqual(["09:00:00", "09:01:30", "09:02:00", "09:10:00"]);
  });

  it("drain with advance moves the clock through all retries and delays", async () => {
    const invoices = declareInvoices(test);
    await invoices.add({ vat: "", total: 1 }, { key: "now" });
    await invoices.add({ vat: "DE1", total: 2 }, { key: "later", delay: "7d" });
    invoices.work(({ data }) => {
      if (!data.vat) throw new Error("no VAT id");
    });
    await test.drain({ advance: true });
    expect(test.clock.date().toISOString()).toBe("2026-03-08T09:00:00.000Z");
    expect(await invoices.counts()).toMatchObject({ done: 1, dead: 1, ready: 0 });
  });

  it("a schedule runs when the clock reaches its time", async () => {
    const reports = test.redrive.queue<{ kind: string }>("reports");
    await reports.ready();
    const runs: string[] = [];
    reports.work(() => void runs.push(test.clock.date().toISOString()));
    await test.redrive.schedule("nightly", { queue: "reports", cron: "0 3 * * *", data: { kind: "daily" } });
    await test.drain();
    expect(runs).toEqual([]);
    test.clock.set("2026-03-02T03:00:00Z");
    await test.drain();
    test.clock.advance("1d");
    await test.drain();
    expect(runs).toEqual(["2026-03-02T03:00:00.000Z", "2026-03-03T03:00:00.000Z"]);
  });

  it("items of a queue without a worker, and items above a rate limit, do not block drain", async () => {
    const [idle, limited] = [test.redrive.queue("idle"), test.redrive.queue("limited", { rate: "1/m" })];
    await idle.add(1);
    limited.work(() => undefined);
    await limited.addMany([1, 2, 3].map((data) => ({ data })));
    await test.drain();
    expect((await idle.counts()).ready).toBe(1);
    expect((await limited.counts()).ready).toBeGreaterThan(0);
  });

  it("drain names the items whose handlers do not end", async () => {
    const queue = test.redrive.queue("stuck");
    await queue.add(1, { key: "a" });
    queue.work(({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    await expect(test.drain({ timeout: 30 })).rejects.toMatchObject({
      code: "wait_timeout",
      message: expect.stringContaining("a of stuck"),
    });
  });

  it("a map runs to its end, also through its retries", async () => {
    const failures = new Map<number, number>();
    const map = test.redrive.map(
      "roots",
      [4, -1],
      (number) => {
        failures.set(number, (failures.get(number) ?? 0) + 1);
        if (number < 0) throw new PermanentError(`${number} has no root`);
        if (failures.get(number) === 1) throw new Error("try again");
        return Math.sqrt(number);
      },
      { retries: 1, backoff: "fixed:1h" },
    );
    await test.drain({ advance: true });
    const { succeeded, dead, letters } = await map;
    expect({ succeeded, dead }).toEqual({ succeeded: 1, dead: 1 });
    await assertLetter(letters, { data: -1, class: "permanent" });
  });

  it("a result needs neither drain nor a moved clock", async () => {
    const queue = test.redrive.queue<number, number>("doubles");
    queue.work(({ data }) => data * 2, { concurrency: 2 });
    const added = await queue.add(21);
    expect(await added.result()).toBe(42);
  });

  it("letters of the whole store, retried after the cause was fixed, are gone", async () => {
    const invoices = declareInvoices(test);
    let isOpen = false;
    invoices.work(() => {
      if (!isOpen) throw new PermanentError("bank is closed");
    });
    await invoices.add({ vat: "DE1", total: 1 });
    await test.drain();
    await assertLetter(test.redrive, { message: "bank is closed" });
    isOpen = true;
    await invoices.letters().retry({ force: true });
    await test.drain();
    await assertNoLetters(test.redrive);
  });

  it("the clock only moves forward, and refuses what is no time", () => {
    expect(() => test.clock.set("2026-02-01T00:00:00Z")).toThrow(RangeError);
    expect(() => test.clock.advance("soon")).toThrow(/clock\.advance: by: expected a duration/);
    expect(() => new TestClock("yesterday")).toThrow(/TestClock: start: expected a Date/);
    test.clock.set("2026-04-01T00:00:00Z");
    expect(test.clock.date()).toEqual(new Date("2026-04-01T00:00:00Z"));
  });

  it("misspelt options are refused", async () => {
    // @ts-expect-error the option is `start`
    await expect(openTest({ starts: 1 })).rejects.toMatchObject({ code: "usage", field: "starts" });
    // @ts-expect-error the option is `advance`
    await expect(test.drain({ advances: true })).rejects.toMatchObject({ code: "usage", field: "advances" });
    const invoices = declareInvoices(test);
    // @ts-expect-error the field is `message`
    await expect(assertLetter(invoices, { mesage: "x" })).rejects.toMatchObject({ hint: /message/ });
  });
});

describe("an assertion on letters", () => {
  let test: TestStore;
  beforeEach(async () => {
    test = await openTest();
    const invoices = declareInvoices(test);
    await invoices.add({ vat: "", total: 1 }, { key: "a" });
    await invoices.add({ vat: "", total: 2 }, { key: "b" });
    invoices.work(({ data }) => {
      throw new PermanentError(`no VAT id for ${data.total} EUR`);
    });
    await test.drain();
  });
  afterEach(() => test.close());

  async function messageOf(assertion: Promise<unknown>): Promise<string> {
    const error = await assertion.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(AssertionError);
    return (error as AssertionError).message;
  }

  it("returns the one letter that matches, with its types", async () => {
    const letter = await assertLetter(declareInvoices(test), { message: /for 2 EUR$/g, eligible: false });
    expect(letter.data.total).toBe(2);
  });

  it("lists the letters that there are when none matches, or several", async () => {
    const invoices = declareInvoices(test);
    expect(await messageOf(assertLetter(invoices, { id: "a", message: "no such" }))).toBe(
      [
        'No letter matches { id: "a", message: "no such" }.',
        "Letters (2):",
        '  b · dead · Unknown · permanent · 1 failure · no VAT id for 2 EUR · {"vat":"","total":2}',
        '  a · dead · Unknown · permanent · 1 failure · no VAT id for 1 EUR · {"vat":"","total":1}',
      ].join("\n"),
    );
    expect(await messageOf(assertLetter(invoices, { failures: 1 }))).toMatch(
      /^2 letters match \{ failures: 1 \}/,
    );
    expect(await messageOf(assertNoLetters(invoices))).toMatch(/^There are letters, but none was expected/);
  });

  it.each([
    { id: "c" },
    { data: { vat: "", total: 3 } },
    { message: "for 3" },
    { reason: /never/ },
    { type: "Timeout" },
    { class: "transient" },
    { state: "discarded" },
    { failures: 2 },
    { eligible: true },
    { needsReview: true },
  ] as const)("%j alone can fail it", async (expected) => {
    expect(await messageOf(assertLetter(declareInvoices(test), expected))).toContain("No letter matches");
  });

  it("finds missing and unexpected letters, and pairs each expectation with a letter of its own", async () => {
    const invoices = declareInvoices(test);
    await assertLetters(invoices, [{ failures: 1 }, { id: "b" }]);
    await assertLetters(invoices, [{ id: "b" }, { failures: 1 }]);
    expect(await messageOf(assertLetters(invoices, [{ id: "a" }, { id: "c" }]))).toMatch(
      /^No letter matches \{ id: "c" \}\.\nThe letter b was not expected\.\nLetters \(2\):/,
    );
    expect(await messageOf(assertLetters(invoices, [{ id: "a" }]))).toContain(
      "The letter b was not expected",
    );
  });
});
