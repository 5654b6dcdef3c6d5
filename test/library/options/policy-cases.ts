/** The options that queues and maps share: what happens to attempts that fail, and how fast items start. */
import { expect } from "vitest";
import type { TestStore } from "../../../src/exports/testing.ts";
import type { MapOptions, QueueOptions, Task } from "../../../src/index.ts";
import { describeSelf } from "../../../src/lease/holder.ts";
import { deadPid } from "../../lease/processes.ts";
import { NOT, type OptionCases } from "./option-cases.ts";

export type PolicyOptions = Pick<QueueOptions, Extract<keyof QueueOptions, keyof MapOptions<unknown>>>;

export interface Processing {
  readonly test: TestStore;
  readonly options: PolicyOptions;
  readonly count: number;
  readonly handler: (task: Task<number>) => unknown;
}

/** Starts to process `count` items, one at a time. Resolves with the queue or job when the items exist. */
export type StartProcessing = (processing: Processing) => Promise<string>;

const MINUTE = 60_000;

export const failing = (): never => {
  throw new Error("no");
};
export const outage = (): never => {
  throw Object.assign(new Error("closed"), { status: 503 });
};

/** The minutes after the start at which the handler was called. */
export function timed(test: TestStore, handler: (task: Task<number>) => unknown) {
  const start = test.clock.now();
  const minutes: number[] = [];
  const called = (task: Task<number>) => {
    minutes.push((test.clock.now() - start) / MINUTE);
    return handler(task);
  };
  return { minutes, handler: called };
}

/** Moves the clock in steps of a minute, and lets the workers do what is due after each. */
export async function passMinutes(test: TestStore, minutes: number): Promise<void> {
  await test.drain();
  for (let minute = 0; minute < minutes; minute += 1) {
    test.clock.advance(MINUTE);
    await test.drain();
  }
}

/** Leases one item for a process that has died. */
export async function loseWorker({ redrive: { engine } }: TestStore, queue: string): Promise<void> {
  const holder = { ...describeSelf(queue), pid: await deadPid() };
  await engine.registerHolder(holder);
  const { leased } = await engine.settleAndLease(holder.id, { settle: [], lease: { queue, max: 1 } });
  expect(leased).toHaveLength(1);
}

export function policyCases(start: StartProcessing): Omit<OptionCases<PolicyOptions>, "maxLosses"> {
  return {
    retries: {
      refuses: [-1, "3", 1.5, 1001, null],
      effect: async (test) => {
        const { minutes, handler } = timed(test, failing);
        await start({ test, options: { retries: 3, backoff: "none" }, count: 1, handler });
        await test.drain({ advance: true });
        expect(minutes).toHaveLength(4);
      },
    },
    backoff: {
      refuses: ["sometimes", "fixed", { kind: "fixed", delayMs: Number.NaN }, 5, null],
      effect: async (test) => {
        const { minutes, handler } = timed(test, failing);
        await start({ test, options: { retries: 2, backoff: "list:5m,20m" }, count: 1, handler });
        await test.drain({ advance: true });
        expect(minutes).toEqual([0, 5, 25]);
      },
    },
    timeout: {
      refuses: [...NOT.duration, 0],
      effect: async (test) => {
        const hang = () => new Promise(() => undefined);
        const queue = await start({ test, options: { retries: 0, timeout: 20 }, count: 1, handler: hang });
        await test.drain();
        expect(await test.redrive.letters({ queue }).first()).toMatchObject({ type: "Timeout" });
      },
    },
    rate: {
      refuses: ["fast", 5, { perSecond: 0 }, { perSecond: "1" }, "0/s"],
      effect: async (test) => {
        const { minutes, handler } = timed(test, () => undefined);
        await start({ test, options: { rate: "1/m" }, count: 3, handler });
        await passMinutes(test, 3);
        expect(minutes).toEqual([0, 1, 2]);
      },
    },
    onFailure: {
      refuses: ["custom", "none", true, null],
      effect: async (test) => {
        const queue = await start({
          ...{ test, options: { retries: 0, onFailure: "skip" }, count: 1 },
          handler: failing,
        });
        await test.drain();
        expect(await test.redrive.engine.count(queue)).toMatchObject({ skipped: 1, dead: 0 });
      },
    },
    onOutage: {
      refuses: ["stop", true],
      effect: async (test) => {
        const options = { retries: 0, onOutage: "wait" } as const;
        const { minutes, handler } = timed(test, outage);
        const queue = await start({ test, options, count: 1, handler });
        await passMinutes(test, 30);
        expect(minutes.length).toBeGreaterThan(1);
        expect(await test.redrive.engine.count(queue)).toMatchObject({ dead: 0 });
      },
    },
    maxOutage: {
      refuses: [...NOT.duration.filter((value) => value !== null), 0],
      effect: async (test) => {
        const options = { retries: 0, onOutage: "wait", maxOutage: "20m" } as const;
        const queue = await start({ test, options, count: 1, handler: outage });
        await passMinutes(test, 15);
        expect(await test.redrive.engine.count(queue)).toMatchObject({ dead: 0 });
        await passMinutes(test, 30);
        expect(await test.redrive.engine.count(queue)).toMatchObject({ dead: 1 });
      },
    },
    breaker: {
      refuses: [5, "on", { timeoutMs: 3 }, { failureThreshold: 0 }, { timeout: "soon" }],
      effect: async (test) => {
        const { minutes, handler } = timed(test, failing);
        const breaker = { failureThreshold: 2, timeout: "7m", halfOpenRequests: 1 };
        await start({ test, options: { retries: 0, breaker }, count: 4, handler });
        await passMinutes(test, 7);
        expect(minutes).toEqual([0, 0, 7]);
      },
    },
    use: {
      refuses: [[7], "x", [{ handel: () => 1 }], null],
      effect: async (test) => {
        const seen: string[] = [];
        const use = [async ({ id }: Task<unknown>, next: () => Promise<unknown>) => seen.push(id) && next()];
        await start({ test, options: { use }, count: 1, handler: () => seen.push("handler") });
        await test.drain();
        expect(seen).toEqual([expect.any(String), "handler"]);
      },
    },
  };
}
