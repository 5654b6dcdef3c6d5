/** The options of `queue.work` and `queue.workBatch`, and of a shutdown. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import type { TestStore } from "../../../src/exports/testing.ts";
import type { BatchOptions, Task, WorkOptions } from "../../../src/index.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";
import { describeOptions, gate, NOT, type OptionCases } from "./option-cases.ts";
import { failing, passMinutes, timed } from "./policy-cases.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

type Start = (
  test: TestStore,
  options: WorkOptions<number>,
  handler: (task: Task<number>) => unknown,
  count?: number,
) => Promise<{
  readonly ended: Promise<{ readonly end: string }>;
  stop(): Promise<{ readonly end: string }>;
}>;

async function queueOf({ redrive }: TestStore, count: number) {
  const queue = redrive.queue<number, unknown>("q", { retries: 0 });
  await queue.addMany(Array.from({ length: count }, (_, data) => ({ data, key: `k${data}` })));
  return queue;
}

const startWork: Start = async (test, options, handler, count = 1) =>
  (await queueOf(test, count)).work(handler, options);

/** Batches of one item. */
const startBatch: Start = async (test, options, handler, count = 1) =>
  (await queueOf(test, count)).workBatch(async ([task]) => [task && (await handler(task))], {
    size: 1,
    ...options,
  });

function workCases(start: Start): OptionCases<WorkOptions<number>> {
  return {
    concurrency: {
      refuses: [0, 1.5, "2", null],
      effect: async (test) => {
        const end = gate();
        let running = 0;
        const worker = await start(test, { concurrency: 3 }, () => ++running && end.opened, 9);
        await expect.poll(() => running).toBe(3);
        expect(running).toBe(3);
        end.open();
        await test.drain();
        await worker.stop();
      },
    },
    rate: {
      refuses: ["x", 5, { perSecond: 0 }, null],
      effect: async (test) => {
        const { minutes, handler } = timed(test, () => undefined);
        await start(test, { rate: "1/m" }, handler, 3);
        await passMinutes(test, 2);
        expect(minutes).toEqual([0, 1, 2]);
      },
    },
    untilEmpty: {
      refuses: NOT.flag,
      effect: async (test) => {
        const { ended } = await start(test, { untilEmpty: true }, () => 1);
        expect(await ended).toMatchObject({ end: "finished" });
      },
    },
    timeout: {
      refuses: [...NOT.duration, 0],
      effect: async (test) => {
        await start(test, { timeout: 20 }, () => new Promise(() => undefined));
        await test.drain();
        expect(await test.redrive.letters().first()).toMatchObject({ type: "Timeout" });
      },
    },
    signal: {
      refuses: NOT.signal,
      effect: async (test) => {
        const abort = new AbortController();
        const { ended } = await start(test, { signal: abort.signal }, () => 1);
        abort.abort();
        expect(await ended).toMatchObject({ end: "interrupted" });
      },
    },
    name: {
      refuses: NOT.text,
      effect: async (test) => {
        await start(test, { name: "robot 1" }, ({ note }) => {
          note("seen");
          failing();
        });
        await test.drain();
        expect((await test.redrive.letters().first())?.notes).toMatchObject([{ author: "robot 1" }]);
      },
    },
    onItemFailure: {
      refuses: NOT.function,
      effect: async (test) => {
        await start(test, { onItemFailure: ({ data }) => (data === 0 ? "handled" : "dlq") }, failing, 2);
        await test.drain();
        expect(await test.redrive.engine.count("q")).toMatchObject({ skipped: 1, dead: 1 });
      },
    },
    evidenceFolder: {
      refuses: NOT.text,
      effect: async (test) => {
        const [file, evidenceFolder] = [directory.file("screen.txt"), directory.file("kept")];
        writeFileSync(file, "a picture");
        mkdirSync(evidenceFolder, { recursive: true });
        const before = readdirSync(evidenceFolder).length;
        await start(test, { evidenceFolder }, ({ evidence }) => {
          evidence(file);
          failing();
        });
        await test.drain();
        expect((await test.redrive.letters().first())?.failures[0]?.evidence?.[0]?.kept).toContain("kept");
        expect(readdirSync(evidenceFolder).length).toBeGreaterThanOrEqual(Math.max(1, before));
      },
    },
    abandonAfter: {
      refuses: NOT.duration,
      effect: async (test) => {
        const started = gate();
        const hang = () => {
          started.open();
          return new Promise(() => undefined);
        };
        const worker = await start(test, { abandonAfter: "1h" }, hang);
        await started.opened;
        let hasEnded = false;
        const ended = worker.stop().then(() => {
          hasEnded = true;
        });
        test.clock.advance("59m");
        for (let round = 0; round < 20; round += 1) await new Promise(setImmediate);
        expect(hasEnded).toBe(false);
        test.clock.advance("1m");
        await ended;
      },
    },
    use: {
      refuses: [[7], "x", [{ handel: () => 1 }], null],
      effect: async (test) => {
        const seen: string[] = [];
        const use = [async ({ id }: Task<unknown>, next: () => Promise<unknown>) => seen.push(id) && next()];
        await start(test, { use }, () => seen.push("handler"));
        await test.drain();
        expect(seen).toEqual(["k0", "handler"]);
      },
    },
  };
}

const batchOptions: OptionCases<BatchOptions<number>> = {
  ...workCases(startBatch),
  size: {
    refuses: [0, 1.5, "3", null, undefined],
    effect: async (test) => {
      const sizes: number[] = [];
      const queue = await queueOf(test, 7);
      queue.workBatch((tasks) => void sizes.push(tasks.length), { size: 3, wait: 0 });
      await test.drain();
      expect(sizes).toEqual([3, 3, 1]);
    },
  },
  wait: {
    refuses: NOT.duration,
    effect: async (test) => {
      const { minutes, handler } = timed(test, () => undefined);
      const queue = await queueOf(test, 1);
      queue.workBatch(([task]) => void (task && handler(task)), { size: 3, wait: "1h" });
      await expect.poll(async () => (await queue.counts()).leased).toBe(1);
      test.clock.advance("59m");
      expect(minutes).toEqual([]);
      test.clock.advance("1m");
      await test.drain();
      expect(minutes).toEqual([60]);
    },
  },
};

const prepare = async (redrive: Parameters<Parameters<typeof describeOptions>[1]["call"]>[0]) => {
  await redrive.queue<number>("q").add(1);
};

describeOptions<WorkOptions<number>>("queue.work", {
  call: (redrive, given) => redrive.queue<number>("q").work(() => 1, given).ended,
  prepare,
  options: workCases(startWork),
});

describeOptions<BatchOptions<number>>("queue.workBatch", {
  call: (redrive, given) => redrive.queue<number>("q").workBatch(() => undefined, given).ended,
  base: { size: 2 },
  prepare,
  options: batchOptions,
});

describeOptions<{ timeout?: number }>("redrive.close", {
  call: (redrive, given) => redrive.close(given),
  options: {
    timeout: {
      refuses: NOT.duration,
      effect: async (test) => {
        const started = gate();
        const queue = await queueOf(test, 1);
        const { ended } = queue.work(async ({ signal }) => {
          started.open();
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw signal.reason;
        });
        await started.opened;
        const closed = test.redrive.close({ timeout: "1h" });
        test.clock.advance("1h");
        await closed;
        expect(await ended).toMatchObject({ succeeded: 0, failed: 0 });
      },
    },
  },
});
