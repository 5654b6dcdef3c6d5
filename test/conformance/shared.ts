/** The contract of stores that several processes may open: two engines on one store. */
import { expect } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { buried, lost, succeeded } from "../support/settlements.ts";
import { type Declare, QUEUE, type Workbench } from "./workbench.ts";

export function sharedTests(test: Declare, join: (engine: Engine) => Promise<Engine>): void {
  /** Opens the store a second time and closes it at the end, also after an error. */
  const beside = async (bench: Workbench, work: (other: Engine) => Promise<void>) => {
    const other = await join(bench.engine);
    try {
      await work(other);
    } finally {
      await other.close();
    }
  };

  test("one process reads what another one wrote", async (bench) => {
    await beside(bench, async (other) => {
      expect(other.can.sharedByProcesses).toBe(true);
      await bench.add("a");
      expect(await other.count(QUEUE)).toMatchObject({ ready: 1 });
      await other.changeJob(QUEUE, { intakeComplete: true });
      expect(await bench.engine.findJob(QUEUE)).toMatchObject({ intakeComplete: true });
    });
  });

  test("invariant 3: two processes that lease at the same time never get the same item", async (bench) => {
    const ids = Array.from({ length: 40 }, (_, n) => `item-${n}`);
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add(...ids);
    await beside(bench, async (other) => {
      const lease = { queue: QUEUE, max: 3 };
      const rounds = Array.from({ length: 7 }, async () => {
        const mine = bench.engine.settleAndLease("holder-1", { settle: [], lease });
        const theirs = other.settleAndLease("holder-2", { settle: [], lease });
        return (await Promise.all([mine, theirs])).flatMap(({ leased }) => leased);
      });
      const leased = (await Promise.all(rounds)).flat();
      expect(leased.map(({ itemId }) => itemId).sort()).toEqual(ids.toSorted());
    });
  });

  test("of two processes that settle the same lease, one gets a stale lease", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    const lease = await bench.leaseOne();
    await beside(bench, async (other) => {
      const answers = await Promise.all([
        bench.engine.settleAndLease(null, { settle: [lost(lease)] }),
        other.settleAndLease(null, { settle: [lost(lease)] }),
      ]);
      expect(answers.flatMap(({ stale }) => stale)).toHaveLength(1);
      expect(await bench.item("a")).toMatchObject({ state: "ready", lostCount: 1 });
    });
  });

  test("two processes that add the same items add each of them once", async (bench) => {
    const items = Array.from({ length: 20 }, (_, n) => ({ itemId: `item-${n}`, data: n }));
    await beside(bench, async (other) => {
      const reports = await Promise.all([bench.engine.add(QUEUE, items), other.add(QUEUE, items)]);
      expect(reports.reduce((sum, { added }) => sum + added, 0)).toBe(20);
      expect(reports.reduce((sum, { existing }) => sum + existing, 0)).toBe(20);
    });
  });

  test("two processes that run one operation redrive each letter once", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b", "c", "d");
    await bench.settle(...(await bench.lease(4)).map((lease) => buried(lease)));
    await bench.begin("op-1");
    await beside(bench, async (other) => {
      await Promise.all([bench.engine.advance("op-1", { max: 2 }), other.advance("op-1", { max: 2 })]);
      expect(await other.findOperation("op-1")).toMatchObject({ done: 4, refused: 0 });
      const leased = await bench.lease(10);
      expect(leased).toHaveLength(4);
      await bench.settle(...leased.map(succeeded));
      expect(await other.closeOperation("op-1")).toMatchObject({ succeeded: 4, endedAt: bench.clock.now() });
    });
  });

  test("two processes that process the same letters at once process each of them once", async (bench) => {
    const ids = Array.from({ length: 30 }, (_, n) => `item-${n}`);
    await bench.registerHolder();
    await bench.bury(ids);
    await bench.begin("op-1", { kind: "discard" });
    await bench.begin("op-2", { kind: "purge" });
    await beside(bench, async (other) => {
      const rounds = Array.from({ length: 10 }, async () => {
        await Promise.all([bench.engine.advance("op-1", { max: 3 }), other.advance("op-2", { max: 3 })]);
      });
      await Promise.all(rounds);
      const books = [await bench.engine.closeOperation("op-1"), await other.closeOperation("op-2")];
      expect(books).toMatchObject([
        { status: "ended", selected: 30 },
        { status: "ended", selected: 30 },
      ]);
      expect(books.reduce((sum, { done }) => sum + done, 0)).toBe(30);
      expect(books.reduce((sum, { refused }) => sum + refused, 0)).toBe(30);
      expect(await bench.engine.count(QUEUE)).toMatchObject({
        letters: 0,
        discarded: 30,
        purged: books[1]?.done,
      });
    });
  });

  test("two processes that import the same letters import each of them once", async (bench) => {
    await bench.registerHolder();
    await bench.bury(Array.from({ length: 20 }, (_, n) => `item-${n}`));
    const { letters } = await bench.engine.listLetters({ limit: 100 });
    await bench.job("job-2");
    await beside(bench, async (other) => {
      const reports = await Promise.all([
        bench.engine.importLetters("job-2", letters),
        other.importLetters("job-2", letters),
      ]);
      expect(reports.reduce((sum, { imported }) => sum + imported, 0)).toBe(20);
      expect(reports.reduce((sum, { existing }) => sum + existing, 0)).toBe(20);
    });
  });

  test("a queue that one process pauses is paused for the other", async (bench) => {
    await bench.registerHolder();
    await bench.add("a");
    await beside(bench, async (other) => {
      await other.changeJob(QUEUE, { pause: { author: "ada", reason: "r" } });
      const ask = () =>
        bench.engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max: 1 } });
      expect(await ask()).toMatchObject({ leased: [], isPaused: true });
      await other.changeJob(QUEUE, { pause: null });
      expect(await ask()).toMatchObject({ leased: [{ itemId: "a" }], isPaused: false });
    });
  });

  test("of two processes that change one gate at the same time one succeeds, and the other gets the new version", async (bench) => {
    await beside(bench, async (other) => {
      const gate = (by: string) => ({ queue: QUEUE, seen: 0, next: { by } });
      const answers = await Promise.all([
        bench.engine.settleAndLease(null, { settle: [], gate: gate("one") }),
        other.settleAndLease(null, { settle: [], gate: gate("two") }),
      ]);
      const [first, second] = answers.map((answer) => answer.gate);
      expect(first).toMatchObject({ version: 1 });
      expect(second).toEqual(first);
    });
  });

  test("two processes never run two items of one ordering key at the same time", async (bench) => {
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    const items = Array.from({ length: 6 }, (_, n) => ({ itemId: `item-${n}`, data: n, orderingKey: "l" }));
    await bench.engine.add(QUEUE, items);
    await beside(bench, async (other) => {
      const worked: string[] = [];
      while (worked.length < items.length) {
        const lease = { queue: QUEUE, max: 3 };
        const answers = await Promise.all([
          bench.engine.settleAndLease("holder-1", { settle: [], lease }),
          other.settleAndLease("holder-2", { settle: [], lease }),
        ]);
        const leased = answers.flatMap((answer) => answer.leased);
        expect(leased).toHaveLength(1);
        worked.push(...leased.map(({ itemId }) => itemId));
        await other.settleAndLease(null, { settle: leased.map(succeeded) });
      }
      expect(worked).toEqual(items.map(({ itemId }) => itemId));
    });
  });

  test("two processes share one rate", async (bench) => {
    await bench.registerHolder();
    await bench.registerHolder("holder-2");
    await bench.add("a", "b", "c");
    await beside(bench, async (other) => {
      const lease = { queue: QUEUE, max: 1, rate: { perSecond: 1 } };
      const answers = await Promise.all([
        bench.engine.settleAndLease("holder-1", { settle: [], lease }),
        other.settleAndLease("holder-2", { settle: [], lease }),
      ]);
      expect(answers.flatMap(({ leased }) => leased)).toHaveLength(1);
    });
  });

  test("the counters of two processes add up", async (bench) => {
    await bench.registerHolder();
    await bench.add("a", "b");
    const [a, b] = await bench.lease(2);
    if (!a || !b) throw new Error("two items were added");
    await beside(bench, async (other) => {
      await Promise.all([
        bench.engine.settleAndLease(null, { settle: [{ ...succeeded(a), counts: ["pages"] }] }),
        other.settleAndLease(null, { settle: [{ ...succeeded(b), counts: ["pages"] }] }),
      ]);
      expect(await other.listCounters()).toContainEqual({ queue: QUEUE, name: "pages", value: 2 });
    });
  });

  test("a redrive that another process pauses leases nothing more", async (bench) => {
    await bench.registerHolder();
    await bench.bury(["a"]);
    await bench.begin("op-1");
    await beside(bench, async (other) => {
      await bench.engine.advance("op-1", { max: 1 });
      await other.changeOperation("op-1", { status: "paused" });
      const lease = { queue: QUEUE, max: 1, operationId: "op-1" };
      expect((await bench.engine.settleAndLease("holder-1", { settle: [], lease })).leased).toEqual([]);
    });
  });
}
