/** The contract of counters: they never decrease and are written in the transaction that they count. */
import { expect } from "vitest";
import {
  buried,
  buriedAsLost,
  lost,
  parked,
  released,
  retried,
  skipped,
  succeeded,
} from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

async function countersOf({ engine }: Workbench, queue = QUEUE): Promise<Readonly<Record<string, number>>> {
  const all = await engine.listCounters();
  return Object.fromEntries(all.filter((one) => one.queue === queue).map(({ name, value }) => [name, value]));
}

export function counterTests(test: Declare): void {
  test("a new store has no counters", async (bench) => {
    await bench.add("a");
    expect(await bench.engine.listCounters()).toEqual([]);
  });

  test("every end of an attempt is counted, with its consequences", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c");
    const step = async (end: typeof succeeded) => bench.settle(end(await bench.leaseOne()));
    await step((lease) => retried(lease, 0));
    await step((lease) => parked(lease, 0));
    await step(released);
    await step((lease) => lost(lease));
    await step(skipped);
    await step((lease) => buried(lease, { errorType: "Timeout" }));
    await step(succeeded);
    expect(await countersOf(bench)).toEqual({
      "attempts.failed": 4,
      "attempts.released": 1,
      "attempts.lost": 1,
      "attempts.succeeded": 1,
      retries: 2,
      parks: 1,
      "dead.Timeout": 1,
    });
  });

  test("the outcome of a redriven item is counted once", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a", "b", "c"]);
    const ends = [
      (lease: Parameters<typeof retried>[0]) => retried(lease, 0),
      succeeded,
      buriedAsLost,
      skipped,
    ];
    await bench.operate("redrive");
    for (const end of ends) await bench.settle(end(await bench.leaseOne()));
    expect(await countersOf(bench)).toMatchObject({
      "redrives.succeeded": 1,
      "redrives.failed": 2,
      "dead.CommandFailed": 3,
      "dead.WorkerLost": 1,
    });
  });

  test("a worker's own counters increase with its settlement, but not after a lost lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.settle({ ...succeeded(lease), counts: ["pages", "pages", "expired"] });
    await bench.engine.settleAndLease(null, { settle: [{ ...succeeded(lease), counts: ["pages"] }] });
    expect(await countersOf(bench)).toEqual({ "attempts.succeeded": 1, pages: 2, expired: 1 });
  });

  test("a failed write is counted when it is reported", async (bench) => {
    const event = { type: "store_write_failed", data: { message: "full" } } as const;
    await bench.engine.changeJob(QUEUE, { event });
    await bench.engine.changeJob(QUEUE, { event });
    expect(await countersOf(bench)).toEqual({ store_write_failed: 2 });
  });

  test("each queue has its own counters, and a purge does not lower them", async (bench) => {
    await bench.job("job-2");
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.engine.add("job-2", [{ itemId: "b", data: 1 }]);
    await bench.settle(succeeded(await bench.leaseOne("holder-1", "job-2")));
    await bench.operate("purge");
    expect(await countersOf(bench)).toEqual({ "attempts.failed": 1, "dead.CommandFailed": 1 });
    expect(await countersOf(bench, "job-2")).toEqual({ "attempts.succeeded": 1 });
  });

  test("imported letters were not processed here and are not counted", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    const letter = await bench.letter("a");
    await bench.job("job-2");
    if (letter) await bench.engine.importLetters("job-2", [letter]);
    expect(await countersOf(bench, "job-2")).toEqual({});
  });
}
