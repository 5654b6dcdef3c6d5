/** Cron schedules: each due run is added once, whatever processes are killed, or as the rule for missed runs says. */
import { Cron } from "croner";
import { afterEach, describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import {
  dueRuns,
  LATE_MS,
  listSchedules,
  MISSED_MAX,
  nextRunAt,
  pauseSchedule,
  putSchedule,
  removeSchedule,
  requireSchedule,
  resumeSchedule,
  runItemId,
  runSchedules,
  type ScheduleSettings,
} from "../../src/queue/schedules.ts";
import { scheduler } from "../../src/service/scheduler.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { TestClock } from "../support/test-clock.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const opened: Engine[] = [];
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

async function openQueue(start = Date.UTC(2026, 9, 20)) {
  const clock = new TestClock(start);
  const engine = await openStore("memory:", { clock });
  opened.push(engine);
  await createQueue(engine, "q", {});
  return { clock, engine, put: (settings: Partial<ScheduleSettings>) => put(engine, settings) };
}

function put(engine: Engine, settings: Partial<ScheduleSettings>) {
  return putSchedule(engine, "s", { queue: "q", cron: "0 * * * *", ...settings });
}

async function idsOf(engine: Engine): Promise<string[]> {
  const items = await engine.listItems({ queue: "q", limit: 100_000 });
  return items.map(({ itemId }) => itemId).sort();
}

const hour = (at: number) => runItemId("s", at);

describe("a schedule", () => {
  it("adds one item per run, with its data and options", async () => {
    const { clock, engine, put: make } = await openQueue();
    const start = clock.now();
    await make({ data: { report: 1 }, priority: "high", retries: 4, name: "hourly", context: { a: 1 } });
    expect(await runSchedules(engine)).toBe(start + HOUR);
    expect(await idsOf(engine)).toEqual([]);
    clock.advance(HOUR);
    expect(await runSchedules(engine)).toBe(start + 2 * HOUR);
    await runSchedules(engine);
    expect(await engine.listItems({ queue: "q", limit: 9 })).toMatchObject([
      {
        ...{ itemId: "s@2026-10-20T01:00:00Z", data: { report: 1 }, priority: "high", retries: 4 },
        ...{ name: "hourly", context: { a: 1 }, state: "ready" },
      },
    ]);
    expect(await requireSchedule(engine, "s")).toMatchObject({
      lastRunAt: start + HOUR,
      lastItemId: "s@2026-10-20T01:00:00Z",
    });
  });

  it("skips, adds the last of, or adds all missed runs", async () => {
    for (const [missed, count] of [
      ["skip", 0],
      ["last", 1],
      ["all", 5],
    ] as const) {
      const { clock, engine, put: make } = await openQueue();
      const start = clock.now();
      await make({ missed });
      clock.advance(5 * HOUR + LATE_MS + 1);
      await runSchedules(engine);
      const ids = await idsOf(engine);
      expect(ids).toHaveLength(count);
      if (missed === "last") expect(ids).toEqual([hour(start + 5 * HOUR)]);
      expect((await requireSchedule(engine, "s")).skipped).toBe(5 - count);
    }
  });

  it("adds a limited number of missed runs, the newest", async () => {
    const { clock, put: make } = await openQueue();
    const schedule = await make({ cron: "* * * * *", missed: "all" });
    clock.advance(5 * DAY);
    const { add, skipped } = dueRuns(schedule, clock.now());
    expect(add.length).toBeLessThanOrEqual(MISSED_MAX + 2); // and those that are on time
    expect(add.length + skipped).toBe((5 * DAY) / MINUTE);
    expect(add.at(-1)).toBe(clock.now());
  });

  it("is paused, resumed from the next run on, changed and removed", async () => {
    const { clock, engine, put: make } = await openQueue();
    const start = clock.now();
    await make({ missed: "all" });
    await pauseSchedule(engine, "s");
    clock.advance(2 * HOUR);
    await runSchedules(engine);
    expect(nextRunAt(await requireSchedule(engine, "s"), clock.now())).toBeNull();
    await resumeSchedule(engine, "s");
    clock.advance(HOUR);
    await runSchedules(engine);
    expect(await idsOf(engine)).toEqual([hour(start + 3 * HOUR)]);
    await make({ cron: "30 * * * *" });
    clock.advance(HOUR);
    await runSchedules(engine);
    expect(await idsOf(engine)).toContain(hour(start + 3.5 * HOUR));
    await removeSchedule(engine, "s");
    expect(await listSchedules(engine)).toEqual([]);
    await expect(requireSchedule(engine, "t")).rejects.toMatchObject({ code: "schedule_not_found" });
  });

  it("refuses patterns, time zones, names and queues that do not exist", async () => {
    const { put: make, engine } = await openQueue();
    for (const [settings, field] of [
      [{ cron: "61 * * * *" }, "cron"],
      [{ cron: "every day" }, "cron"],
      [{ cron: "0 0 30 2 *" }, "cron"],
      [{ timezone: "Mars/Base" }, "timezone"],
    ] as const)
      await expect(make(settings)).rejects.toMatchObject({ code: "usage", field });
    await expect(make({ queue: "nowhere" })).rejects.toMatchObject({ code: "job_not_found" });
    await expect(putSchedule(engine, "a@b", { queue: "q", cron: "* * * * *" })).rejects.toMatchObject({
      field: "name",
    });
    expect(await listSchedules(engine)).toEqual([]);
  });

  it("records why a run could not be added, and continues with the next one", async () => {
    const { clock, engine, put: make } = await openQueue();
    const { changeQueue } = await import("../../src/queue/queue-settings.ts");
    await make({ data: 1 });
    await changeQueue(engine, "q", { schema: { type: "string" } });
    clock.advance(HOUR);
    await runSchedules(engine);
    expect((await requireSchedule(engine, "s")).problem).toMatch(/schema/);
    await changeQueue(engine, "q", { schema: null });
    clock.advance(HOUR);
    await runSchedules(engine);
    expect(await idsOf(engine)).toHaveLength(1);
    expect(await requireSchedule(engine, "s")).not.toHaveProperty("problem");
  });

  it("runs a fixed time once on the days of clock changes", async () => {
    const zone = { timezone: "America/New_York", missed: "all" } as const;
    const autumn = await openQueue(Date.UTC(2026, 9, 31, 12));
    await autumn.put({ ...zone, cron: "30 1 * * *" }); // comes twice that night
    autumn.clock.advance(2 * DAY);
    await runSchedules(autumn.engine);
    expect(await idsOf(autumn.engine)).toEqual(["s@2026-11-01T05:30:00Z", "s@2026-11-02T06:30:00Z"]);
    const spring = await openQueue(Date.UTC(2026, 2, 7, 12));
    await spring.put({ ...zone, cron: "30 2 * * *" }); // does not come that night
    spring.clock.advance(2 * DAY);
    await runSchedules(spring.engine);
    expect(await idsOf(spring.engine)).toEqual(["s@2026-03-08T07:00:00Z", "s@2026-03-09T06:30:00Z"]);
  });

  it("counts a missed run once when a process that was stopped in between continues after another one", async () => {
    const { clock, engine, put: make } = await openQueue();
    await make({ missed: "skip" });
    let isFirst = true;
    const stopped: Engine = {
      ...engine,
      now: () => engine.now(),
      readDocument: async (name) => {
        if (isFirst) {
          isFirst = false;
          clock.advance(2.5 * HOUR);
          await runSchedules(engine);
        }
        return engine.readDocument(name);
      },
    };
    await runSchedules(stopped);
    clock.advance(MINUTE);
    await runSchedules(engine);
    expect((await requireSchedule(engine, "s")).skipped).toBe(2);
  });

  it("adds nothing twice when the clock is set back, and does not wait until it has caught up", async () => {
    const { clock, engine, put: make } = await openQueue();
    const start = clock.now();
    await make({ missed: "all" });
    for (const step of [DAY, -DAY + 30 * MINUTE, 31 * MINUTE, HOUR]) {
      clock.advance(step);
      await runSchedules(engine);
    }
    const early = [1, 2].map((n) => hour(start + n * HOUR));
    const ids = await idsOf(engine);
    expect(ids).toEqual(expect.arrayContaining(early));
    expect(ids).toHaveLength(24);
  });

  it("is run by a service that looks for new schedules and wakes for the next run", async () => {
    const { clock, engine, put: make } = await openQueue();
    const job = await engine.findJob("q");
    if (job === null) throw new Error("the queue is gone");
    const service = scheduler()(job, { engine, clock, home: "/", onNotice: () => {} });
    const pass = async (ms: number) => {
      for (const until = clock.now() + ms; clock.now() < until; clock.advance(1000))
        await new Promise((resolve) => setImmediate(resolve));
    };
    await pass(1000);
    await make({ cron: "* * * * *" });
    await pass(3 * MINUTE + 2000);
    await service.stop();
    expect(await idsOf(engine)).toHaveLength(3);
  });
});

/** Thrown by a store call at which the process is killed. */
class Killed extends Error {}

/** The store as a process sees it that is killed at a random call, before or after the call has done its work. */
function mortal(engine: Engine, random: () => number): Engine {
  let calls = Math.floor(random() * 12);
  return new Proxy(engine, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...given: unknown[]) => {
        if (calls < 0) throw new Killed();
        calls -= 1;
        if (calls < 0 && random() < 0.5) throw new Killed();
        const answer: unknown = await Reflect.apply(method, target, given);
        if (calls < 0) throw new Killed();
        return answer;
      };
    },
  });
}

describe("three processes that are killed at random for simulated weeks", () => {
  const start = Date.UTC(2026, 9, 20);
  const end = start + 21 * DAY; // the clocks of New York change on 1 November
  const patterns = ["*/10 * * * *", "30 1 * * *", "0 */3 * * 1-5", "15 2 1 * *"];

  for (const missed of ["all", "last", "skip"] as const) {
    it.each(missed === "all" ? [1, 2] : [3])(`the rule ${missed}, seed %i`, async (seed) => {
      const random = seededRandom(seed);
      const { clock, engine } = await openQueue(start);
      const names = patterns.map((_, at) => `s${at}`);
      for (const [at, cron] of patterns.entries())
        await putSchedule(engine, `s${at}`, { queue: "q", cron, timezone: "America/New_York", missed });
      const started: number[] = [];
      const completed: number[] = [];
      let kills = 0;
      const run = async () => {
        const at = clock.now();
        started.push(at);
        const isMortal = random() < 0.5;
        try {
          await runSchedules(isMortal ? mortal(engine, random) : engine);
          completed.push(at);
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          kills += 1;
        }
      };
      while (clock.now() < end) {
        const isOutage = random() < 0.01; // all processes are down for a while
        clock.advance(Math.floor(random() * (isOutage ? 20 * HOUR : 5 * MINUTE)));
        await Promise.all([run(), run(), run()].slice(0, 1 + Math.floor(random() * 3)));
      }
      await runSchedules(engine);
      completed.push(clock.now());
      started.push(clock.now());
      expect(kills).toBeGreaterThan(100);
      const ids = await idsOf(engine);
      for (const [at, cron] of patterns.entries()) {
        const due = dueTimes(cron, start, clock.now());
        const added = due.filter((time) => ids.includes(runItemId(`s${at}`, time)));
        expect(ids.filter((id) => id.startsWith(`${names[at]}@`))).toHaveLength(added.length);
        expect(added).toEqual(
          missed === "all" ? due : expectedOf(missed, { due, added, started, completed }),
        );
      }
      expect(await engine.check()).toEqual([]);
    });
  }
});

function dueTimes(cron: string, from: number, to: number): number[] {
  const pattern = new Cron(cron, { timezone: "America/New_York", paused: true });
  const due: number[] = [];
  for (let at = pattern.nextRun(new Date(from)); at !== null && at.getTime() <= to; at = pattern.nextRun(at))
    due.push(at.getTime());
  return due;
}

interface Lived {
  readonly due: readonly number[];
  readonly added: readonly number[];
  readonly started: readonly number[];
  readonly completed: readonly number[];
}

/**
 * Runs that a process handled in time must be there, and of `last` the newest run before each completed round. A process that
 * was killed may have added what it found, and nothing else is there.
 */
function expectedOf(rule: "last" | "skip", { due, added, started, completed }: Lived): readonly number[] {
  const inTime = (rounds: readonly number[]) => (time: number) =>
    rounds.some((at) => at >= time && at - time <= LATE_MS);
  const newest = (rounds: readonly number[]) =>
    new Set(rounds.map((at) => due.findLast((time) => time <= at) ?? 0));
  const must = due.filter(inTime(completed));
  const may = due.filter(inTime(started));
  const lastMust = rule === "last" ? newest(completed) : new Set<number>();
  const lastMay = rule === "last" ? newest(started) : new Set<number>();
  return due.filter(
    (time) =>
      must.includes(time) ||
      lastMust.has(time) ||
      ((may.includes(time) || lastMay.has(time)) && added.includes(time)),
  );
}
