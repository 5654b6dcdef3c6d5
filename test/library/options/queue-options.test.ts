/** The options of a queue, of its breaker and of `queue.change`. */
import { expect } from "vitest";
import { z } from "zod";
import type { TestStore } from "../../../src/exports/testing.ts";
import type { QueueOptions, Task } from "../../../src/index.ts";
import type { BreakerOptions } from "../../../src/library/queue-options.ts";
import { describeOptions, gate, NOT, type OptionCases } from "./option-cases.ts";
import {
  failing,
  loseWorker,
  passMinutes,
  policyCases,
  type StartProcessing,
  timed,
} from "./policy-cases.ts";

const start: StartProcessing = async ({ test, options, count, handler }) => {
  const queue = test.redrive.queue<number, unknown>("q", options);
  await queue.addMany(Array.from({ length: count }, (_, data) => ({ data })));
  queue.work(handler, { concurrency: 1 });
  return "q";
};

const breakerState = async ({ redrive }: TestStore) => (await redrive.queues())[0]?.breaker?.state;

/** Two of the items fail and open the breaker, whose probes follow after 7 minutes. */
async function openBreaker(test: TestStore, given: BreakerOptions, handler: (task: Task<number>) => unknown) {
  const breaker = { failureThreshold: 2, timeout: "7m", ...given };
  const queue = test.redrive.queue<number, unknown>("q", { retries: 0, breaker });
  await queue.addMany([1, 2].map((data) => ({ data })));
  const fails = queue.work(failing, { concurrency: 1 });
  await test.drain();
  await fails.stop();
  expect(await breakerState(test)).toBe("open");
  await queue.addMany([3, 4, 5, 6].map((data) => ({ data })));
  queue.work(handler, { concurrency: 4 });
}

const breaker: OptionCases<BreakerOptions> = {
  failureThreshold: {
    refuses: [0, "5", null],
    effect: async (test) => {
      const { minutes, handler } = timed(test, failing);
      await start({ test, options: { retries: 0, breaker: { failureThreshold: 3 } }, count: 5, handler });
      await test.drain();
      expect(minutes).toHaveLength(3);
    },
  },
  timeout: {
    refuses: [...NOT.duration, 0],
    effect: async (test) => {
      const { minutes, handler } = timed(test, () => 1);
      await openBreaker(test, { timeout: "4m" }, handler);
      await passMinutes(test, 4);
      expect(minutes[0]).toBe(4);
    },
  },
  successThreshold: {
    refuses: [0, 1.5, null],
    effect: async (test) => {
      const [first, second] = [gate(), gate()];
      const ends = [first.opened, second.opened];
      let begun = 0;
      const handler = async () => ends[begun++];
      await openBreaker(test, { successThreshold: 2, halfOpenRequests: 1 }, handler);
      test.clock.advance("7m");
      const held = test.drain();
      first.open();
      await expect.poll(() => begun).toBe(2);
      expect(await breakerState(test)).toBe("half_open");
      second.open();
      await held;
      expect(await breakerState(test)).toBe("closed");
    },
  },
  halfOpenRequests: {
    refuses: [0, "all", null],
    effect: async (test) => {
      const end = gate();
      let running = 0;
      const handler = () => {
        running += 1;
        return end.opened;
      };
      await openBreaker(test, { halfOpenRequests: 2 }, handler);
      test.clock.advance("7m");
      const drained = test.drain();
      await expect.poll(() => running).toBe(2);
      expect((await test.redrive.engine.count("q")).leased).toBe(2);
      end.open();
      await drained;
    },
  },
};

const options: OptionCases<QueueOptions> = {
  ...policyCases(start),
  schema: {
    refuses: ["string", 7, []],
    effect: async ({ redrive }) => {
      const queue = redrive.queue("q", { schema: z.object({ n: z.number() }) });
      // @ts-expect-error the data is an object
      await expect(queue.add("x")).rejects.toMatchObject({ code: "input_invalid" });
      const json = redrive.queue<unknown>("json", { schema: { type: "string" } });
      await expect(json.add(7)).rejects.toMatchObject({ code: "input_invalid" });
      expect((await redrive.queue("json", { schema: null }).add(7)).outcome).toBe("added");
    },
  },
  result: {
    refuses: [{}, { type: "string" }, "x", null],
    effect: async (test) => {
      const queue = test.redrive.queue("q", { schema: z.number(), result: z.object({ ok: z.boolean() }) });
      await queue.add(1);
      queue.work(() => ({ ok: "yes" }) as unknown as { ok: boolean });
      await test.drain({ advance: true });
      expect(await queue.letters().first()).toMatchObject({ type: "ValidationFailed", failureCount: 1 });
    },
  },
  priority: {
    refuses: ["urgent", 1, null],
    effect: async (test) => {
      const queue = test.redrive.queue<string>("q", { priority: "low" });
      await queue.add("first");
      await queue.add("second", { priority: "normal" });
      const order: string[] = [];
      queue.work(({ data }) => void order.push(data), { concurrency: 1 });
      await test.drain();
      expect(order).toEqual(["second", "first"]);
    },
  },
  unique: {
    refuses: [true, "yes", null],
    effect: async ({ redrive }) => {
      for (const [unique, outcome] of [
        ["return", "existing"],
        ["replace", "replaced"],
      ] as const) {
        const queue = redrive.queue<number>(unique, { unique });
        await queue.add(1, { key: "k" });
        expect((await queue.add(2, { key: "k" })).outcome).toBe(outcome);
      }
      const reject = redrive.queue<number>("reject", { unique: "reject" });
      await reject.add(1, { key: "k" });
      await expect(reject.add(2, { key: "k" })).rejects.toMatchObject({ code: "item_exists" });
    },
  },
  expiresAfter: {
    refuses: [-1, 0, "soon", true],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q", { expiresAfter: "1h" });
      await queue.add(1);
      test.clock.advance("61m");
      const ran: number[] = [];
      queue.work(({ data }) => void ran.push(data));
      await test.drain();
      expect(ran).toEqual([]);
      expect(await queue.counts()).toMatchObject({ dead: 1 });
    },
  },
  lease: {
    refuses: [10, "999ms", "2d", null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q", { lease: "3s" });
      queue.work(() => undefined);
      await test.drain();
      const [holder] = await test.redrive.engine.listHolders();
      expect(holder?.expiresAt).toBe(test.clock.now() + 3000);
    },
  },
  maxLosses: {
    refuses: [0, "3", 1.5, null],
    effect: async (test) => {
      const queue = test.redrive.queue<number>("q", { maxLosses: 2, backoff: "none" });
      await queue.add(1);
      for (const counts of [
        { ready: 1, dead: 0 },
        { ready: 0, dead: 1 },
      ]) {
        await loseWorker(test, "q");
        await queue.pause(); // the worker only takes the lease back
        const worker = queue.work(() => undefined);
        await test.drain();
        await worker.stop();
        await queue.resume();
        expect(await queue.counts()).toMatchObject(counts);
      }
    },
  },
  description: {
    refuses: [7, {}],
    effect: async ({ redrive }) => {
      await redrive.queue("q", { description: "for invoices" }).ready();
      expect((await redrive.queues())[0]?.spec.description).toBe("for invoices");
      await redrive.queue("q", { description: null }).ready();
      expect((await redrive.queues())[0]?.spec.description).toBeUndefined();
    },
  },
};

describeOptions<QueueOptions>("redrive.queue", {
  call: (redrive, given) => redrive.queue("q", given).ready(),
  options,
});

describeOptions<BreakerOptions>("the breaker of a queue", {
  call: async (redrive, given) => {
    try {
      await redrive.queue("q", { breaker: given }).ready();
    } catch (error) {
      throw withoutPrefix(error, "breaker.");
    }
  },
  options: breaker,
});

type Changeable = Omit<QueueOptions, "schema" | "result" | "use" | "timeout">;

/** Each with a value that is not the default. */
const CHANGES: Required<Changeable> = {
  retries: 7,
  backoff: "fixed:7s",
  rate: "1/m",
  onFailure: "skip",
  onOutage: "wait",
  maxOutage: "20m",
  breaker: { failureThreshold: 2 },
  priority: "low",
  unique: "return",
  expiresAfter: "1h",
  lease: "9s",
  maxLosses: 2,
  description: "for invoices",
};

/** A changed setting is stored like one of a new queue. */
const changes = Object.entries(CHANGES).map(([name, value]) => {
  const effect = async ({ redrive }: TestStore) => {
    const base: QueueOptions = name === "maxOutage" ? { onOutage: "wait" } : {};
    const declared = redrive.queue("declared", { ...base, [name]: value });
    const changed = redrive.queue("changed", base);
    const before = await changed.settings();
    await changed.change({ [name]: value });
    expect(await changed.settings()).toEqual(await declared.settings());
    expect(await changed.settings()).not.toEqual(before);
  };
  return [name, { refuses: options[name as keyof Changeable].refuses, effect }];
});

describeOptions<Changeable>("queue.change", {
  call: (redrive, given) => redrive.queue("q").change(given),
  prepare: (redrive) => redrive.queue("q").ready(),
  options: Object.fromEntries(changes) as OptionCases<Changeable>,
});

/** The field within the nested options. */
function withoutPrefix(error: unknown, prefix: string): unknown {
  const { field } = error as { readonly field?: string };
  if (!field?.startsWith(prefix)) return new Error(`the field is ${field}`);
  return Object.assign(error as Error, { field: field.slice(prefix.length) });
}
