import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import type { NewHolder } from "../../src/engine.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { describeSelf } from "../../src/lease/holder.ts";
import { reap } from "../../src/lease/reap.ts";
import { createStartMarks } from "../../src/lease/start-marks.ts";
import type { Policy } from "../../src/retry/policy.ts";
import { QUEUE } from "../conformance/workbench.ts";
import { ENGINES, policyOf, RunKit, succeed } from "../runner/run-kit.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { deadPid, type LivingProcess, startProcess } from "./processes.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const TTL_MS = 10_000;

describe.each(ENGINES)("reaping on the %s engine", (_, open) => {
  let kit: RunKit;
  const processes: LivingProcess[] = [];
  const make = async (...itemIds: string[]) => {
    kit = await RunKit.open(open, directory, ...itemIds);
    return kit;
  };
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.end();
    await kit.close();
  });

  it("the leases of a dead process of this machine are returned at once", async () => {
    await make("a", "b", "c");
    await hold({ pid: await deadPid() }, 2);
    expect(await reapAs()).toBe(2);
    expect(await kit.counts()).toEqual({ ready: 3, attempts: 2 });
    expect(await kit.outcomes("a")).toEqual(["lost"]);
    expect(await kit.item("a")).toMatchObject({ lostCount: 1, attemptsCounted: 0 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("an item that was leased ahead and never started is released, and counts no attempt", async () => {
    await make("a", "b");
    const folder = directory.file("marks");
    mkdirSync(folder, { recursive: true });
    const [a] = await hold({ pid: await deadPid() }, 2);
    const path = createStartMarks(folder, "holder-1", 4);
    const marks = readFileSync(path);
    marks.writeBigUInt64LE(BigInt(a?.ref ?? 0), 32); // the third record
    marks.writeUInt32LE(a?.attempt ?? 0, 40);
    writeFileSync(path, marks);
    expect(await reapAs({ startMarksFolder: folder })).toBe(2);
    expect(await kit.outcomes("a")).toEqual(["lost"]);
    expect(await kit.outcomes("b")).toEqual(["released"]);
    expect(await kit.item("b")).toMatchObject({ state: "ready", lostCount: 0, attemptsCounted: 0 });
    expect(existsSync(path)).toBe(false);
  });

  it("a result that was not stored counts no loss, and a success without output is kept", async () => {
    const ends = { silent: [1, 0], printed: [3, 0], failed: [1, 4], killed: [5, 9], running: [0, 0] };
    await make(...Object.keys(ends));
    const folder = directory.file("marks");
    mkdirSync(folder, { recursive: true });
    const leased = await hold({ pid: await deadPid() }, 5);
    writeMarks(folder, leased, Object.values(ends));
    expect(await reapAs({ startMarksFolder: folder })).toBe(5);
    const outcomes: Record<string, unknown> = {};
    for (const itemId of Object.keys(ends)) outcomes[itemId] = await kit.outcomes(itemId);
    expect(outcomes).toEqual({
      silent: ["succeeded"],
      printed: ["released"],
      failed: ["released"],
      killed: ["released"],
      running: ["lost"],
    });
    expect(await kit.item("silent")).toMatchObject({ state: "done", lostCount: 0 });
    for (const itemId of ["printed", "failed", "killed"])
      expect(await kit.item(itemId)).toMatchObject({ state: "ready", lostCount: 0, attemptsCounted: 0 });
  });

  it("an item whose output kills its worker each time becomes a letter in the end", async () => {
    await make("a");
    const folder = directory.file("marks");
    mkdirSync(folder, { recursive: true });
    for (let times = 1; (await kit.item("a")).state === "ready"; times += 1) {
      expect(times).toBeLessThan(20);
      kit.clock.advance(60_000);
      const leased = await hold({ id: `holder-${times}`, pid: await deadPid() }, 1);
      writeMarks(folder, leased, [[3, 0]], `holder-${times}`);
      await reapAs({ startMarksFolder: folder, policy: policyOf({ lossesMax: 3 }) });
    }
    expect(await kit.outcomes("a")).toEqual([...Array(10).fill("released"), "lost", "lost", "lost"]);
    expect(await kit.item("a")).toMatchObject({ state: "dead", lostCount: 3 });
  });

  it("marks of another machine or another boot mean nothing, so all items count as started", async () => {
    await make("a");
    const folder = directory.file("marks");
    mkdirSync(folder, { recursive: true });
    await hold({ host: "elsewhere", pid: await deadPid() }, 1);
    createStartMarks(folder, "holder-1", 4);
    kit.clock.advance(TTL_MS);
    expect(await reapAs({ startMarksFolder: folder })).toBe(1);
    expect(await kit.outcomes("a")).toEqual(["lost"]);
  });

  it("a living process of this machine keeps its leases until its heartbeats stop", async () => {
    await make("a");
    const other = await startProcess();
    processes.push(other);
    await hold({ pid: other.pid, processStart: "" }, 1);
    kit.clock.advance(TTL_MS - 1);
    expect(await reapAs()).toBe(0);
    expect(await kit.counts()).toEqual({ leased: 1, attempts: 1 });
    kit.clock.advance(1);
    expect(await reapAs()).toBe(1);
  });

  it("a pid that now belongs to another process does not keep the leases", async () => {
    await make("a");
    const other = await startProcess();
    processes.push(other);
    await hold({ pid: other.pid, processStart: "1" }, 1);
    expect(await reapAs()).toBe(1);
  });

  it("a holder of another machine loses its leases after its time to live without a heartbeat", async () => {
    await make("a");
    await hold({ host: "elsewhere", pid: await deadPid() }, 1);
    expect(await reapAs()).toBe(0);
    kit.clock.advance(TTL_MS / 2);
    await kit.engine.heartbeat("holder-1");
    kit.clock.advance(TTL_MS - 1);
    expect(await reapAs()).toBe(0);
    kit.clock.advance(1);
    expect(await reapAs()).toBe(1);
  });

  it("it never reaps itself, nor holders of other queues", async () => {
    await make("a");
    const gone = { pid: await deadPid() };
    await hold(gone, 1);
    await kit.engine.createJob({ id: "job-2", name: "another", kind: "map", spec: {} });
    await kit.engine.registerHolder({ ...describeSelf("job-2"), ...gone, id: "holder-2" });
    expect(await reapAs({ selfId: "holder-1" })).toBe(0);
    expect((await kit.engine.listHolders()).map(({ id }) => id)).toEqual(["holder-1", "holder-2"]);
    expect(await reapAs()).toBe(1);
    expect((await kit.engine.listHolders()).map(({ id }) => id)).toEqual(["holder-2"]);
  });

  it("a vanished holder without leases is removed too", async () => {
    await make();
    await hold({ pid: await deadPid() }, 0);
    expect(await reapAs()).toBe(0);
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("an item that kills its worker every time becomes a WorkerLost letter with its whole history", async () => {
    await make("killer");
    const policy = policyOf({ lossesMax: 3 });
    for (let times = 1; times <= 3; times += 1) {
      expect((await kit.item("killer")).state).toBe("ready");
      kit.clock.advance(60_000);
      await hold({ id: `holder-${times}`, pid: await deadPid() }, 1);
      expect(await reapAs({ policy })).toBe(1);
    }
    const letter = await kit.engine.readLetter((await kit.item("killer")).ref);
    expect(letter).toMatchObject({ state: "dead", reason: "the worker vanished 3 times" });
    expect(
      letter?.failureHistory.map(({ errorType, attemptNumber }) => [errorType.name, attemptNumber]),
    ).toEqual([
      ["WorkerLost", 1],
      ["WorkerLost", 2],
      ["WorkerLost", 3],
    ]);
    expect(letter?.failureHistory[0]?.errorContext).toContain("held by holder-1");
    expect(await kit.counts()).toEqual({ dead: 1, letters: 1, attempts: 3 });
  });

  it("an item that kills its worker after every redrive is poison in the end", async () => {
    await make("killer");
    const options = { policy: policyOf({ lossesMax: 1 }), poisonAfter: 1 };
    await hold({ id: "holder-1", pid: await deadPid() }, 1);
    await reapAs(options);
    const { ref } = await kit.item("killer");
    expect((await kit.engine.readLetter(ref))?.poison).toBeUndefined();
    const request = { id: "op", kind: "redrive", queue: QUEUE, filter: {}, author: "ann" } as const;
    await kit.engine.beginOperation({ ...request, force: false, plan: {} });
    await kit.engine.advance("op", { max: 1 });
    await hold({ id: "holder-2", pid: await deadPid() }, 1);
    await reapAs(options);
    expect(await kit.engine.readLetter(ref)).toMatchObject({ poison: true, reprocessEligible: false });
  });

  it("a lost item waits before its next attempt, because its worker may have died of it", async () => {
    await make("a");
    await hold({ pid: await deadPid() }, 1);
    await reapAs();
    expect((await kit.item("a")).dueAt).toBe(kit.clock.now() + 1000);
  });

  it("two concurrent reapers return each lease once", async () => {
    await make("a", "b", "c");
    await hold({ pid: await deadPid() }, 3);
    const reaped = await Promise.all([reapAs(), reapAs()]);
    expect(reaped[0] + reaped[1]).toBe(3);
    expect(await kit.item("a")).toMatchObject({ state: "ready", lostCount: 1, attempts: 1 });
    expect(await kit.engine.listEvents({ after: 0, types: ["late_result"], limit: 10 })).toEqual([]);
  });

  it("a holder that is being reaped gets no further lease", async () => {
    await make("a", "b");
    await hold({ pid: await deadPid() }, 1);
    const engine = {
      ...kit.engine,
      unregisterHolder: async (holderId: string) => {
        await expect(lease(holderId, 1)).rejects.toMatchObject({ code: "lease_lost" });
        return kit.engine.unregisterHolder(holderId);
      },
    };
    expect(await reapAs({ engine })).toBe(1);
    expect(await kit.counts()).toEqual({ ready: 2, attempts: 1 });
    expect(await kit.engine.listHolders()).toEqual([]);
  });

  it("a holder that sends a heartbeat just before it is reaped keeps its leases", async () => {
    await make("a");
    await hold({ host: "elsewhere" }, 1);
    kit.clock.advance(TTL_MS);
    const engine = {
      ...kit.engine,
      listHolders: async () => {
        const holders = await kit.engine.listHolders();
        await kit.engine.heartbeat("holder-1");
        return holders;
      },
    };
    expect(await reapAs({ engine })).toBe(0);
    expect(await kit.counts()).toEqual({ leased: 1, attempts: 1 });
    kit.clock.advance(TTL_MS);
    expect(await reapAs()).toBe(1);
  });

  it("a runner reaps when it starts, and again while it works", async () => {
    await make("a", "b");
    await hold({ pid: await deadPid() }, 1);
    const other = await startProcess();
    processes.push(other);
    await hold({ id: "holder-2", pid: other.pid, processStart: "" }, 1);
    const beating = keepBeating("holder-2");
    const run = kit.run(succeed);
    await kit.pass(6000);
    expect(await kit.outcomes("a")).toEqual(["lost", "succeeded"]);
    expect(await kit.outcomes("b")).toEqual(["running"]);
    await other.end();
    expect(await kit.end(run)).toEqual({ end: "finished" });
    expect(await kit.outcomes("b")).toEqual(["lost", "succeeded"]);
    beating.stop();
  });

  /** Writes the marks of these items: for each the flags and the code of its end (launcher/launcher.c). */
  function writeMarks(
    folder: string,
    items: readonly LeasedItem[],
    ends: readonly (readonly number[])[],
    holderId = "holder-1",
  ): void {
    const path = createStartMarks(folder, holderId, items.length);
    const marks = readFileSync(path);
    for (const [at, { ref, attempt }] of items.entries()) {
      const [flags = 0, code = 0] = ends[at] ?? [];
      marks.writeBigUInt64LE(BigInt(ref), at * 16);
      marks.writeUInt32LE(attempt, at * 16 + 8);
      marks.set([flags, code], at * 16 + 12);
    }
    writeFileSync(path, marks);
  }

  /** Enters a holder of this machine and leases for it. */
  async function hold(change: Partial<NewHolder>, max: number): Promise<readonly LeasedItem[]> {
    const holder = { ...describeSelf(QUEUE), id: "holder-1", ttlMs: TTL_MS, ...change };
    await kit.engine.registerHolder(holder);
    return max === 0 ? [] : lease(holder.id, max);
  }

  async function lease(holderId: string, max: number): Promise<readonly LeasedItem[]> {
    return (await kit.engine.settleAndLease(holderId, { settle: [], lease: { queue: QUEUE, max } })).leased;
  }

  function reapAs(change: Partial<Parameters<typeof reap>[0]> & { policy?: Policy } = {}): Promise<number> {
    const { engine } = kit;
    return reap({ engine, queue: QUEUE, policy: policyOf(), random: () => 0.5, selfId: "reaper", ...change });
  }

  function keepBeating(holderId: string) {
    let stopped = false;
    const next = () => {
      if (stopped) return;
      void kit.engine.heartbeat(holderId);
      kit.clock.after(1000, next);
    };
    next();
    return {
      stop: () => {
        stopped = true;
      },
    };
  }
});
