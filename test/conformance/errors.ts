/** The contract of the error log: one entry for each failure of each queue, and for the runner's own errors. */
import { expect } from "vitest";
import type { ErrorQuery } from "../../src/item/error-log.ts";
import { buried, failureOf, lost, released, retried, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

/** Two failures of one item, a lost worker, an error of the runner, and errors of the store. */
async function trouble(bench: Workbench): Promise<void> {
  await bench.job("job-2");
  await bench.registerHolder();
  await bench.add("a");
  await bench.settle(retried(await bench.leaseOne(), 0));
  bench.clock.advance(1000);
  await bench.settle(buried(await bench.leaseOne()));
  await bench.engine.add("job-2", [{ itemId: "b", data: 1 }]);
  await bench.settle(lost(await bench.leaseOne("holder-1", "job-2")));
  bench.clock.advance(1000);
  const lease = await bench.leaseOne("holder-1", "job-2");
  await bench.settle({ ...released(lease), fault: "the shell is gone" });
  await bench.settle(succeeded(await bench.leaseOne("holder-1", "job-2")));
  const event = { type: "store_write_failed", data: { message: "the disk was full" } } as const;
  await bench.engine.changeJob(QUEUE, { event });
}

const list = async ({ engine }: Workbench, query: Partial<ErrorQuery> = {}) =>
  engine.listErrors({ limit: 100, ...query });
const types = async (bench: Workbench, query: Partial<ErrorQuery> = {}) =>
  (await list(bench, query)).map(({ type }) => type);

export function errorTests(test: Declare): void {
  entries(test);
  queries(test);
}

function entries(test: Declare): void {
  test("every failure is an entry with its record, newest first", async (bench) => {
    await trouble(bench);
    const now = bench.clock.now();
    const [store, runner, worker, second, first] = await list(bench);
    expect(first).toMatchObject({
      ...{
        type: "attempt_failed",
        at: now - 2000,
        queue: QUEUE,
        itemId: "a",
        attempt: 1,
        holder: "holder-1",
      },
      message: "attempt 1 failed with exit code 101",
    });
    expect(first?.failure).toEqual(failureOf({ ref: 0, attempt: 1 }));
    expect(second).toMatchObject({ attempt: 2, at: now - 1000, failure: { attemptNumber: 2 } });
    expect(worker).toMatchObject({
      ...{ type: "attempt_lost", queue: "job-2", itemId: "b", attempt: 1, message: "the worker vanished" },
    });
    expect(runner).toEqual({
      id: expect.any(Number),
      ...{ type: "runner_failed", at: now, queue: "job-2", itemId: "b", attempt: 2, holder: "holder-1" },
      message: "the shell is gone",
    });
    expect(store).toEqual({
      id: expect.any(Number),
      ...{ type: "store_write_failed", at: now, queue: QUEUE, message: "the disk was full" },
    });
  });

  test("a failure of the runner leaves the item ready and counts no attempt", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await bench.settle({ ...released(lease), fault: "no shell" });
    expect(await bench.item("a")).toMatchObject({
      state: "ready",
      attemptsCounted: 0,
      lostCount: 0,
      attempts: 1,
    });
    expect(await bench.told("runner_failed")).toMatchObject([
      { queue: QUEUE, itemId: "a", attempt: 1, data: { message: "no shell" } },
    ]);
  });

  test("after a purge of the records, the entry still has the error message", async (bench) => {
    await trouble(bench);
    await bench.operate("purge");
    const [second] = await list(bench, { itemId: "a" });
    expect(second).toMatchObject({ itemId: "a", attempt: 2, message: "attempt 2 failed with exit code 101" });
    expect(second).not.toHaveProperty("failure");
    expect(second).not.toHaveProperty("holder");
  });
}

function queries(test: Declare): void {
  test("entries are selected by queue, item, origin and time, all of which must match", async (bench) => {
    await trouble(bench);
    const now = bench.clock.now();
    expect(await types(bench, { queue: "job-2" })).toEqual(["runner_failed", "attempt_lost"]);
    expect(await types(bench, { itemId: "a" })).toEqual(["attempt_failed", "attempt_failed"]);
    expect(await types(bench, { itemId: "a", queue: "job-2" })).toEqual([]);
    expect(await types(bench, { origin: "work" })).toEqual([
      "attempt_lost",
      "attempt_failed",
      "attempt_failed",
    ]);
    expect(await types(bench, { origin: "runner" })).toEqual(["store_write_failed", "runner_failed"]);
    expect(await types(bench, { since: now - 1000, origin: "work" })).toEqual([
      "attempt_lost",
      "attempt_failed",
    ]);
    expect(await types(bench, { since: now - Number.MAX_SAFE_INTEGER })).toHaveLength(5);
    expect(await types(bench, { queue: "job-9" })).toEqual([]);
  });

  test("entries are read page by page, each after the last entry of the previous page", async (bench) => {
    await trouble(bench);
    const all = await list(bench);
    const read: (typeof all)[number][] = [];
    for (;;) {
      const last = read.at(-1);
      const page = await list(bench, { limit: 2, ...(last && { before: last.id }) });
      if (page.length === 0) break;
      read.push(...page);
    }
    expect(all).toHaveLength(5);
    expect(read).toEqual(all);
  });

  test("a success is not an entry", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    await bench.settle(succeeded(await bench.leaseOne()), released(await bench.leaseOne()));
    expect(await list(bench)).toEqual([]);
  });
}
