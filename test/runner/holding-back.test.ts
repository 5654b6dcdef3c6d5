/** What keeps the runner from leasing: a parked queue, an open breaker, a consumer that is behind. Nothing dies of it. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, fail, Hands, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const BREAKER = { failureThreshold: 3, timeoutMs: 10_000, successThreshold: 2, halfOpenRequests: 2 };

describe.each(ENGINES)("holding back on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("the first quota error parks the whole queue: untouched items stay ready", async () => {
    await make("a", "b", "c", "d");
    const calls: [string, number][] = [];
    const zero = kit.clock.now();
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      calls.push([item.itemId, kit.clock.now() - zero]);
      return calls.length === 1 ? fail("throttled", 20_000)(item) : { kind: "succeeded" };
    };
    const run = kit.run(handler, { slots: 1, policy: policyOf({ onOutage: "wait" }) });
    await kit.pass(19_000);
    expect(calls).toEqual([["a", 0]]);
    expect(await kit.counts()).toEqual({ ready: 4, attempts: 1 });
    expect(await kit.item("a")).toMatchObject({ state: "ready", attemptsCounted: 0 });
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(calls[1]?.[1]).toBeGreaterThanOrEqual(20_000);
    expect(await kit.counts()).toEqual({ done: 4, attempts: 5 });
  });

  it("invariant 5: an outage counts attempts like any failure, and ends in letters", async () => {
    await make("a", "b");
    await kit.end(kit.run(async (item) => fail("outage")(item), { policy: policyOf({ maxAttempts: 2 }) }));
    expect(await kit.item("a")).toMatchObject({ state: "dead", attempts: 2 });
    expect(await kit.counts()).toMatchObject({ dead: 2, attempts: 4 });
  });

  it("invariant 5, pitfall 43: with on_outage: wait an outage counts no attempt, however often it occurs", async () => {
    await make("a");
    let calls = 0;
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      ++calls <= 6 ? fail("outage")(item) : { kind: "succeeded" };
    await kit.end(kit.run(handler, { policy: policyOf({ maxAttempts: 1, onOutage: "wait" }) }));
    expect(await kit.item("a")).toMatchObject({ state: "done", attempts: 7, attemptsCounted: 0 });
  });

  it("an outage beyond the limit counts attempts again", async () => {
    await make("a", "b");
    const zero = kit.clock.now();
    const policy = policyOf({ maxAttempts: 2, onOutage: "wait", outageMsMax: 120_000 });
    const run = kit.run(async (item) => fail("outage")(item), { slots: 2, policy });
    await kit.pass(110_000);
    expect(await kit.counts()).toMatchObject({ ready: 2 });
    await kit.end(run);
    expect(await kit.counts()).toMatchObject({ dead: 2 });
    expect(kit.clock.now() - zero).toBeLessThan(240_000);
  });

  it("an item that alone meets an outage repeatedly comes to its end, though others succeed", async () => {
    await make("bad", ...Array.from({ length: 300 }, (_none, index) => `item-${index}`));
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      item.itemId === "bad" ? fail("outage")(item) : { kind: "succeeded" };
    const policy = policyOf({ maxAttempts: 1, onOutage: "wait", outageMsMax: 20_000 });
    await kit.end(kit.run(handler, { slots: 2, policy }));
    expect(await kit.item("bad")).toMatchObject({ state: "dead" });
    expect(await kit.counts()).toMatchObject({ dead: 1, done: 300 });
  });

  it("an open breaker leases nothing, then a few probes, and closes when they succeed", async () => {
    await make(...Array.from({ length: 12 }, (_none, index) => `item-${index}`));
    let isBroken = true;
    const hands = new Hands();
    const handler = async (
      item: LeasedItem,
      context: Parameters<typeof hands.handler>[1],
    ): Promise<Outcome> => (isBroken ? fail()(item) : hands.handler(item, context));
    const run = kit.run(handler, { slots: 3, policy: policyOf({ maxAttempts: 2, breaker: BREAKER }) });
    await kit.until(() => kit.steps.some(({ settle }) => settle.length === 3));
    isBroken = false;
    await kit.pass(9000);
    expect(hands.started).toEqual([]);
    expect(await kit.counts()).toEqual({ ready: 12, attempts: 3 });

    await kit.until(() => hands.running.length > 0);
    await kit.pass(2000);
    expect(hands.running).toHaveLength(2);
    hands.letAllGo();
    await kit.until(() => hands.running.length === 3);
    while (!run.isOver) {
      hands.letAllGo();
      await kit.pass(100);
    }
    expect(await kit.counts()).toEqual({ done: 12, attempts: 15 });
  });

  it("a failed probe opens the breaker again", async () => {
    await make("a", "b", "c", "d", "e");
    const at: number[] = [];
    const zero = kit.clock.now();
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      at.push(kit.clock.now() - zero);
      return at.length <= 5 ? fail()(item) : { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { slots: 3, policy: policyOf({ maxAttempts: 4, breaker: BREAKER }) }));
    expect(at.filter((ms) => ms < 10_000)).toHaveLength(3);
    expect(at.filter((ms) => ms >= 10_000 && ms < 20_000)).toHaveLength(2);
    expect(await kit.counts()).toEqual({ done: 5, attempts: 10 });
    const types = ["breaker_opened", "breaker_closed"] as const;
    const told = await kit.engine.listEvents({ after: 0, types, limit: 10 });
    expect(told.map(({ type }) => type)).toEqual(["breaker_opened", "breaker_closed"]);
  });

  it("invariant 5, pitfall 43: however long the outage, no probe counts an attempt and nothing is buried", async () => {
    await make("a", "b", "c", "d", "e");
    let calls = 0;
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      ++calls <= 15 ? fail()(item) : { kind: "succeeded" };
    const policy = policyOf({ maxAttempts: 2, breaker: BREAKER });
    expect(await kit.end(kit.run(handler, { slots: 3, policy }))).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 5, attempts: 20 });
  });

  it("a probe that is released without a result leaves its place to the next one", async () => {
    await make("a", "b", "c");
    let calls = 0;
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      calls += 1;
      if (calls <= 3) return fail()(item);
      return calls <= 7 ? { kind: "released", why: "no process could be started" } : { kind: "succeeded" };
    };
    const policy = policyOf({ maxAttempts: 2, breaker: { ...BREAKER, halfOpenRequests: 1 } });
    expect(await kit.end(kit.run(handler, { slots: 3, policy }))).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 3, attempts: 10 });
  });

  it("a permanent failure is the item's own and does not open the breaker", async () => {
    await make("a", "b", "c", "d", "e");
    const zero = kit.clock.now();
    await kit.end(kit.run(fail("permanent"), { slots: 1, policy: policyOf({ breaker: BREAKER }) }));
    expect(kit.clock.now() - zero).toBeLessThan(BREAKER.timeoutMs);
    expect(await kit.counts()).toEqual({ dead: 5, letters: 5, attempts: 5 });
  });

  it("the breaker opens while items are running: their retries wait until it admits them", async () => {
    await make("a", "b", "c");
    const at = new Map<string, number>();
    const zero = kit.clock.now();
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      if (item.attempt === 2) at.set(item.itemId, kit.clock.now() - zero);
      return item.attempt === 1 ? fail()(item) : { kind: "succeeded" };
    };
    await kit.end(kit.run(handler, { slots: 3, policy: policyOf({ maxAttempts: 2, breaker: BREAKER }) }));
    expect(Math.min(...at.values())).toBeGreaterThanOrEqual(BREAKER.timeoutMs);
    expect(await kit.counts()).toEqual({ done: 3, attempts: 6 });
  });

  it("back-pressure: nothing more is leased while the consumer of the results is behind", async () => {
    await make("a", "b", "c");
    let release: () => void = () => undefined;
    const behind = new Promise<void>((resolve) => {
      release = resolve;
    });
    const observer = { ready: () => behind };
    const run = kit.run(succeed, { slots: 1, observer });
    await kit.pass(5000);
    expect(await kit.counts()).toMatchObject({ ready: 2, attempts: 1 });
    release();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 3, attempts: 3 });
  });
});
