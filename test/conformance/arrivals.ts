/** The contract of arrivals: how many letters were buried per minute, and how many of them still wait. */
import { expect } from "vitest";
import type { ArrivalQuery } from "../../src/engine.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

const MINUTE_MS = 60_000;

export function arrivalTests(test: Declare): void {
  const arrivals = async (bench: Workbench, query: Partial<ArrivalQuery> = {}) =>
    (await bench.engine.listArrivals({ bucketMs: MINUTE_MS, ...query })).map(({ at, waiting, ever }) => [
      (at - Date.UTC(2026, 0, 1)) / MINUTE_MS,
      waiting,
      ever,
    ]);
  /** Sets the clock to that many minutes and a few seconds after the start of the year. */
  const minute = (bench: Workbench, minutes: number) =>
    bench.clock.advance(Date.UTC(2026, 0, 1) + minutes * MINUTE_MS + 5000 - bench.clock.now());

  test("burials are counted per interval, and intervals without burials are omitted", async (bench) => {
    await bench.registerHolder();
    minute(bench, 1);
    await bench.bury(["a", "b"]);
    minute(bench, 4);
    await bench.bury(["c"]);
    minute(bench, 11);
    await bench.bury(["d"]);
    expect(await arrivals(bench)).toEqual([
      [1, 2, 2],
      [4, 1, 1],
      [11, 1, 1],
    ]);
    expect(await arrivals(bench, { bucketMs: 10 * MINUTE_MS })).toEqual([
      [0, 3, 3],
      [10, 1, 1],
    ]);
  });

  test("the interval of the requested time is counted as a whole", async (bench) => {
    await bench.registerHolder();
    minute(bench, 1);
    await bench.bury(["a"]);
    minute(bench, 12);
    await bench.bury(["b"]);
    minute(bench, 13);
    const query = { bucketMs: 10 * MINUTE_MS, since: bench.clock.now() };
    expect(await arrivals(bench, query)).toEqual([[10, 1, 1]]);
    expect(await arrivals(bench, { since: bench.clock.now() })).toEqual([]);
  });

  test("resolving letters lowers the number of waiting letters but not the number of arrivals", async (bench) => {
    await bench.registerHolder();
    minute(bench, 1);
    await bench.bury(["done", "discarded", "purged", "evicted", "stays"]);
    minute(bench, 2);
    const lease = await bench.redriveOne("op-1", "done");
    expect(await arrivals(bench)).toEqual([[1, 5, 5]]);
    await bench.settle(succeeded(lease));
    expect(await arrivals(bench)).toEqual([[1, 4, 5]]);
    await bench.operate("discard", ["discarded"]);
    await bench.operate("purge", ["purged"]);
    await bench.operate("evict", ["evicted"]);
    expect(await arrivals(bench)).toEqual([[1, 1, 5]]);
    await bench.operate("restore", ["discarded"]);
    expect(await arrivals(bench)).toEqual([[1, 2, 5]]);
    await bench.operate("purge");
    expect(await arrivals(bench)).toEqual([[1, 0, 5]]);
  });

  test("a letter that dies again counts as a new arrival", async (bench) => {
    await bench.registerHolder();
    minute(bench, 1);
    await bench.bury(["a"]);
    minute(bench, 3);
    await bench.settle(buried(await bench.redriveOne("op-1", "a")));
    expect(await arrivals(bench)).toEqual([
      [1, 0, 1],
      [3, 1, 1],
    ]);
  });

  test("arrivals are counted by the death records of the letters", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    minute(bench, 1);
    await bench.bury(["a"], { errorType: "Timeout", errorClass: "transient", signature: "s1" });
    await bench.bury(["b"], { signature: "s2" });
    await bench.bury(["c"], { signature: "s2", reprocessEligible: false, errorClass: "permanent" });
    await bench.engine.add("job-2", [{ itemId: "d", data: 2 }]);
    await bench.settle(buried(await bench.leaseOne("holder-1", "job-2"), { signature: "s2" }));
    const many = async (query: Partial<ArrivalQuery>) => (await arrivals(bench, query))[0]?.[2] ?? 0;
    expect(await many({})).toBe(4);
    expect(await many({ queue: QUEUE })).toBe(3);
    expect(await many({ types: ["Timeout"] })).toBe(1);
    expect(await many({ classes: ["permanent", "transient"] })).toBe(2);
    expect(await many({ signatures: ["s2"] })).toBe(3);
    expect(await many({ signatures: ["s2"], queue: QUEUE, eligible: true })).toBe(1);
    expect(await many({ eligible: false })).toBe(1);
    expect(await many({ types: [] })).toBe(0);
    expect(await many({ signatures: [] })).toBe(0);
  });
}
