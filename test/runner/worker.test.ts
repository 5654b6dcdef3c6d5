/** What a runner does for a standing queue: it waits for work, obeys rates, expiries and pauses, and drains. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { AttemptContext } from "../../src/attempt/handler.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, fail, Hands, Notebook, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.each(ENGINES)("a worker on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("continues when the queue is empty, and runs what is added at once, without waiting for its next poll", async () => {
    await make("a");
    const hands = new Hands();
    const run = kit.run(hands.handler, { keepGoing: true });
    await kit.until(() => hands.running.length === 1);
    hands.letGo("a");
    await kit.pass(60_000);
    expect(run.isOver).toBe(false);
    await kit.engine.add(QUEUE, [newItem("b")]);
    await kit.pass(0);
    expect(hands.running).toEqual(["b"]);
    hands.letGo("b");
    await kit.pass(100);
    run.stop();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.counts()).toEqual({ done: 2, attempts: 2 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("polls where nothing notifies", async () => {
    await make();
    const engine = { ...kit.engine, watch: async () => async () => undefined };
    const run = kit.run(succeed, { keepGoing: true, engine });
    await kit.pass(5000);
    await kit.engine.add(QUEUE, [newItem("a")]);
    await kit.pass(1000);
    expect(await kit.counts()).toEqual({ done: 1, attempts: 1 });
    run.stop();
    await kit.end(run);
  });

  it("an idle worker polls the store a few times a second, and no more", async () => {
    await make();
    const run = kit.run(succeed, { keepGoing: true });
    await kit.pass(1000);
    const before = kit.steps.length;
    await kit.pass(10_000);
    expect(kit.steps.length - before).toBeLessThanOrEqual(21);
    run.stop();
    await kit.end(run);
  });

  it("a notification during a poll is not lost", async () => {
    await make();
    let isAdded = false;
    let notify: () => void = () => undefined;
    const engine = {
      ...kit.engine,
      watch: async (_queue: string, given: () => void) => {
        notify = given;
        return async () => undefined;
      },
      settleAndLease: async (...given: Parameters<typeof kit.engine.settleAndLease>) => {
        const answer = await kit.engine.settleAndLease(...given);
        if (!isAdded && given[1].lease) {
          isAdded = true;
          await kit.engine.add(QUEUE, [newItem("a")]); // after the lease, before the runner hears of it
          notify();
        }
        return answer;
      },
    };
    const run = kit.run(succeed, { keepGoing: true, engine });
    await kit.pass(25);
    expect(await kit.counts()).toEqual({ done: 1, attempts: 1 });
    run.stop();
    await kit.end(run);
  });

  it("an item that is leased after its expiry is not run: it is dead, with the reason", async () => {
    await make();
    const expiresAt = kit.clock.now() + 1000;
    await kit.engine.add(QUEUE, [
      { ...newItem("late"), expiresAt },
      { ...newItem("in-time"), expiresAt: expiresAt + 10_000 },
    ]);
    kit.clock.advance(1000);
    const worked: string[] = [];
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      worked.push(item.itemId);
      return { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { policy: policyOf({ maxAttempts: 5 }) }));
    expect(worked).toEqual(["in-time"]);
    const letter = await kit.engine.readLetter((await kit.item("late")).ref);
    expect(letter).toMatchObject({
      reason: "permanent failure (Timeout), not retried",
      reprocessEligible: false,
    });
    expect(letter?.failureHistory).toMatchObject([
      { errorType: { name: "Timeout" }, errorMessage: "The item expired before its attempt started." },
    ]);
  });

  it("two runners together start no more than the queue's rate allows", async () => {
    await make(...ids(12));
    const starts: number[] = [];
    const zero = kit.clock.now();
    const handler = async (): Promise<Outcome> => {
      starts.push(kit.clock.now() - zero);
      return { kind: "succeeded" };
    };
    const rate = { perSecond: 2 };
    const runs = [kit.run(handler, { rate }), kit.run(handler, { rate })];
    for (const run of runs) expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(starts).toHaveLength(12);
    for (const [index, at] of starts.entries()) {
      expect(at).toBeGreaterThanOrEqual(Math.max(0, index - 1) * 500);
    }
    expect(starts.at(-1)).toBeLessThan(8000);
  });

  it("a runner's own rate limits only itself", async () => {
    await make(...ids(8));
    const starts: [string, number][] = [];
    const zero = kit.clock.now();
    const handler = (who: string) => async (): Promise<Outcome> => {
      starts.push([who, kit.clock.now() - zero]);
      return { kind: "succeeded" };
    };
    const slow = kit.run(handler("slow"), { ownRate: { perSecond: 1 }, slots: 4 });
    await kit.pass(2600);
    expect(starts.filter(([who]) => who === "slow").length).toBeLessThanOrEqual(4);
    await kit.end(kit.run(handler("fast"), { slots: 4 }));
    await kit.end(slow);
    expect(starts.filter(([who]) => who === "fast").length).toBeGreaterThanOrEqual(4);
    expect(await kit.counts()).toEqual({ done: 8, attempts: 8 });
  });

  it("a paused queue is waited for without a busy loop, is reported once, and continues when it is resumed", async () => {
    await make("a", "b");
    await kit.engine.changeJob(QUEUE, { pause: { author: "ann", reason: "month end" } });
    const told: boolean[] = [];
    const observer = { paused: (isPaused: boolean) => void told.push(isPaused) };
    const run = kit.run(succeed, { keepGoing: true, observer });
    await kit.pass(10_000);
    expect(await kit.counts()).toEqual({ ready: 2 });
    expect(kit.steps.length).toBeLessThanOrEqual(25);
    expect(told).toEqual([true]);
    await kit.engine.changeJob(QUEUE, { pause: null });
    await kit.pass(25);
    expect(await kit.counts()).toEqual({ done: 2, attempts: 2 });
    expect(told).toEqual([true, false]);
    run.stop();
    await kit.end(run);
  });

  it("a drain starts nothing more, and lets what runs finish", async () => {
    await make("a", "b", "c");
    const hands = new Hands();
    const drain = new AbortController();
    const run = kit.run(hands.handler, { slots: 2, keepGoing: true, drain: drain.signal });
    await kit.until(() => hands.running.length === 2);
    drain.abort();
    await kit.pass(60_000);
    expect(run.isOver).toBe(false);
    expect(hands.aborted).toEqual([]);
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.counts()).toEqual({ ready: 1, done: 2, attempts: 2 });
  });

  it("an attempt that ignores the stop is released after a while, and its later result is ignored", async () => {
    await make("a");
    const notebook = new Notebook();
    let end: (outcome: Outcome) => void = () => undefined;
    const deaf = () =>
      new Promise<Outcome>((resolve) => {
        end = resolve;
      });
    const run = kit.run(deaf, { abandonAfterMs: 5000, observer: notebook });
    await kit.until(() => notebook.lines.length === 1);
    run.stop();
    await kit.pass(4900);
    expect(run.isOver).toBe(false);
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.outcomes("a")).toEqual(["released"]);
    end({ kind: "succeeded" });
    await kit.pass(1000);
    expect(await kit.counts()).toEqual({ ready: 1, attempts: 1 });
    expect(notebook.lines).toEqual(["started a", "release a"]);
  });

  it("notes are kept with author and time whatever the outcome, and counters increase with it", async () => {
    await make("good", "bad", "given-back");
    const handler = async (item: LeasedItem, { note }: AttemptContext): Promise<Outcome> => {
      note(`  looked at ${item.itemId} `);
      note("");
      if (item.itemId === "bad")
        return { ...(await fail()(item)), counts: ["calls", "calls.bad"] } as Outcome;
      if (item.itemId === "good") return { kind: "succeeded", counts: ["calls"] };
      return item.attempt === 1 ? { kind: "released", why: "no process" } : { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { slots: 1, author: "robot-7" }));
    for (const [itemId, times] of [
      ["good", 1],
      ["bad", 1],
      ["given-back", 2],
    ] as const) {
      const notes = await kit.engine.listNotes((await kit.item(itemId)).ref);
      const note = { author: "robot-7", text: `looked at ${itemId}`, at: expect.any(Number) };
      expect(notes).toEqual(new Array(times).fill(note));
    }
    const counters = await kit.engine.listCounters();
    expect(counters.filter(({ name }) => name.startsWith("calls"))).toEqual([
      { queue: QUEUE, name: "calls", value: 2 },
      { queue: QUEUE, name: "calls.bad", value: 1 },
    ]);
  });

  it("a failure that is not the item's is in the error log as the runner's, and the item runs again", async () => {
    await make("a");
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      item.attempt === 1 ? { kind: "released", why: "the disk is full" } : { kind: "succeeded" };
    await kit.end(kit.run(handler));
    const errors = await kit.engine.listErrors({ limit: 10 });
    expect(errors).toMatchObject([{ type: "runner_failed", itemId: "a", message: "the disk is full" }]);
    expect(await kit.item("a")).toMatchObject({ state: "done", attemptsCounted: 0 });
  });

  it("an attempt that the runner itself ended is no failure", async () => {
    await make("a");
    const hands = new Hands();
    const run = kit.run(hands.handler);
    await kit.until(() => hands.running.length === 1);
    run.stop();
    await kit.end(run);
    expect(await kit.engine.listErrors({ limit: 10 })).toEqual([]);
  });

  it("settings that change while it works are obeyed from the next item on", async () => {
    await make("a");
    let policy = policyOf({ maxAttempts: 1 });
    const run = kit.run(fail(), { policy, keepGoing: true, settings: () => ({ policy }) });
    await kit.pass(2000);
    policy = policyOf({ maxAttempts: 3 });
    await kit.engine.add(QUEUE, [newItem("b")]);
    await kit.pass(10_000);
    expect(await kit.outcomes("a")).toEqual(["failed"]);
    expect(await kit.outcomes("b")).toEqual(["failed", "failed", "failed"]);
    run.stop();
    await kit.end(run);
  });

  it("a settlement frees the next item with its ordering key in the same step", async () => {
    await make();
    await kit.engine.add(
      QUEUE,
      ids(5).map((itemId) => ({ ...newItem(itemId), orderingKey: "one" })),
    );
    const zero = kit.clock.now();
    const order: string[] = [];
    await kit.end(
      kit.run(async (item) => {
        order.push(item.itemId);
        return { kind: "succeeded" };
      }),
    );
    expect(order).toEqual(ids(5));
    expect(kit.clock.now() - zero).toBeLessThan(1500);
  });
});

function ids(count: number): string[] {
  return Array.from({ length: count }, (_none, index) => `item-${index}`);
}
