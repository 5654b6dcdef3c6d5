/** A runner whose process or machine stalls for longer than its lease: nothing starts under a lease that may have expired. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import { reap } from "../../src/lease/reap.ts";
import type { Clock } from "../../src/std/clock.ts";
import { QUEUE } from "../conformance/workbench.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, Hands, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.each(ENGINES)("a stalled runner on the %s engine", (_, open) => {
  let kit: RunKit;
  afterEach(() => kit.close());

  /** Another worker takes the expired holder's items back and does them all, as it would while the first one is stalled. */
  const doAllElsewhere = async () => {
    await reap({ engine: kit.engine, queue: QUEUE, policy: policyOf(), random: () => 0.5, selfId: "other" });
    const { engine } = kit;
    await engine.registerHolder({
      id: "other",
      queue: QUEUE,
      ttlMs: 60_000,
      host: "elsewhere",
      pid: 1,
      processStart: "",
    });
    const { leased } = await engine.settleAndLease("other", { settle: [], lease: { queue: QUEUE, max: 10 } });
    const settle = leased.map(({ ref, attempt }) => ({
      lease: { ref, attempt },
      outcome: "succeeded" as const,
      verdict: { kind: "done" as const },
    }));
    await engine.settleAndLease("other", { settle });
    await engine.unregisterHolder("other");
    return leased.map(({ itemId }) => itemId);
  };

  it("invariant 12: items that were leased before a stall do not start after it", async () => {
    kit = await RunKit.open(open, directory, "a", "b", "c", "d");
    const started: string[] = [];
    let doneElsewhere: Promise<readonly string[]> | undefined;
    // The first handler blocks the process for longer than the lease, as a long synchronous call does.
    const handler: Handler = async (item) => {
      started.push(item.itemId);
      if (started.length === 1) {
        kit.clock.advance(13_000);
        doneElsewhere = doAllElsewhere();
        await doneElsewhere;
      }
      return { kind: "succeeded" };
    };
    const run = kit.run(handler);
    expect(await kit.end(run)).toEqual({ end: "finished" });
    const elsewhere = (await doneElsewhere) ?? [];
    expect(started.filter((itemId) => elsewhere.includes(itemId))).toEqual(
      elsewhere.includes("a") ? ["a"] : [],
    );
    expect(await kit.counts()).toMatchObject({ done: 4 });
  });

  it.each(["wall", "monotonic"] as const)("a stall is seen by the %s clock alone", async (which) => {
    kit = await RunKit.open(open, directory, "a", "b");
    const hands = new Hands();
    let aheadMs = 0;
    const clock: Clock = {
      now: () => kit.clock.now() + (which === "wall" ? aheadMs : 0),
      monotonicNow: () => kit.clock.now() + (which === "monotonic" ? aheadMs : 0),
      uptimeNow: kit.clock.uptimeNow,
      after: (ms, action) => kit.clock.after(ms, action),
      sleep: (ms, signal) => kit.clock.sleep(ms, signal),
    };
    let isFirst = true;
    const handler: Handler = (item, context) => {
      if (isFirst) aheadMs = 60_000;
      isFirst = false;
      return hands.handler(item, context);
    };
    const run = kit.run(handler, { clock });
    await kit.until(() => hands.running.length === 2);
    const before = await kit.outcomes("b");
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(before).toEqual(["released", "running"]);
  });

  it("a stall counts no attempt, and a runner that was not reaped continues by itself", async () => {
    kit = await RunKit.open(open, directory, "a", "b", "c");
    let isFirst = true;
    const run = kit.run(async () => {
      if (isFirst) kit.clock.advance(20_000);
      isFirst = false;
      return succeed();
    });
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toMatchObject({ done: 3 });
    expect(await kit.outcomes("b")).toEqual(["released", "succeeded"]);
    expect((await kit.item("b")).attemptsCounted).toBe(0);
  });
});
