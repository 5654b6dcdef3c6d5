/** Several workers of one queue: they share one breaker and one park through the store, over restarts too. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import { describeSelf } from "../../src/lease/holder.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { deadPid } from "../lease/processes.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, fail, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const BREAKER = { failureThreshold: 4, timeoutMs: 10_000, successThreshold: 2, halfOpenRequests: 2 };

describe.each(ENGINES)("many workers on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("pitfall 43: an outage pauses the queue for all of them instead of burying it item by item", async () => {
    await make(...ids(60));
    const policy = policyOf({ maxAttempts: 3, breaker: BREAKER });
    let isDown = true;
    let tries = 0;
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      if (!isDown) return { kind: "succeeded" };
      tries += 1;
      return fail("transient")(item);
    };
    const runs = [1, 2, 3].map(() => kit.run(handler, { slots: 2, policy }));
    await kit.pass(9000);
    expect(tries).toBeLessThanOrEqual(10); // what was out when it opened, and no more
    await kit.pass(60_000);
    expect(tries).toBeLessThanOrEqual(10 + 7 * BREAKER.halfOpenRequests);
    expect(await kit.counts()).not.toHaveProperty("dead");
    isDown = false;
    for (const run of runs) expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toMatchObject({ done: 60 });
    const types = ["breaker_opened", "breaker_closed"] as const;
    const told = await kit.engine.listEvents({ after: 0, types, limit: 10 });
    expect(told.map(({ type, queue }) => [type, queue])).toEqual([
      ["breaker_opened", QUEUE],
      ["breaker_closed", QUEUE],
    ]);
  });

  it("a worker that is started while the breaker is open waits like the others", async () => {
    await make(...ids(10));
    const policy = policyOf({ maxAttempts: 3, breaker: BREAKER });
    const first = kit.run(fail("transient"), { slots: 4, policy });
    await kit.pass(500);
    first.stop();
    await kit.end(first);
    const worked: number[] = [];
    const zero = kit.clock.now();
    const next = kit.run(
      async () => {
        worked.push(kit.clock.now() - zero);
        return { kind: "succeeded" };
      },
      { slots: 4, policy },
    );
    await kit.pass(8000);
    expect(worked).toEqual([]);
    expect(await kit.end(next)).toEqual({ end: "finished" });
    expect(Math.min(...worked)).toBeGreaterThan(8000);
    expect(await kit.counts()).toMatchObject({ done: 10 });
  });

  it("pitfall 58: the quota error of one of them parks the queue for all, and untouched items stay untouched", async () => {
    await make(...ids(30));
    const zero = kit.clock.now();
    const times: number[] = [];
    const handler = async (item: LeasedItem): Promise<Outcome> => {
      times.push(kit.clock.now() - zero);
      await kit.clock.sleep(item.itemId === "item-0" ? 50 : 100);
      return times.length <= 3 && item.itemId === "item-0"
        ? fail("throttled", 20_000)(item)
        : { kind: "succeeded" };
    };
    const policy = policyOf({ onOutage: "wait" });
    const runs = [1, 2, 3].map(() => kit.run(handler, { slots: 1, policy }));
    await kit.pass(19_000);
    expect(times).toHaveLength(3); // what was running then came to its end
    expect(await kit.counts()).toEqual({ ready: 28, done: 2, attempts: 3 });
    for (const run of runs) expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(times.filter((ms) => ms > 1000 && ms < 20_000)).toEqual([]);
    expect(await kit.counts()).toEqual({ done: 30, attempts: 31 });
  });

  it("pitfall 41: a probe whose worker was killed does not keep the breaker half open forever", async () => {
    await make(...ids(6));
    const policy = policyOf({ maxAttempts: 5, breaker: { ...BREAKER, halfOpenRequests: 1 } });
    const first = kit.run(fail("transient"), { slots: 4, policy });
    await kit.pass(500);
    first.stop();
    await kit.end(first);
    kit.clock.advance(BREAKER.timeoutMs);
    const holder = { ...describeSelf(QUEUE), id: "killed", pid: await deadPid() };
    await kit.engine.registerHolder(holder);
    const gate = await kit.engine.readDocument(`gate/${QUEUE}`);
    const body = gate?.body as { breaker: { generation: number } };
    const probing = { kind: "half_open", successes: 0, probesOut: 1, probedAtMs: kit.clock.now() };
    const breaker = { ...body.breaker, generation: body.breaker.generation + 1, gate: probing };
    await kit.engine.settleAndLease("killed", {
      settle: [],
      lease: { queue: QUEUE, max: 1 },
      gate: { queue: QUEUE, seen: gate?.version ?? 0, next: { ...body, breaker } },
    });
    expect(await kit.end(kit.run(succeed, { policy }))).toEqual({ end: "finished" });
    expect(await kit.counts()).toMatchObject({ done: 6 });
  });

  it("probes without work cause no busy loop, however the store notifies", async () => {
    await make(...ids(4));
    const backoff = { kind: "fixed", delayMs: 3_600_000, jitter: false } as const;
    const policy = policyOf({ maxAttempts: 3, backoff, breaker: { ...BREAKER, timeoutMs: 1000 } });
    const runs = [1, 2].map(() => kit.run(fail("transient"), { slots: 2, policy, keepGoing: true }));
    await kit.pass(3000);
    const before = kit.steps.length;
    await kit.pass(10_000);
    expect(kit.steps.length - before).toBeLessThanOrEqual(120); // two for each look of each of them, and a few that met
    for (const run of runs) {
      run.stop();
      await kit.end(run);
    }
    expect(await kit.counts()).toEqual({ ready: 4, attempts: 4 });
  });

  it("a closed gate costs nothing: nothing is written, and every step leases what it asks for", async () => {
    await make(...ids(40));
    const policy = policyOf({ breaker: BREAKER });
    await kit.end(kit.run(succeed, { slots: 4, policy }));
    expect(kit.steps.filter(({ gate }) => gate?.next !== undefined)).toEqual([]);
    expect(await kit.engine.readDocument(`gate/${QUEUE}`)).toBeNull();
    expect(kit.steps.length).toBeLessThanOrEqual(12);
  });

  it("pitfall 59: the items of a killed worker return within seconds, and the others continue with them", async () => {
    await make("a", "b", "c");
    const holder = { ...describeSelf(QUEUE), id: "killed", host: "another-machine", ttlMs: 8000 };
    await kit.engine.registerHolder(holder);
    await kit.engine.settleAndLease("killed", { settle: [], lease: { queue: QUEUE, max: 2 } });
    const zero = kit.clock.now();
    const run = kit.run(succeed, { keepGoing: true });
    await kit.until(() => kit.clock.now() - zero > 12_000);
    expect(await kit.counts()).toMatchObject({ done: 3 });
    expect(await kit.outcomes("a")).toEqual(["lost", "succeeded"]);
    run.stop();
    await kit.end(run);
  });

  it("pitfall 42: an item that kills every worker is buried, and the rest of the queue is processed", async () => {
    await make("killer");
    const policy = policyOf({ maxAttempts: 10, lossesMax: 3 });
    for (let times = 1; times <= 3; times += 1) {
      await kit.engine.registerHolder({
        ...describeSelf(QUEUE),
        id: `killed-${times}`,
        pid: await deadPid(),
      });
      const { leased } = await kit.engine.settleAndLease(`killed-${times}`, {
        settle: [],
        lease: { queue: QUEUE, max: 1 },
      });
      expect(leased).toHaveLength(1);
      await kit.engine.add(QUEUE, [newItem(`other-${times}`)]);
      const run = kit.run(
        async ({ itemId }) => {
          expect(itemId).not.toBe("killer");
          return { kind: "succeeded" };
        },
        { keepGoing: true, policy },
      );
      await kit.until(() => kit.steps.some(({ settle }) => settle.some(({ outcome }) => outcome === "lost")));
      await kit.pass(50);
      run.stop();
      await kit.end(run);
      kit.steps.length = 0;
      kit.clock.advance(60_000);
    }
    const letter = await kit.engine.readLetter((await kit.item("killer")).ref);
    expect(letter).toMatchObject({ state: "dead", reason: "the worker vanished 3 times" });
    expect(await kit.counts()).toMatchObject({ done: 3, dead: 1 });
  });
});

function ids(count: number): string[] {
  return Array.from({ length: count }, (_none, index) => `item-${index}`);
}
