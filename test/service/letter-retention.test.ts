/** The keeper of the limits beside a running job: seldom, never in the way, and exact at the end. */
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { Engine } from "../../src/engine.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import type { LetterLimits } from "../../src/redrive/limits.ts";
import { letterRetention } from "../../src/service/letter-retention.ts";
import type { Service } from "../../src/service/service.ts";
import { AUTHOR, QUEUE, type Workbench } from "../conformance/workbench.ts";
import { openBench } from "../redrive/fix-kit.ts";
import { buried } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

const temporary = new TemporaryDirectory();
afterAll(() => temporary.remove());

const DAY_MS = 86_400_000;
const LOOK_MS = 3000;

let bench: Workbench;
let notices: string[];
let looks: number;

beforeEach(async () => {
  bench = await openBench();
  notices = [];
  looks = 0;
});

/** The engine of the bench; counts how often somebody looks. */
function watched(change: Partial<Engine> = {}): Engine {
  const count: Engine["count"] = async (queue) => {
    looks += 1;
    return bench.engine.count(queue);
  };
  return Object.assign(Object.create(bench.engine), { count, ...change });
}

async function open(limits: Partial<LetterLimits>, engine = watched()): Promise<Service> {
  const job = await bench.engine.findJob(QUEUE);
  if (job === null) throw new Error("there is no job");
  const options = { limits: { itemsMax: null, retentionMs: null, ...limits }, author: AUTHOR };
  const surroundings = { engine, home: temporary.file("home"), clock: bench.clock };
  return letterRetention(options)(job, { ...surroundings, onNotice: (notice) => notices.push(notice) });
}

/** Buries so many more, and lets the keeper hear of each. */
async function bury(keeper: Service, count: number): Promise<void> {
  const { total } = await bench.engine.count(QUEUE);
  for (let at = 1; at <= count; at++) {
    await bench.add(`i${total + at}`);
    const item: LeasedItem = await bench.leaseOne();
    const settlement = buried(item);
    await bench.settle(settlement);
    keeper.settled?.(item, settlement);
  }
}

const counts = () => bench.engine.count(QUEUE);

describe("while the job runs", () => {
  test("it checks a while after burials, once for many, and makes room", async () => {
    const keeper = await open({ itemsMax: 5 });
    await bury(keeper, 8);
    expect(looks).toBe(0);
    bench.clock.advance(LOOK_MS);
    await until("room is made", async () => (await counts()).evicted === 3);
    await keeper.stop();
    expect(await counts()).toMatchObject({ letters: 5, evicted: 3 });
  });

  test("without a burial it does not check until the end", async () => {
    const keeper = await open({ itemsMax: 5 });
    bench.clock.advance(10 * LOOK_MS);
    expect(looks).toBe(0);
    await keeper.stop();
    expect(looks).toBe(1);
    expect(notices).toEqual([]);
  });

  test("a burial during a check is followed by another check", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const count: Engine["count"] = async (queue) => {
      looks += 1;
      if (looks === 1) await held;
      return bench.engine.count(queue);
    };
    const keeper = await open({ itemsMax: 2 }, watched({ count }));
    await bury(keeper, 1);
    bench.clock.advance(LOOK_MS);
    await bury(keeper, 4);
    release();
    await until("it waits again", () => bench.clock.sleeping > 0);
    bench.clock.advance(LOOK_MS);
    await until("room is made", async () => (await counts()).letters === 2);
    await keeper.stop();
  });

  test("a small excess waits for the end, so that archives do not have single letters", async () => {
    const keeper = await open({ itemsMax: 100 });
    await bury(keeper, 101);
    bench.clock.advance(LOOK_MS);
    await until("it was looked", () => looks > 0 && notices.length > 0);
    expect(await counts()).toMatchObject({ letters: 101, evicted: 0 });
    await keeper.stop();
    expect(await counts()).toMatchObject({ letters: 100, evicted: 1 });
  });

  test("it warns once when the queue is nearly full", async () => {
    const keeper = await open({ itemsMax: 10 });
    await bury(keeper, 8);
    bench.clock.advance(LOOK_MS);
    await until("it has warned", () => notices.length > 0);
    await bury(keeper, 1);
    await keeper.stop();
    expect(notices).toEqual([expect.stringMatching(/nearly full: 8 letters/)]);
    expect(await bench.told("dlq_nearly_full")).toHaveLength(1);
  });

  test("old letters are removed without a burial, and again after an hour", async () => {
    await bench.bury(["old"]);
    bench.clock.advance(DAY_MS - 1000);
    const keeper = await open({ retentionMs: DAY_MS });
    bench.clock.advance(LOOK_MS);
    await until("the old one is gone", async () => (await counts()).purged === 1);
    await until("it waits again", () => bench.clock.sleeping > 0);
    await bench.engine.heartbeat("holder-1");
    await bench.bury(["older"]);
    bench.clock.advance(DAY_MS);
    await until("the next is gone", async () => (await counts()).purged === 2);
    await keeper.stop();
  });
});

describe("at the end", () => {
  test("the limits hold exactly, and the archive is reported", async () => {
    const keeper = await open({ itemsMax: 20 });
    await bury(keeper, 50);
    await keeper.stop();
    expect(await counts()).toMatchObject({ letters: 20, evicted: 30 });
    expect(notices).toEqual([
      expect.stringMatching(/over its limit: 50 letters/),
      expect.stringMatching(/oldest letters.* job-1 keeps at most 20: 30\. .*ops undo/),
    ]);
    expect(bench.clock.sleeping).toBe(0);
  });

  test("a failure is reported once, and does not fail the run", async () => {
    const broken = watched({ beginOperation: () => Promise.reject(new Error("The disk is on fire.")) });
    const keeper = await open({ itemsMax: 5 }, broken);
    await bury(keeper, 8);
    bench.clock.advance(LOOK_MS);
    await until("it has said so", () => notices.some((notice) => notice.includes("on fire")));
    await keeper.stop();
    expect(notices.filter((notice) => notice.includes("on fire"))).toEqual([
      expect.stringContaining("redrive dlq maintain job-1"),
    ]);
    expect(await counts()).toMatchObject({ letters: 8, evicted: 0 });
  });
});
