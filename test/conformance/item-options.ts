/** The contract of what one item sets for itself, and of the progress of its attempts. */
import { expect } from "vitest";
import { buried, retried, succeeded } from "../support/settlements.ts";
import { type Declare, newItem, QUEUE, type Workbench } from "./workbench.ts";

const OPTIONS = {
  retries: 7,
  backoff: { kind: "fixed", delayMs: 90, jitter: false },
  context: { traceparent: "00-ab-cd-01" },
} as const;

export function itemOptionTests(test: Declare): void {
  options(test);
  progress(test);
}

function options(test: Declare): void {
  test("an item is leased and listed with its retries, backoff and context; other items have none", async (bench) => {
    const batch = [{ ...newItem("a"), ...OPTIONS }, newItem("b"), { ...newItem("c"), context: { n: 1 } }];
    await bench.engine.add(QUEUE, batch);
    await bench.engine.add(QUEUE, [{ ...newItem("d"), retries: 0 }], { generatedIds: true });
    await bench.registerHolder();
    const leased = await bench.lease(9);
    expect(leased).toMatchObject([{ itemId: "a", ...OPTIONS }, {}, { context: { n: 1 } }, { retries: 0 }]);
    for (const name of Object.keys(OPTIONS)) expect(leased[1]).not.toHaveProperty(name);
    expect(await bench.item("a")).toMatchObject(OPTIONS);
    expect(await bench.item("b")).not.toHaveProperty("retries");
    expect(await bench.engine.listLeases("holder-1")).toEqual(leased);
  });

  test("options are not part of an item's identity: the same data with other options is `existing`", async (bench) => {
    await bench.engine.add(QUEUE, [{ ...newItem("a"), ...OPTIONS }]);
    expect(await bench.engine.add(QUEUE, [newItem("a")])).toMatchObject({ existing: 1, changed: 0 });
    expect(await bench.item("a")).toMatchObject(OPTIONS);
  });

  test("a redrive and a copy keep the options, and a replacement has its own", async (bench) => {
    await bench.registerHolder();
    await bench.engine.add(QUEUE, [
      { ...newItem("a"), ...OPTIONS },
      { ...newItem("b"), ...OPTIONS },
    ]);
    for (const lease of await bench.lease(2)) await bench.settle(buried(lease));
    await bench.operate("redrive", ["a"]);
    expect(await bench.leaseOne()).toMatchObject({ itemId: "a", ...OPTIONS });
    await bench.operate("requeue", ["b"]);
    expect(await bench.leaseOne()).toMatchObject({ itemId: "b~2", ...OPTIONS });
    await bench.engine.add(QUEUE, [{ ...newItem("c"), ...OPTIONS }]);
    const replace = { replace: { author: "ada" } };
    await bench.engine.add(QUEUE, [{ itemId: "c", data: 2, retries: 1 }], replace);
    const replaced = await bench.item("c");
    expect(replaced).toMatchObject({ data: 2, retries: 1 });
    expect(replaced).not.toHaveProperty("context");
  });
}

async function progressOf(bench: Workbench, itemId: string) {
  return (await bench.item(itemId)).progress;
}

function progress(test: Declare): void {
  test("the last progress of an attempt is returned with its number and time", async (bench) => {
    await bench.add("a", "b");
    await bench.registerHolder();
    const lease = await bench.leaseOne();
    expect(await progressOf(bench, "a")).toBeUndefined();
    expect(await bench.engine.writeProgress(lease, { done: 1, of: 9 })).toBe(true);
    bench.clock.advance(1000);
    expect(await bench.engine.writeProgress(lease, null)).toBe(true);
    expect(await progressOf(bench, "a")).toEqual({ attempt: 1, at: bench.clock.now(), value: null });
    expect(await progressOf(bench, "b")).toBeUndefined();
    await bench.settle(succeeded(lease));
  });

  test("invariant 3: an attempt that has lost its lease cannot report progress", async (bench) => {
    await bench.add("a");
    await bench.registerHolder();
    const first = await bench.leaseOne();
    await bench.engine.writeProgress(first, "half");
    await bench.settle(retried(first));
    expect(await bench.engine.writeProgress(first, "late")).toBe(false);
    const second = await bench.leaseOne();
    expect(await bench.engine.writeProgress(first, "later")).toBe(false);
    expect(await progressOf(bench, "a")).toMatchObject({ attempt: 1, value: "half" });
    await bench.engine.writeProgress(second, "again");
    expect(await progressOf(bench, "a")).toMatchObject({ attempt: 2, value: "again" });
  });

  test("a purge also deletes the progress", async (bench) => {
    await bench.add("a");
    await bench.registerHolder();
    const lease = await bench.leaseOne();
    await bench.engine.writeProgress(lease, "secret");
    await bench.settle(buried(lease));
    await bench.operate("purge");
    expect(await progressOf(bench, "a")).toBeUndefined();
  });
}
