/** `max_items` and retention for programs: what the library runs keeps the same limits as the commands. */
import { readdirSync, writeFileSync } from "node:fs";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  BusinessException,
  DEFAULT_GRACE_MS,
  DEFAULT_POLICY,
  DlqManager,
  type Engine,
  importLetters,
  openStore,
  startMap,
  Target,
} from "../../src/exports/engine.ts";
import { open } from "../../src/index.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

let store: Engine;
let url: string;
let home: string;
let clock: TestClock;
beforeEach(async () => {
  home = temporary.file("home");
  clock = new TestClock();
  url = `sqlite:${temporary.file("store.db")}`;
  store = await openStore(url);
});
afterEach(() => store.close());

const DAY_MS = 86_400_000;
const LIMITS = { maxItems: 2, retentionDays: null };
const POLICY = { ...DEFAULT_POLICY, maxAttempts: 1 };
const five = ["a", "b", "c", "d", "e"].map((key) => ({ key, data: { key } }));

/** The ids of the letters that are left, and of those that the archive has. */
async function kept(target: Engine, queue: string) {
  const { letters } = await target.listLetters({ queue, limit: 100, order: "oldest" });
  return { left: letters.map(({ itemId }) => itemId), evicted: (await target.count(queue)).evicted };
}

describe("the limits of the dead letter queue", () => {
  it("hold for a function that works a queue until it is empty", async () => {
    const fail = () => {
      throw new Error("no");
    };
    const notices: string[] = [];
    const onNotice = (notice: string) => void notices.push(notice);
    const redrive = await open(url, { limits: LIMITS, home, onNotice });
    const queue = redrive.queue("invoices", { retries: 0 });
    await queue.addMany(five);
    await queue.work(fail, { untilEmpty: true, concurrency: 1 }).ended;
    expect(await kept(redrive.engine, "invoices")).toEqual({ left: ["d", "e"], evicted: 3 });
    await redrive.close();
    expect(notices.join("\n")).toMatch(/too many: 3\./);
  });

  it("hold for a receipt target", async () => {
    const target = new Target(store, "shop", {
      retries: 0,
      deliver: () => Promise.reject(new BusinessException("no")),
      concurrency: 1,
      limits: LIMITS,
      home,
      onNotice: () => undefined,
    });
    for (const { data, key } of five) expect(await target.send(data, { key })).toBe(false);
    await target.close();
    expect(await kept(store, "shop")).toEqual({ left: ["d", "e"], evicted: 3 });
  });

  it("hold for a map", async () => {
    const path = temporary.file("items.txt");
    writeFileSync(path, "a\nb\nc\nd\ne\n");
    const stop = new AbortController().signal;
    const spec = {
      command: ["false"],
      cwd: temporary.path,
      input: { path },
      jobs: 1,
      graceMs: DEFAULT_GRACE_MS,
      policy: POLICY,
    };
    const { summary } = await startMap({ engine: store, home, stop, limits: LIMITS }, { spec });
    expect((await kept(store, summary.jobId)).evicted).toBe(3);
  });

  it("hold for a DlqManager, with each failure that it keeps", async () => {
    const onNotice = () => undefined;
    const manager = await DlqManager.open(store, { job: "orders", home, limits: LIMITS, onNotice });
    for (const { key, data } of five)
      await manager.addFailedItem({ itemId: key, data }, { errorMessage: "no" });
    expect(await kept(store, "orders")).toEqual({ left: ["d", "e"], evicted: 3 });
    const archived = await openStore("memory:");
    const folder = `${home}/dlq/archive/orders`;
    for (const name of readdirSync(folder).filter((one) => one.endsWith(".gz")))
      await importLetters(archived, `${folder}/${name}`);
    expect((await kept(archived, "orders")).left.sort()).toEqual(["a", "b", "c"]);
    await archived.close();
  });

  it("what is too old is archived by the next failure that a DlqManager keeps", async () => {
    const inMemory = await openStore("memory:", { clock });
    const limits = { retentionDays: 7 };
    const manager = await DlqManager.open(inMemory, { job: "orders", home, limits, clock });
    await manager.addFailedItem({ itemId: "old", data: 1 }, { errorMessage: "no" });
    clock.advance(8 * DAY_MS);
    await manager.addFailedItem({ itemId: "new", data: 2 }, { errorMessage: "no" });
    expect((await kept(inMemory, "orders")).left).toEqual(["new"]);
    expect((await inMemory.count("orders")).purged).toBe(1);
    await inMemory.close();
  });

  it("limits that cannot be kept are reported, and the failure is kept all the same", async () => {
    const notices: string[] = [];
    const blocked = temporary.file("blocked");
    writeFileSync(blocked, "");
    const onNotice = (notice: string) => notices.push(notice);
    const manager = await DlqManager.open(store, { job: "orders", home: blocked, limits: LIMITS, onNotice });
    for (const { key, data } of five)
      await manager.addFailedItem({ itemId: key, data }, { errorMessage: "no" });
    expect((await kept(store, "orders")).left).toHaveLength(5);
    expect(notices.join("\n")).toMatch(/could not be enforced/);
  });
});
