/** The filter of letters, and the options of what can be done with them. */
import { readFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import type { TestStore } from "../../../src/exports/testing.ts";
import {
  type LetterFilter,
  type Operation,
  PermanentError,
  type Redrive,
  type RetryOptions,
} from "../../../src/index.ts";
import type { ChangeOptions } from "../../../src/library/letters.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { all, describeOptions, idsOf, NOT, type OptionCase, type OptionCases } from "./option-cases.ts";
import { passMinutes, timed } from "./policy-cases.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const declared = (redrive: Redrive) => redrive.queue<number, unknown>("q", { retries: 0 });

function pay({ data }: { readonly data: number }): never {
  if (data <= 2) throw new PermanentError(`bad total ${data}`);
  throw Object.assign(new Error("the bank is closed"), { status: 503 });
}

/** Letters o1 to o4. The first two are permanent, the others are outages. */
async function fail(redrive: Redrive) {
  const queue = declared(redrive);
  await queue.addMany([1, 2, 3, 4].map((data) => ({ data, key: `o${data}` })));
  await queue.work(pay, { untilEmpty: true, concurrency: 1 }).ended;
  return queue;
}

/** The letters that a filter selects. */
const selects =
  (filter: LetterFilter, ids: readonly string[], prepare?: (test: TestStore) => Promise<unknown>) =>
  async (test: TestStore) => {
    const queue = await fail(test.redrive);
    await prepare?.(test);
    expect(await idsOf(queue.letters(filter))).toEqual(ids);
    expect(await queue.letters(filter).count()).toBe(ids.length);
  };

/** A later failure of o3, as two hours have passed. */
async function failAgain(test: TestStore): Promise<void> {
  test.clock.advance("2h");
  const queue = declared(test.redrive);
  await queue.letters({ ids: "o3" }).retry();
  await queue.work(() => Promise.reject(new Error("again")), { untilEmpty: true }).ended;
}

const filter: OptionCases<LetterFilter> = {
  ids: { refuses: [7, "", [""], {}, null], effect: selects({ ids: ["o1", "o4"] }, ["o1", "o4"]) },
  group: {
    refuses: [7, "", {}, null],
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      const [first] = await queue.letters().groups();
      const group = first?.signature ?? "";
      const ids = await idsOf(queue.letters({ group }));
      expect(ids).toHaveLength(2);
      expect(await idsOf(queue.letters({ group: [group.slice(0, 8)] }))).toEqual(ids);
    },
  },
  type: { refuses: ["Timeuot", ["x"], 7, null], effect: selects({ type: "ServerError" }, ["o3", "o4"]) },
  class: { refuses: ["permanant", 7, null], effect: selects({ class: ["permanent"] }, ["o1", "o2"]) },
  filter: { refuses: NOT.text, effect: selects({ filter: "item > 3.0" }, ["o4"]) },
  olderThan: { refuses: NOT.duration, effect: selects({ olderThan: "1h" }, []) },
  newerThan: {
    refuses: NOT.duration,
    effect: selects({ newerThan: "1h" }, [], async ({ clock }) => clock.advance("2h")),
  },
  ageOf: {
    refuses: ["middle", 7, null],
    effect: selects({ newerThan: "1h", ageOf: "last" }, ["o3"], failAgain),
  },
  eligible: { refuses: NOT.flag, effect: selects({ eligible: true }, ["o3", "o4"]) },
  states: {
    refuses: ["gone", ["dead", "x"], null],
    effect: selects({ states: "discarded" }, ["o2"], ({ redrive }) =>
      declared(redrive).letters({ ids: "o2" }).discard({ reason: "test" }),
    ),
  },
  text: { refuses: [7, {}, null], effect: selects({ text: "BANK" }, ["o3", "o4"]) },
  attemptsMin: { refuses: NOT.count, effect: selects({ attemptsMin: 2 }, ["o3"], failAgain) },
  attemptsMax: { refuses: NOT.count, effect: selects({ attemptsMax: 1 }, ["o1", "o2", "o4"], failAgain) },
  order: {
    refuses: ["random", 7, null],
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      const order = async (given: LetterFilter) => (await all(queue.letters(given))).map(({ id }) => id);
      expect(await order({ order: "oldest" })).toEqual(["o1", "o2", "o3", "o4"]);
      expect(await order({ order: "newest" })).toEqual(["o4", "o3", "o2", "o1"]);
    },
  },
};

describeOptions<LetterFilter>("queue.letters", {
  call: (redrive, given) => redrive.queue("q").letters(given),
  prepare: fail,
  options: filter,
});

describeOptions<LetterFilter & { queue?: string }>("redrive.letters", {
  call: (redrive, given) => redrive.letters(given),
  prepare: fail,
  options: {
    ...filter,
    queue: {
      refuses: NOT.text,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await redrive.letters({ queue: "other" }).count()).toBe(0);
        expect(await redrive.letters({ queue: "q" }).count()).toBe(4);
      },
    },
  },
});

const retryOptions: OptionCases<RetryOptions> = {
  canary: {
    refuses: [0, 1.5, "1", null],
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      queue.work(pay);
      const ended = await queue.letters({ class: "outage" }).retry({ canary: 1 });
      expect(ended).toMatchObject({ selected: 2, done: 1, failed: 1, refused: 1 });
    },
  },
  rate: {
    refuses: ["fast", 5, { perSecond: 0 }, null],
    effect: async (test) => {
      const queue = await fail(test.redrive);
      await queue.letters({ class: "outage" }).retry({ rate: "1/m" });
      const { minutes, handler } = timed(test, () => 1);
      queue.work(handler);
      await passMinutes(test, 2);
      expect(minutes).toEqual([0, 1]);
    },
  },
  delay: {
    refuses: NOT.duration,
    effect: async (test) => {
      const queue = await fail(test.redrive);
      await queue.letters({ ids: "o3" }).retry({ delay: "5m" });
      const { minutes, handler } = timed(test, () => 1);
      queue.work(handler);
      await test.drain({ advance: true });
      expect(minutes).toEqual([5]);
    },
  },
  retries: {
    refuses: [-1, "3", 1.5, null],
    effect: async (test) => {
      const no = () => Promise.reject(new Error("no"));
      const { letters } = await test.redrive.map("job", [1], no, { retries: 0, backoff: "none" });
      const retried = letters.retry({ retries: 2 });
      await test.drain({ advance: true });
      await retried;
      expect(await letters.first()).toMatchObject({ failureCount: 4 });
    },
  },
  priority: {
    refuses: ["urgent", 1, null],
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      await queue.letters({ ids: "o3" }).retry({ priority: "low" });
      expect(await queue.item("o3")).toMatchObject({ state: "ready", priority: "low" });
    },
  },
  concurrency: {
    refuses: [0, 1.5, "2", null],
    effect: async ({ redrive }) => {
      let [now, most, isBroken] = [0, 0, true];
      const work = async () => {
        if (isBroken) throw new Error("no");
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now -= 1;
      };
      const { letters } = await redrive.map("job", [1, 2, 3, 4, 5], work, { retries: 0 });
      isBroken = false;
      await letters.retry({ concurrency: 2 });
      expect(most).toBe(2);
    },
  },
  force: {
    refuses: NOT.flag,
    effect: async ({ redrive }) => {
      const letters = (await fail(redrive)).letters({ class: "permanent" });
      expect(await letters.retry()).toMatchObject({ done: 0, refused: 2 });
      expect(await letters.retry({ force: true })).toMatchObject({ done: 2, refused: 0 });
    },
  },
  asNew: {
    refuses: NOT.flag,
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      expect(await queue.letters({ ids: "o3" }).retry({ asNew: true })).toMatchObject({ kind: "requeue" });
      expect(await queue.item("o3~2")).toMatchObject({ state: "ready", data: 3 });
    },
  },
  reason: {
    refuses: [7, {}, null],
    effect: async ({ redrive }) => {
      const letters = (await fail(redrive)).letters();
      expect((await letters.retry({ reason: "the bank is open" })).reason).toBe("the bank is open");
    },
  },
  wait: {
    refuses: NOT.flag,
    effect: async ({ redrive }) => {
      const queue = await fail(redrive);
      queue.work(() => 1);
      const ended = await queue.letters({ class: "outage" }).retry({ wait: true });
      expect(ended).toMatchObject({ status: "ended", succeeded: 2, remaining: 0 });
    },
  },
  signal: {
    refuses: NOT.signal,
    effect: async ({ redrive }) => {
      const letters = (await fail(redrive)).letters({ ids: "o3" });
      const waiting = letters.retry({ wait: true, signal: AbortSignal.abort() });
      await expect(waiting).rejects.toMatchObject({ code: "interrupted" });
    },
  },
};

describeOptions<RetryOptions>("letters.retry", {
  call: (redrive, given) => redrive.queue("q").letters().retry(given),
  prepare: fail,
  options: retryOptions,
});

const reason = (change: (redrive: Redrive, options: ChangeOptions) => Promise<Operation>) =>
  ({
    refuses: [7, {}, null],
    effect: async ({ redrive }) => {
      await fail(redrive);
      expect((await change(redrive, { reason: "a test" })).reason).toBe("a test");
    },
  }) satisfies OptionCase;

const signal = (change: (redrive: Redrive, options: ChangeOptions) => Promise<Operation>) =>
  ({
    refuses: NOT.signal,
    effect: async ({ redrive }) => {
      await fail(redrive);
      const stopped = await change(redrive, { signal: AbortSignal.abort() });
      expect(stopped).toMatchObject({ selected: 4, done: 0 });
    },
  }) satisfies OptionCase;

const lettersOf = (redrive: Redrive) => redrive.queue<number>("q").letters();

const edit = (redrive: Redrive, given: object) => lettersOf(redrive).edit(({ data }) => data + 1, given);
describeOptions<ChangeOptions & { note?: string }>("letters.edit", {
  call: edit,
  prepare: fail,
  options: {
    reason: reason(edit),
    signal: signal(edit),
    note: {
      refuses: [7, {}, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        await edit(redrive, { note: "a typing error" });
        expect((await lettersOf(redrive).first())?.amendments).toMatchObject([{ note: "a typing error" }]);
      },
    },
  },
});

const discard = (redrive: Redrive, given: object) => lettersOf(redrive).discard({ reason: "x", ...given });
describeOptions<ChangeOptions>("letters.discard", {
  call: discard,
  base: { reason: "x" },
  prepare: fail,
  options: {
    reason: { ...reason(discard), refuses: [...NOT.text, undefined] },
    signal: signal(discard),
  },
});

const restore = (redrive: Redrive, given: object) => lettersOf(redrive).restore(given);
const restoreDiscarded = async (redrive: Redrive, given: object) => {
  await discard(redrive, {});
  return redrive.queue("q").letters({ states: "discarded" }).restore(given);
};
describeOptions<ChangeOptions>("letters.restore", {
  call: restore,
  prepare: fail,
  options: { reason: reason(restoreDiscarded), signal: signal(restoreDiscarded) },
});

const purge = (redrive: Redrive, given: object) => lettersOf(redrive).purge(given);
describeOptions<ChangeOptions & { archive?: boolean }>("letters.purge", {
  call: purge,
  prepare: fail,
  options: {
    reason: reason(purge),
    signal: signal(purge),
    archive: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect((await lettersOf(redrive).purge({ archive: false })).archive).toBeUndefined();
      },
    },
  },
});

describeOptions<{ limit?: number; cursor?: string }>("letters.page", {
  call: (redrive, given) => lettersOf(redrive).page(given),
  prepare: fail,
  options: {
    limit: {
      refuses: [0, 1.5, "3", null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect((await lettersOf(redrive).page({ limit: 3 })).letters).toHaveLength(3);
      },
    },
    cursor: {
      refuses: [7, {}, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        const { next } = await lettersOf(redrive).page({ limit: 3 });
        expect((await lettersOf(redrive).page({ cursor: next ?? "" })).letters).toHaveLength(1);
      },
    },
  },
});

describeOptions<{ force?: boolean }>("letters.preview", {
  call: (redrive, given) => lettersOf(redrive).preview(given),
  prepare: fail,
  options: {
    force: {
      refuses: NOT.flag,
      effect: async ({ redrive }) => {
        await fail(redrive);
        expect(await lettersOf(redrive).preview()).toMatchObject({ redrivable: 2 });
        expect(await lettersOf(redrive).preview({ force: true })).toMatchObject({ redrivable: 4 });
      },
    },
  },
});

describeOptions<{ format?: "csv" }>("letters.export", {
  call: (redrive, given) => lettersOf(redrive).export(directory.file("letters"), given),
  prepare: fail,
  options: {
    format: {
      refuses: ["xls", 7, null],
      effect: async ({ redrive }) => {
        await fail(redrive);
        const path = directory.file("letters");
        await lettersOf(redrive).export(path, { format: "csv" });
        expect(readFileSync(path, "utf8")).toMatch(/^[a-z_,]*item_id/);
      },
    },
  },
});
