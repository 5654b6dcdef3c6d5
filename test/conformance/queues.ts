/** The contract of standing queues: their kind, their pauses, and the notification of watchers. */
import { expect } from "vitest";
import { buried, released, succeeded } from "../support/settlements.ts";
import { until } from "../support/until.ts";
import { AUTHOR, type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

export function queueTests(test: Declare): void {
  kinds(test);
  pauses(test);
  watches(test);
}

function kinds(test: Declare): void {
  test("a job of a kind that never ends has the event of a queue", async ({ engine }) => {
    for (const kind of ["queue", "target"] as const) {
      await engine.createJob({ id: kind, name: kind, kind, spec: { leaseMs: 8000 } });
      expect(await engine.findJob(kind)).toMatchObject({ kind, status: "running", spec: { leaseMs: 8000 } });
      const events = await engine.listEvents({ queue: kind, after: 0, limit: 10 });
      expect(events).toMatchObject([{ type: "queue_created", data: { name: kind } }]);
    }
  });

  test("jobs can be listed by their kinds", async ({ engine }) => {
    await engine.createJob({ id: "q", name: "q", kind: "queue", spec: {} });
    await engine.createJob({ id: "w", name: "w", kind: "workflow", spec: {} });
    const ids = async (kinds?: Parameters<typeof engine.listJobs>[0]["kinds"]) =>
      (await engine.listJobs({ limit: 10, ...(kinds && { kinds }) })).map(({ id }) => id);
    expect(await ids()).toEqual(["w", "q", QUEUE]);
    expect(await ids(["queue"])).toEqual(["q"]);
    expect(await ids(["map", "workflow"])).toEqual(["w", QUEUE]);
    expect(await ids([])).toEqual([]);
    expect((await engine.listJobs({ limit: 1, kinds: ["map", "queue"] })).map(({ id }) => id)).toEqual(["q"]);
  });
}

const PAUSE = { author: AUTHOR, reason: "the bank is closed" } as const;

function pauses(test: Declare): void {
  test("nothing of a paused queue is leased, and the answer has the pause", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["dead"]);
    await bench.add("a");
    await bench.begin("op-1");
    await bench.engine.advance("op-1", { max: 1 });
    await bench.engine.changeJob(QUEUE, { pause: PAUSE });
    for (const more of [{}, { operationId: "op-1" }, { rate: { perSecond: 100 } }]) {
      const answer = await bench.engine.settleAndLease("holder-1", {
        settle: [],
        lease: { queue: QUEUE, max: 5, ...more },
      });
      expect(answer).toMatchObject({ leased: [], isPaused: true, nextDueAt: null });
    }
    await bench.engine.changeJob(QUEUE, { pause: null });
    const answer = await bench.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue: QUEUE, max: 5 },
    });
    expect(answer).toMatchObject({ isPaused: false });
    expect(answer.leased.map(({ itemId }) => itemId).sort()).toEqual(["a", "dead"]);
  });

  test("attempts that run when a queue is paused are settled, and another queue continues", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.add("a");
    await bench.engine.add("job-2", [newItem("b")]);
    const lease = await bench.leaseOne();
    await bench.engine.changeJob(QUEUE, { pause: PAUSE });
    await bench.settle(succeeded(lease));
    expect((await bench.item("a")).state).toBe("done");
    expect(await bench.lease(1, "holder-1", "job-2")).toHaveLength(1);
  });

  test("a pause is stored until it ends, and each of the two has one event", async (bench) => {
    const { engine, clock } = bench;
    const at = clock.now();
    const paused = await engine.changeJob(QUEUE, { pause: PAUSE });
    expect(paused.pause).toEqual({ at, ...PAUSE });
    clock.advance(1000);
    await engine.changeJob(QUEUE, { pause: { author: "bob", reason: "another" } });
    expect((await engine.findJob(QUEUE))?.pause).toEqual({ at, ...PAUSE });
    await engine.changeJob(QUEUE, { pause: null, event: { type: "queue_changed" } });
    await engine.changeJob(QUEUE, { pause: null });
    expect(await engine.findJob(QUEUE)).not.toHaveProperty("pause");
    expect(await bench.told("queue_paused", "queue_resumed", "queue_changed")).toMatchObject([
      { type: "queue_paused", queue: QUEUE, at, data: PAUSE },
      { type: "queue_resumed", queue: QUEUE, at: at + 1000 },
      { type: "queue_changed", queue: QUEUE },
    ]);
  });

  test("a change without a pause keeps the current one", async ({ engine }) => {
    await engine.changeJob(QUEUE, { pause: PAUSE });
    await engine.changeJob(QUEUE, { intakeComplete: true });
    expect((await engine.findJob(QUEUE))?.pause).toMatchObject(PAUSE);
  });
}

function watches(test: Declare): void {
  const REASONS: Readonly<Record<string, (bench: Workbench) => Promise<unknown>>> = {
    "an item is added": (bench) => bench.add("new"),
    "a letter is redriven": (bench) => bench.operate("redrive", ["dead"]),
    "a letter is sent anew": (bench) => bench.operate("requeue", ["dead"]),
    "a held item is put back": (bench) => bench.engine.unhold(QUEUE, ["held"], { author: AUTHOR }),
    "a pause ends": (bench) => bench.engine.changeJob(QUEUE, { pause: null }),
    "an attempt is released": async (bench) => {
      const [running] = await bench.engine.listLeases("holder-1");
      if (running) await bench.settle(released(running));
    },
  };

  for (const [reason, does] of Object.entries(REASONS)) {
    test(`a watcher of a queue is notified when ${reason}`, async (bench) => {
      await bench.registerHolder();
      await bench.bury(["dead"]);
      await bench.add("running");
      await bench.leaseOne();
      await bench.add("held");
      await bench.engine.hold(QUEUE, ["held"], { author: AUTHOR });
      await bench.engine.changeJob(QUEUE, { pause: PAUSE });
      let notifications = 0;
      const end = await bench.engine.watch(QUEUE, () => {
        notifications += 1;
      });
      await does(bench);
      await until("the notification", () => notifications > 0);
      await end();
    });
  }

  test("a watch that was ended gets no more notifications, and others do", async (bench) => {
    await bench.registerHolder();
    const notified: string[] = [];
    const end = await bench.engine.watch(QUEUE, () => notified.push("first"));
    const second = await bench.engine.watch(QUEUE, () => notified.push("second"));
    await end();
    await end();
    await bench.add("a");
    await until("the other notification", () => notified.includes("second"));
    await bench.settle(buried(await bench.leaseOne()));
    expect(notified).not.toContain("first");
    await second();
  });

  test("an unknown queue cannot be watched", async ({ engine }) => {
    await expect(engine.watch("job-9", () => {})).rejects.toMatchObject({ code: "job_not_found" });
  });
}
