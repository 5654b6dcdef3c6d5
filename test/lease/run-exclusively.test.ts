/** A process that is at a job is seen by others, and has it to itself. */
import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { describeSelf, runExclusively } from "../../src/lease/holder.ts";
import { systemClock } from "../../src/std/clock.ts";

const JOB = "job-1";

async function openJob(): Promise<Engine> {
  const engine = await openStore("memory:");
  await engine.createJob({ id: JOB, name: JOB, kind: "workflow", spec: {} });
  return engine;
}

const holders = async (engine: Engine) => (await engine.listHolders()).filter(({ queue }) => queue === JOB);

describe("runExclusively", () => {
  it("is visible while it works, and not afterwards, even after a failure", async () => {
    const engine = await openJob();
    const deps = { engine, clock: systemClock };
    expect(await runExclusively(deps, JOB, async () => (await holders(engine)).length)).toBe(1);
    expect(await holders(engine)).toEqual([]);
    const failing = runExclusively(deps, JOB, () => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    expect(await holders(engine)).toEqual([]);
  });

  it("refuses a second process, which never becomes visible", async () => {
    const engine = await openJob();
    const deps = { engine, clock: systemClock };
    await runExclusively(deps, JOB, async () => {
      let ran = false;
      const second = runExclusively(deps, JOB, async () => {
        ran = true;
      });
      await expect(second).rejects.toMatchObject({ code: "job_running" });
      expect(ran).toBe(false);
      expect(await holders(engine)).toHaveLength(1);
    });
  });

  it("of many at the same moment, one succeeds", async () => {
    const engine = await openJob();
    const deps = { engine, clock: systemClock };
    let letGo = () => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const all = Array.from({ length: 8 }, () => runExclusively(deps, JOB, () => gate));
    const refused = all.slice(1).map((one) => expect(one).rejects.toMatchObject({ code: "job_running" }));
    await Promise.all(refused);
    letGo();
    await all[0];
    expect(await holders(engine)).toEqual([]);
  });

  it("is not blocked by a process that is gone", async () => {
    const engine = await openJob();
    await engine.registerHolder({ ...describeSelf(JOB), id: "gone", processStart: "another time" });
    expect(await runExclusively({ engine, clock: systemClock }, JOB, async () => "mine")).toBe("mine");
  });

  it("returns when other processes took it for gone", async () => {
    const engine = await openJob();
    let tick = () => {};
    const clock = {
      ...systemClock,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => {
          tick = resolve;
          if (signal?.aborted) resolve();
          signal?.addEventListener("abort", () => resolve(), { once: true });
        }),
    };
    await runExclusively({ engine, clock }, JOB, async () => {
      const [first] = await holders(engine);
      await engine.unregisterHolder(first?.id ?? "");
      tick();
      await expect
        .poll(async () => (await holders(engine)).map(({ id }) => id !== first?.id))
        .toEqual([true]);
    });
    expect(await holders(engine)).toEqual([]);
  });
});
