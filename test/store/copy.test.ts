/** Copies of stores: what is refused, how one that was ended goes on, and what is done when the source changes. */
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/open.ts";
import { TABLES } from "../../src/item/tables.ts";
import { type CopyProgress, copyStore } from "../../src/store/copy.ts";
import { differences, sumsOf } from "../../src/store/digest.ts";
import { buried, succeeded } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

async function emptyStore(): Promise<Engine> {
  const engine = await openSqliteEngine({ path: directory.file("store.db") });
  onTestFinished(() => engine.close());
  return engine;
}

/** A job whose first items are done or dead, worked by somebody who has left. */
async function usedStore(items = 20, job = "job-1"): Promise<Engine> {
  const engine = await emptyStore();
  await engine.createJob({ id: job, name: job, kind: "map", spec: {} });
  const all = Array.from({ length: items }, (_, place) => ({ itemId: `item-${place}`, data: { place } }));
  await engine.add(job, all);
  await work(engine, job, 10);
  return engine;
}

async function work(engine: Engine, queue: string, max: number): Promise<void> {
  const id = `holder of ${queue} ${await engine.newestEvent()}`;
  await engine.registerHolder({ id, queue, host: "host-1", pid: 1, processStart: "1", ttlMs: 60_000 });
  const { leased } = await engine.settleAndLease(id, { settle: [], lease: { queue, max } });
  const settle = leased.map((lease, place) => (place % 2 === 0 ? succeeded(lease) : buried(lease)));
  await engine.settleAndLease(id, { settle });
  await engine.unregisterHolder(id);
}

async function expectEqual(one: Engine, other: Engine): Promise<void> {
  expect(differences(await sumsOf(one), await sumsOf(other))).toEqual([]);
}

/** The engine, but for some methods. */
function changed(engine: Engine, methods: Partial<Engine>): Engine {
  return { ...engine, ...methods };
}

/** Fails after so many pages were written, as a process that is killed then. */
function breakingAfter(engine: Engine, pages: number): Engine {
  let written = 0;
  return changed(engine, {
    writeRows: async (table, rows) => {
      if (written === pages) throw new Error("killed");
      written += 1;
      await engine.writeRows(table, rows);
    },
  });
}

describe("a copy of a store", () => {
  it("has the same rows, table by table, and is sound", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    const report = await copyStore({ from, to });
    expect(report.how).toBe("fresh");
    expect(report.tables.find(({ table }) => table === "items")?.rows).toBe(20);
    expect(report.tables.find(({ table }) => table === "letters")?.rows).toBe(5);
    expect(report.copied).toBe(report.tables.reduce((sum, { rows }) => sum + rows, 0));
    await expectEqual(from, to);
    expect(await to.check()).toEqual([]);
  });

  it("reports every table, when it is copied and when it is verified", async () => {
    const [from, to] = [await usedStore(300), await emptyStore()];
    const told: CopyProgress[] = [];
    await copyStore({ from, to, onProgress: (progress) => told.push(progress) });
    const ends = (step: string) =>
      told.filter((one) => one.step === step && one.isEnd).map((one) => one.table);
    expect(ends("copied")).toEqual(TABLES.map(({ name }) => name));
    expect(ends("verified")).toEqual(TABLES.map(({ name }) => name));
    const items = told.filter(({ step, table }) => step === "copied" && table === "items");
    expect(items.length).toBeGreaterThan(1); // in between, too
    expect(items.at(-1)?.rows).toBe(300);
  });

  it("continues after it was ended at any moment", async () => {
    const [from, to] = [await usedStore(300), await emptyStore()];
    const pages = 30; // of all tables; each run writes one and is ended before the next
    const runs: unknown[] = [];
    while (runs.length < pages && runs.at(-1) !== "resumed") {
      const run = copyStore({ from, to: breakingAfter(to, 1) });
      runs.push(
        await run.then(
          ({ how }) => how,
          (error: Error) => error.message,
        ),
      );
    }
    expect(runs.slice(0, -1).every((end) => end === "killed")).toBe(true);
    expect(runs.at(-1)).toBe("resumed");
    expect(runs.length).toBeGreaterThan(8);
    await expectEqual(from, to);
  });

  it("does nothing when it is complete", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    const first = await copyStore({ from, to });
    const writeRows = () => Promise.reject(new Error("nothing is written"));
    const again = await copyStore({ from, to: changed(to, { writeRows }) });
    expect(again).toEqual({ tables: first.tables, copied: 0, how: "none" });
  });

  it("starts again if its source has changed before it was complete", async () => {
    const [from, to] = [await usedStore(300), await emptyStore()];
    await expect(copyStore({ from, to: breakingAfter(to, 8) })).rejects.toThrow("killed");
    await work(from, "job-1", 50);
    const report = await copyStore({ from, to });
    expect(report.how).toBe("anew");
    await expectEqual(from, to);
    expect(await to.check()).toEqual([]);
  });

  it("is updated as long as nobody has worked with it", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    await copyStore({ from, to });
    await work(from, "job-1", 5);
    expect((await copyStore({ from, to })).how).toBe("anew");
    await expectEqual(from, to);
  });

  it("names the table if its source changes meanwhile, and is right when it is run again", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    let isChanged = false;
    const changing = changed(from, {
      readRows: async (table, page) => {
        if (table === "letters" && !isChanged) {
          isChanged = true;
          await from.addNote(1, { author: "ada", text: "while it is copied" });
          await from.add("job-1", [{ itemId: "late", data: null }]);
        }
        return from.readRows(table, page);
      },
    });
    await expect(copyStore({ from: changing, to })).rejects.toMatchObject({
      code: "copy_differs",
      message: expect.stringContaining("queues"),
      hint: expect.stringContaining("again"),
    });
    expect((await copyStore({ from, to })).how).toBe("anew");
    await expectEqual(from, to);
  });

  it("reports a row that refers to one that came too late to be copied", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    const changing = changed(from, {
      readRows: async (table, page) => {
        if (table === "payloads" && page.after === null) {
          await from.add("job-1", [{ itemId: `late-${await from.newestEvent()}`, data: null }]);
        }
        return from.readRows(table, page);
      },
    });
    await expect(copyStore({ from: changing, to })).rejects.toMatchObject({
      code: "copy_differs",
      message: expect.stringContaining("payloads"),
    });
    expect((await copyStore({ from, to })).how).toBe("anew");
  });

  it("finds a row that differs from the source", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    const garbling = changed(to, {
      writeRows: (table, rows) =>
        to.writeRows(table, table === "payloads" ? rows.map((row) => ({ ...row, data: "0" })) : rows),
    });
    await expect(copyStore({ from, to: garbling })).rejects.toMatchObject({
      code: "copy_differs",
      message: expect.stringContaining("payloads"),
    });
  });

  it("gives later rows higher numbers than any earlier ones", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    const purge = {
      id: "op-1",
      kind: "purge",
      queue: "job-1",
      filter: {},
      force: false,
      author: "ada",
      plan: {},
    } as const;
    await from.beginOperation(purge);
    await from.advance("op-1", { max: 100 });
    const highest = (await from.beginOperation({ ...purge, id: "op-2" })).bound;
    expect(highest).toBe(5);
    await copyStore({ from, to });
    await work(to, "job-1", 4);
    const { letters } = await to.listLetters({ limit: 10 });
    expect(
      letters.map(({ letterSequence }) => letterSequence).every((letterSequence) => letterSequence > highest),
    ).toBe(true);
  });
});

describe("a copy of a store is refused", () => {
  it("while a process works with either store", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    await from.registerHolder({
      id: "busy",
      queue: "job-1",
      host: "host-1",
      pid: 7,
      processStart: "1",
      ttlMs: 60_000,
    });
    const refusal = {
      code: "job_running",
      message: expect.stringContaining("Process 7 is working on job-1"),
    };
    await expect(copyStore({ from, to })).rejects.toMatchObject(refusal);
    await from.unregisterHolder("busy");
    await copyStore({ from, to });
    await to.registerHolder({
      id: "busy there",
      queue: "job-1",
      host: "host-1",
      pid: 7,
      processStart: "1",
      ttlMs: 60_000,
    });
    await expect(copyStore({ from, to })).rejects.toMatchObject(refusal);
  });

  it("into a store with other content, which is unchanged", async () => {
    const [from, to] = [await usedStore(), await usedStore(20, "job-2")];
    const before = await sumsOf(to);
    await expect(copyStore({ from, to })).rejects.toMatchObject({
      code: "copy_refused",
      hint: expect.stringContaining("new store"),
    });
    expect(await sumsOf(to)).toEqual(before);
  });

  it("into a copy that has been used", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    await copyStore({ from, to });
    await work(to, "job-1", 2);
    const before = await sumsOf(to);
    await expect(copyStore({ from, to })).rejects.toMatchObject({ code: "copy_refused" });
    expect(await sumsOf(to)).toEqual(before);
  });

  it("into half a copy to which a job was added", async () => {
    const [from, to] = [await usedStore(300), await emptyStore()];
    await expect(copyStore({ from, to: breakingAfter(to, 8) })).rejects.toThrow("killed");
    await to.createJob({ id: "mine", name: "mine", kind: "map", spec: {} });
    await work(from, "job-1", 2);
    await expect(copyStore({ from, to })).rejects.toMatchObject({
      code: "copy_refused",
      message: expect.stringContaining("job mine"),
    });
    expect(await to.findJob("mine")).not.toBeNull();
  });

  it("of an empty store, of one into itself, and of one in memory", async () => {
    const [from, to] = [await usedStore(), await emptyStore()];
    await expect(copyStore({ from: to, to: from })).rejects.toMatchObject({ code: "input_invalid" });
    await expect(copyStore({ from, to: from })).rejects.toMatchObject({ code: "usage" });
    const passing = changed(to, { can: { ...to.can, copy: false } });
    await expect(copyStore({ from, to: passing })).rejects.toMatchObject({ code: "usage" });
  });

  it("to the second of two concurrent processes", async () => {
    const [from, to] = [await usedStore(300), await emptyStore()];
    let rival: Promise<unknown> | undefined;
    const met = changed(to, {
      writeRows: async (table, rows) => {
        if (table === "items") rival ??= copyStore({ from, to });
        await rival;
        await to.writeRows(table, rows);
      },
    });
    await expect(copyStore({ from, to: met })).rejects.toMatchObject({
      code: "job_running",
      message: expect.stringContaining("Another process"),
    });
    await rival;
    await expectEqual(from, to);
  });
});
