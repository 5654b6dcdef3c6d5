/** A store that cannot be used for a while, or not any more: nothing is lost, and nothing is acknowledged falsely. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { type ErrorCode, RedriveError } from "../../src/errors.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { Outcome } from "../../src/item/settlement.ts";
import type { Feed } from "../../src/runner/run-options.ts";
import { newItem, QUEUE } from "../conformance/workbench.ts";
import { failureOf } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { ENGINES, Hands, Notebook, policyOf, RunKit, succeed } from "./run-kit.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

describe.each(ENGINES)("store failures on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it.each<ErrorCode>(["store_full", "store_busy", "store_unavailable"])(
    "%s for a while loses nothing, and is told once when it begins and once when it is over",
    async (code) => {
      await make("a", "b", "c");
      const store = new TroubledStore(kit.engine);
      const hands = new Hands();
      const notebook = new Notebook();
      const run = kit.run(hands.handler, { slots: 2, engine: store.engine, observer: notebook });
      await kit.until(() => hands.running.length === 2);
      store.trouble = code;
      hands.letAllGo();
      await kit.pass(5000);
      expect(notebook.lines).toEqual(["started a", "started b", `trouble ${code}`]);
      expect(await kit.counts()).toEqual({ ready: 1, leased: 2, attempts: 2 });
      store.trouble = null;
      await kit.until(() => hands.running.length === 1);
      hands.letAllGo();
      expect(await kit.end(run)).toEqual({ end: "finished" });
      expect(notebook.lines.filter((line) => /trouble|recovered/.test(line))).toEqual([
        `trouble ${code}`,
        "recovered",
      ]);
      expect(await kit.counts()).toEqual({ done: 3, attempts: 3 });
      const told = await kit.engine.listEvents({ after: 0, types: ["store_write_failed"], limit: 10 });
      expect(told).toMatchObject([{ queue: QUEUE, data: { message: expect.stringMatching(/\S/) } }]);
    },
  );

  it("attempts that end while the store is full are all settled afterwards", async () => {
    await make("a", "b", "c", "d");
    const store = new TroubledStore(kit.engine);
    const hands = new Hands();
    const run = kit.run(hands.handler, { engine: store.engine });
    await kit.until(() => hands.running.length === 4);
    store.trouble = "store_full";
    for (const itemId of ["a", "b", "c", "d"]) {
      hands.letGo(itemId);
      await kit.pass(1000);
    }
    store.trouble = null;
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 4, attempts: 4 });
  });

  it("a store that never recovers ends the run with its error, and running items are ended", async () => {
    await make("a", "b", "c");
    const store = new TroubledStore(kit.engine);
    const hands = new Hands();
    const notebook = new Notebook();
    const options = { slots: 2, engine: store.engine, observer: notebook, storeWaitMs: 10_000 };
    const run = kit.run(hands.handler, options);
    await kit.until(() => hands.running.length === 2);
    store.trouble = "store_full";
    hands.letGo("a");
    await kit.pass(9000);
    expect(run.isOver).toBe(false);
    expect(await kit.end(run)).toMatchObject({ error: { code: "store_full" } });
    expect(hands.aborted).toEqual(["b"]);
    expect(notebook.lines.some((line) => line.startsWith("done"))).toBe(false);
    expect(await kit.counts()).toEqual({ ready: 1, leased: 2, attempts: 2 });
  });

  it("what a dead store could not record returns with the next runner", async () => {
    await make("a");
    const store = new TroubledStore(kit.engine);
    const hands = new Hands();
    const run = kit.run(hands.handler, { engine: store.engine, storeWaitMs: 1000 });
    await kit.until(() => hands.running.length === 1);
    store.trouble = "store_unavailable";
    hands.letGo("a");
    await kit.end(run);
    expect(await kit.end(kit.run(succeed))).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["lost", "succeeded"]);
  });

  it.each<ErrorCode>(["store_corrupt", "store_readonly"])("%s is not waited for", async (code) => {
    await make("a");
    const store = new TroubledStore(kit.engine);
    const hands = new Hands();
    const run = kit.run(hands.handler, { engine: store.engine });
    await kit.until(() => hands.running.length === 1);
    store.trouble = code;
    const began = kit.clock.now();
    hands.letGo("a");
    expect(await kit.end(run)).toMatchObject({ error: { code } });
    expect(kit.clock.now() - began).toBeLessThan(1000);
  });

  it("an error that is not the store's ends the run at once: it is a bug", async () => {
    await make("a");
    const engine = { ...kit.engine, settleAndLease: () => Promise.reject(new TypeError("a bug")) };
    expect(await kit.end(kit.run(succeed, { engine }))).toEqual({ error: new TypeError("a bug") });
    expect(await kit.counts()).toEqual({ ready: 1 });
  });

  it("pitfall 44: an item whose decision throws is released, is in the error log, and runs again", async () => {
    await make("a", "b");
    let calls = 0;
    const random = () => {
      calls += 1;
      if (calls === 1) throw new RangeError("no luck");
      return 0.5;
    };
    const policy = policyOf({
      maxAttempts: 2,
      backoff: { kind: "fixed", delayMs: 1000, jitter: true },
    });
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      item.itemId === "a" && item.attempt <= 2
        ? { kind: "failed", failure: failureOf(item) }
        : { kind: "succeeded" };
    expect(await kit.end(kit.run(handler, { policy, random }))).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["released", "failed", "succeeded"]);
    const told = await kit.engine.listErrors({ origin: "runner", limit: 10 });
    expect(told).toMatchObject([
      { type: "runner_failed", itemId: "a", message: expect.stringMatching(/no luck/) },
    ]);
  });

  it("pitfall 44: an item whose settlement the store refuses is released, and delays none of the others", async () => {
    await make("a", "b", "c");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const handler = async (item: LeasedItem): Promise<Outcome> =>
      item.itemId === "b" && item.attempt === 1
        ? { kind: "succeeded", result: circle as never }
        : { kind: "succeeded", result: { fine: true } };
    const engine = refusing(kit.engine, circle);
    expect(await kit.end(kit.run(handler, { engine }))).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["succeeded"]);
    expect(await kit.outcomes("b")).toEqual(["released", "succeeded"]);
    expect(await kit.counts()).toEqual({ done: 3, attempts: 4 });
    expect(await kit.engine.listErrors({ origin: "runner", limit: 10 })).toMatchObject([{ itemId: "b" }]);
  });

  it.each([
    ["a bug", () => new TypeError("a bug")],
    ["store trouble", () => new RedriveError("store_unavailable", "the store was moved away")],
  ])(
    "a step that fails with %s after its commit leaves no lease that nobody works on",
    async (_, errorOf) => {
      await make("a", "b", "c");
      const hands = new Hands();
      const engine = failingAfterCommit(kit.engine, errorOf);
      const run = kit.run(hands.handler, { slots: 1, engine });
      await kit.until(() => hands.running.length === 1);
      hands.letGo("a"); // the step that settles it leases b, and fails
      await kit.until(() => hands.running.length === 1);
      hands.letAllGo();
      await kit.until(() => hands.running.length === 1);
      hands.letAllGo();
      expect(await kit.end(run)).toEqual({ end: "finished" });
      expect([...hands.started].sort()).toEqual(["a", "b", "c"]);
      expect(await kit.counts()).toMatchObject({ done: 3 });
      expect(await kit.outcomes("b")).toEqual(["released", "succeeded"]);
      expect(await kit.item("b")).toMatchObject({ attemptsCounted: 0 });
    },
  );

  it("pitfall 45: a store that cannot be read is not an empty queue", async () => {
    await make("a");
    const hands = new Hands();
    let isDown = false;
    const engine: Engine = {
      ...kit.engine,
      count: async (queue) => {
        if (isDown) throw new RedriveError("store_unavailable", "the store does not answer");
        return kit.engine.count(queue);
      },
    };
    const other = kit.run(hands.handler, { slots: 1 });
    await kit.until(() => hands.running.length === 1);
    isDown = true;
    const run = kit.run(succeed, { engine, storeWaitMs: Number.POSITIVE_INFINITY });
    await kit.pass(60_000);
    expect(run.isOver).toBe(false);
    hands.letGo("a", { kind: "released", why: "no process could be started" });
    isDown = false;
    await kit.until(() => hands.running.length === 1 || run.isOver);
    if (hands.running.length === 1) hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.end(other)).toEqual({ end: "finished" });
    expect(await kit.counts()).toMatchObject({ done: 1 });
  });

  it("leases of a lost answer are run, even if the gate was written in between", async () => {
    await make("a", "b");
    let isFirst = true;
    const engine: Engine = {
      ...kit.engine,
      settleAndLease: async (holderId, asked) => {
        const answer = await kit.engine.settleAndLease(holderId, asked);
        if (!isFirst || answer.leased.length === 0) return answer;
        isFirst = false;
        return { ...answer, gate: { version: 7, body: { parkedUntil: 0 } } };
      },
    };
    expect(await kit.end(kit.run(succeed, { engine }))).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 2, attempts: 2 });
  });

  it("a stop during the failure still releases everything when the store is back", async () => {
    await make("a", "b");
    const store = new TroubledStore(kit.engine);
    const hands = new Hands();
    const run = kit.run(hands.handler, { engine: store.engine });
    await kit.until(() => hands.running.length === 2);
    store.trouble = "store_busy";
    run.stop();
    await kit.pass(3000);
    expect(run.isOver).toBe(false);
    store.trouble = null;
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.counts()).toEqual({ ready: 2, attempts: 2 });
  });

  it("intake waits through the failure too", async () => {
    await make();
    const store = new TroubledStore(kit.engine);
    const feed: Feed = async function* (storeRetry) {
      yield (await storeRetry.run(() => store.engine.add(QUEUE, [newItem("a"), newItem("b")]))).added;
    };
    store.add = "store_full";
    const run = kit.run(succeed, { engine: store.engine, feed });
    await kit.pass(5000);
    expect(await kit.counts()).toEqual({});
    store.add = null;
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 2, attempts: 2 });
  });
});

describe.each(ENGINES)("lost leases on the %s engine", (_, open) => {
  let kit: RunKit;
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(() => kit.close());

  it("a runner that slept through its heartbeats ends what ran and continues as a new holder", async () => {
    await make("a", "b");
    const sleeper = new Hands();
    const run = kit.run(sleeper.handler, { slots: 2 });
    await kit.until(() => sleeper.running.length === 2);
    const [before] = await kit.engine.listHolders();
    await takeAway(kit, "other");
    await kit.until(() => sleeper.aborted.length === 2);
    await kit.until(() => sleeper.running.length === 2);
    const [after] = await kit.engine.listHolders();
    expect(after?.id).not.toBe(before?.id);
    sleeper.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["lost", "succeeded"]);
    expect(await kit.item("a")).toMatchObject({ state: "done", lostCount: 1, attemptsCounted: 0 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("many attempts that end with their leases are no reason to stop the job", async () => {
    const itemIds = Array.from({ length: 24 }, (_, index) => `item-${index}`);
    await make(...itemIds);
    const sleeper = new Hands();
    const run = kit.run(sleeper.handler, { slots: 24 });
    await kit.until(() => sleeper.running.length === 24);
    await takeAway(kit, "other");
    await kit.until(() => sleeper.aborted.length === 24);
    await kit.until(() => sleeper.running.length === 24);
    sleeper.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.counts()).toEqual({ done: 24, attempts: 48 });
  });

  it("invariant 3: later results of such a runner are stale, kept as late results, and reported to nobody", async () => {
    await make("a");
    const notebook = new Notebook();
    const release: (() => void)[] = [];
    const handler = (item: LeasedItem): Promise<Outcome> =>
      item.attempt > 1
        ? succeed()
        : new Promise((resolve) => {
            release.push(() => resolve({ kind: "succeeded" }));
          });
    const run = kit.run(handler, { slots: 1, observer: notebook });
    await kit.until(() => release.length === 1);
    await takeAway(kit, "other");
    release[0]?.();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["lost", "succeeded"]);
    const late = await kit.engine.listEvents({ after: 0, types: ["late_result"], limit: 10 });
    expect(late).toMatchObject([{ itemId: "a", attempt: 1, data: { outcome: "succeeded" } }]);
    expect(notebook.lines.filter((line) => line === "done a")).toHaveLength(1);
  });

  it("a runner that is stopped after it lost its leases ends and leaves the others' alone", async () => {
    await make("a");
    const hands = new Hands();
    const run = kit.run(hands.handler);
    await kit.until(() => hands.running.length === 1);
    await takeAway(kit, "other");
    await kit.engine.registerHolder({ ...OTHER, id: "next" });
    await kit.pass(0);
    kit.clock.advance(1100);
    const taken = await kit.engine.settleAndLease("next", { settle: [], lease: { queue: QUEUE, max: 1 } });
    run.stop();
    expect(await kit.end(run)).toEqual({ end: "interrupted" });
    expect(await kit.engine.listLeases("next")).toEqual(taken.leased);
    await kit.engine.settleAndLease(null, {
      settle: taken.leased.map(({ ref, attempt }) => ({
        lease: { ref, attempt },
        outcome: "succeeded",
        verdict: { kind: "done" },
      })),
    });
  });

  it("the loss is handled once, though the heartbeat and the loop both detect it while the store is slow", async () => {
    await make("a", "b", "c");
    const hands = new Hands();
    let enters = 0;
    const engine: Engine = {
      ...kit.engine,
      registerHolder: async (holder) => {
        enters += 1;
        if (enters > 1) await kit.clock.sleep(3000);
        return kit.engine.registerHolder(holder);
      },
    };
    const run = kit.run(hands.handler, { slots: 4, engine });
    await kit.until(() => hands.running.length === 3);
    await takeAway(kit, "other");
    await kit.until(() => hands.started.length === 6);
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(enters).toBe(2);
    expect(hands.started).toHaveLength(6);
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a failing heartbeat alone does not end the run", async () => {
    await make("a");
    const hands = new Hands();
    let heartbeats = 0;
    const engine = {
      ...kit.engine,
      heartbeat: () => {
        heartbeats += 1;
        return Promise.reject(new RedriveError("store_busy", "locked"));
      },
    };
    const run = kit.run(hands.handler, { engine });
    await kit.until(() => heartbeats >= 3);
    hands.letAllGo();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.outcomes("a")).toEqual(["succeeded"]);
  });
});

const OTHER = { queue: QUEUE, host: "elsewhere", pid: 1, processStart: "1", ttlMs: 1_000_000 };

/** Another machine's reaper finds the holders expired and takes their leases. */
async function takeAway(kit: RunKit, by: string): Promise<void> {
  for (const holder of await kit.engine.listHolders()) {
    const leases = await kit.engine.listLeases(holder.id);
    const settle = leases.map((item) => lossOf(item, by));
    await kit.engine.settleAndLease(null, { settle });
    expect(await kit.engine.unregisterHolder(holder.id)).toBe(true);
  }
}

function lossOf({ ref, attempt, startedAt }: LeasedItem, by: string) {
  const failure = {
    attemptNumber: attempt,
    timestamp: startedAt,
    errorType: { name: "WorkerLost" },
    errorClass: "transient",
    errorMessage: `taken back by ${by}`,
    agentId: by,
    stepFailed: "worker",
    durationMs: 0,
  } as const;
  const verdict = { kind: "retry", delayMs: 1000 } as const;
  return { lease: { ref, attempt }, outcome: "lost", verdict, failure } as const;
}

/** As every engine does with what is no JSON, whether or not it writes text. */
function refusing(engine: Engine, result: unknown): Engine {
  return {
    ...engine,
    settleAndLease: async (holderId, asked) => {
      if (asked.settle.some((settlement) => settlement.result === result)) throw new TypeError("a circle");
      return engine.settleAndLease(holderId, asked);
    },
  };
}

/** Its first step that settles and leases is carried out and reported as failed. */
function failingAfterCommit(engine: Engine, errorOf: () => Error): Engine {
  let isOver = false;
  return {
    ...engine,
    settleAndLease: async (holderId, asked) => {
      const answer = await engine.settleAndLease(holderId, asked);
      if (isOver || asked.settle.length === 0 || answer.leased.length === 0) return answer;
      isOver = true;
      throw errorOf();
    },
  };
}

/** An engine whose step or intake fails as long as the test says. */
class TroubledStore {
  trouble: ErrorCode | null = null;
  add: ErrorCode | null = null;
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = {
      ...engine,
      settleAndLease: async (...given) => {
        if (this.trouble !== null) throw new RedriveError(this.trouble, "the store is in trouble");
        return engine.settleAndLease(...given);
      },
      add: async (...given) => {
        if (this.add !== null) throw new RedriveError(this.add, "the store is in trouble");
        return engine.add(...given);
      },
    };
  }
}
