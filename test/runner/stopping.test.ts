/** How a run comes to its end before the work is done, and what it leaves: everything that it did not end is ready. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import type { Feed } from "../../src/runner/run-options.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, fail, Hands, Notebook, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.each(ENGINES)("stopping on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("max_failures stops the run and leaves the rest ready", async () => {
    await make(...ids(20));
    const end = await kit.end(kit.run(fail(), { slots: 1, policy: policyOf({ maxFailures: 3 }) }));
    expect(end).toEqual({ end: "stopped", reason: "3 items died, and max_failures is 3" });
    expect(await kit.counts()).toEqual({ ready: 17, dead: 3, letters: 3, attempts: 3 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a stop by the policy does not wait for an idle feed", async () => {
    await make("a");
    const told: string[] = [];
    const feed: Feed = async function* (_storeRetry, signal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      told.push("over");
      yield 0;
    };
    const end = await kit.end(kit.run(fail(), { feed, policy: policyOf({ maxFailures: 1 }) }));
    expect(end).toMatchObject({ end: "stopped" });
    expect(told).toEqual(["over"]);
  });

  it("failure_threshold stops the run from ten finished items on", async () => {
    await make(...ids(20));
    const end = await kit.end(kit.run(fail(), { slots: 1, policy: policyOf({ failureThreshold: 0.5 }) }));
    expect(end).toMatchObject({ end: "stopped", reason: expect.stringContaining("failure_threshold") });
    expect(await kit.counts()).toEqual({ ready: 10, dead: 10, letters: 10, attempts: 10 });
  });

  it("without continue_on_failure the first dead item stops the run; running items end normally", async () => {
    await make(...ids(6));
    const hands = new Hands();
    const run = kit.run(hands.handler, { slots: 2, policy: policyOf({ continueOnFailure: false }) });
    await kit.until(() => hands.running.length === 2);
    hands.letGo("item-0", await fail()({ ref: 1, attempt: 1 } as LeasedItem));
    await kit.pass(2000);
    expect(run.isOver).toBe(false);
    expect(hands.aborted).toEqual([]);
    hands.letGo("item-1");
    expect(await kit.end(run)).toMatchObject({ end: "stopped" });
    expect(await kit.counts()).toEqual({ ready: 4, done: 1, dead: 1, letters: 1, attempts: 2 });
  });

  it("on_item_failure stop buries the item and stops the run", async () => {
    await make(...ids(3));
    const end = await kit.end(kit.run(fail(), { slots: 1, policy: policyOf({ onItemFailure: "stop" }) }));
    expect(end).toMatchObject({ end: "stopped", reason: expect.stringContaining("on_item_failure is stop") });
    expect(await kit.counts()).toEqual({ ready: 2, dead: 1, letters: 1, attempts: 1 });
  });

  it("on_item_failure skip leaves no letter and continues", async () => {
    await make(...ids(3));
    const end = await kit.end(kit.run(fail(), { slots: 1, policy: policyOf({ onItemFailure: "skip" }) }));
    expect(end).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ skipped: 3, attempts: 3 });
  });

  it("invariant 5: a drain ends what runs and counts no attempt for it", async () => {
    await make(...ids(5));
    const hands = new Hands();
    const notebook = new Notebook();
    const run = kit.run(hands.handler, { slots: 2, observer: notebook });
    await kit.until(() => hands.running.length === 2);
    run.stop();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(hands.aborted).toEqual(["item-0", "item-1"]);
    expect(await kit.counts()).toEqual({ ready: 5, attempts: 2 });
    expect(await kit.outcomes("item-0")).toEqual(["released"]);
    expect(await kit.item("item-0")).toMatchObject({ attemptsCounted: 0, lostCount: 0 });
    expect(notebook.lines.slice(-2)).toEqual(["release item-0", "release item-1"]);
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a drain keeps the results of handlers that still finish", async () => {
    await make("a", "b");
    const handler = (item: LeasedItem, { signal }: { signal: AbortSignal }): Promise<Outcome> =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          if (item.itemId === "a") resolve({ kind: "succeeded" });
          else void fail()(item).then(resolve);
        });
      });
    const run = kit.run(handler, { slots: 2 });
    await kit.until(() => kit.steps.length > 0);
    run.stop();
    await kit.end(run);
    expect(await kit.counts()).toEqual({ done: 1, dead: 1, letters: 1, attempts: 2 });
  });

  it("a drained probe of a half-open breaker is released, and the next run starts with it again", async () => {
    await make(...ids(4));
    const breaker = { failureThreshold: 2, timeoutMs: 5000, successThreshold: 1, halfOpenRequests: 1 };
    const policy = policyOf({ maxAttempts: 3, breaker });
    const hands = new Hands();
    let calls = 0;
    const handler: typeof hands.handler = (item, context) =>
      ++calls <= 2 ? fail()(item) : hands.handler(item, context);
    const run = kit.run(handler, { slots: 2, policy });
    await kit.until(() => hands.running.length === 1);
    run.stop();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.counts()).toEqual({ ready: 4, attempts: 3 });
    expect(await kit.end(kit.run(succeed, { policy }))).toEqual({ end: "finished" });
  });

  it("a run that is stopped before it begins changes nothing", async () => {
    await make(...ids(3));
    const run = kit.run(succeed);
    run.stop();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.counts()).toEqual({ ready: 3 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a feed brings items while others run, and the run ends only after it", async () => {
    await make("a");
    const notebook = new Notebook();
    const feed: Feed = async function* () {
      for (const itemId of ["b", "c"]) {
        await kit.clock.sleep(3000);
        yield (await kit.engine.add(QUEUE, [newItem(itemId)])).added;
      }
      await kit.clock.sleep(3000);
    };
    const zero = kit.clock.now();
    expect(await kit.end(kit.run(succeed, { feed, observer: notebook }))).toEqual({ end: "finished" });
    expect(kit.clock.now() - zero).toBeGreaterThanOrEqual(9000);
    expect(notebook.lines.filter((line) => line.startsWith("added"))).toEqual(["added 1", "added 1"]);
    expect(await kit.counts()).toEqual({ done: 3, attempts: 3 });
  });

  it("a feed that fails ends the run with its error, after running items have ended and are settled", async () => {
    await make("a", "b", "c");
    const fault = new RedriveError("input_invalid", "line 3 is no JSON");
    let failNow: () => void = () => undefined;
    const failing = new Promise<void>((resolve) => {
      failNow = resolve;
    });
    // biome-ignore lint/correctness/useYield: it fails before it brings anything
    const feed: Feed = async function* () {
      await failing;
      throw fault;
    };
    const hands = new Hands();
    const run = kit.run(hands.handler, { slots: 2, feed });
    await kit.until(() => hands.running.length === 2);
    failNow();
    await kit.pass(2000);
    expect(run.isOver).toBe(false);
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ error: fault });
    expect(await kit.counts()).toEqual({ ready: 1, done: 2, attempts: 2 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a feed is not read any more once the run has to stop", async () => {
    await make();
    let brought = 0;
    const feed: Feed = async function* () {
      for (; brought < 50; brought += 1) {
        yield (await kit.engine.add(QUEUE, [newItem(`fed-${brought}`)])).added;
        await kit.clock.sleep(100);
      }
    };
    const end = await kit.end(kit.run(fail(), { feed, policy: policyOf({ maxFailures: 2 }) }));
    expect(end).toMatchObject({ end: "stopped" });
    expect(brought).toBeLessThan(10);
  });
});

function ids(count: number): string[] {
  return Array.from({ length: count }, (_none, index) => `item-${index}`);
}
