/** The options of `redrive.map`. */
import { expect } from "vitest";
import type { MapOptions } from "../../../src/index.ts";
import { all, describeOptions, NOT, type OptionCases } from "./option-cases.ts";
import {
  failing,
  loseWorker,
  type PolicyOptions,
  policyCases,
  type StartProcessing,
} from "./policy-cases.ts";

const MANY = Array.from({ length: 40 }, (_, n) => n);

const start: StartProcessing = async ({ test, options, count, handler }) => {
  const { redrive } = test;
  const given = { ...(options as PolicyOptions), concurrency: 1 };
  const map = redrive.map("numbers", MANY.slice(0, count), (_, task) => handler(task), given);
  map.catch(() => undefined); // the store is closed before the map ends
  await expect.poll(async () => (await redrive.engine.findJob("numbers"))?.intakeComplete).toBe(true);
  return (await redrive.jobs.get("numbers")).jobId;
};

const options: OptionCases<MapOptions<number>> = {
  ...policyCases(start),
  concurrency: {
    refuses: [0, 1.5, "2", null],
    effect: async ({ redrive }) => {
      let [now, most] = [0, 0];
      const work = async () => {
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now -= 1;
      };
      await redrive.map("numbers", MANY, work, { concurrency: 3 });
      expect(most).toBe(3);
    },
  },
  key: {
    refuses: NOT.function,
    effect: async ({ redrive }) => {
      const { results } = await redrive.map("numbers", [7, 8], (n) => n, { key: (n) => `n${n}` });
      expect((await all(results())).map(({ id }) => id)).toEqual(["n7", "n8"]);
    },
  },
  signal: {
    refuses: NOT.signal,
    effect: async ({ redrive }) => {
      const stopped = redrive.map("numbers", MANY, (n) => n, { signal: AbortSignal.abort() });
      await expect(stopped).rejects.toMatchObject({ code: "interrupted" });
    },
  },
  maxLosses: {
    refuses: [0, "3", 1.5, null],
    effect: async (test) => {
      const { redrive } = test;
      const abort = new AbortController();
      const first = redrive.map(
        "numbers",
        [1],
        (_, { signal }) => {
          abort.abort();
          throw signal.reason;
        },
        { signal: abort.signal },
      );
      await expect(first).rejects.toMatchObject({ code: "interrupted" });
      await loseWorker(test, (await redrive.jobs.get("numbers")).jobId);
      expect(await redrive.map("numbers", [1], (n) => n, { maxLosses: 1 })).toMatchObject({ dead: 1 });
    },
  },
  maxFailures: {
    refuses: [0, "2", 1.5, null],
    effect: async ({ redrive }) => {
      const given = { retries: 0, concurrency: 1, maxFailures: 2 };
      const result = await redrive.map("numbers", MANY, failing, given);
      expect(result).toMatchObject({ dead: 2, stopReason: expect.any(String) });
    },
  },
  failureThreshold: {
    refuses: [-0.1, 1.1, "50%", null],
    effect: async ({ redrive }) => {
      const given = { retries: 0, concurrency: 1, failureThreshold: 0.5 };
      expect(await redrive.map("numbers", MANY, failing, given)).toMatchObject({
        dead: 10,
        stopReason: expect.any(String),
      });
    },
  },
};

describeOptions<MapOptions<number>>("redrive.map", {
  call: (redrive, given) => redrive.map("numbers", [1], (n: number) => n, given),
  options,
});
