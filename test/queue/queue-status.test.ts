/** What is seen of a queue: items, workers, its breaker, and how long the oldest has waited. */
import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { describeSelf } from "../../src/lease/holder.ts";
import { addItems } from "../../src/queue/add-items.ts";
import { requireQueue } from "../../src/queue/find-job.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { listQueues, queueToJson, summariseQueue } from "../../src/queue/queue-status.ts";
import { TestClock } from "../support/test-clock.ts";

async function open(): Promise<{ engine: Engine; clock: TestClock }> {
  const clock = new TestClock();
  const engine = await openStore("memory:", { clock });
  await createQueue(engine, "q", { breaker: { failureThreshold: 1 } });
  return { engine, clock };
}

const look = async (engine: Engine) => summariseQueue(engine, await requireQueue(engine, "q"));

describe("the status of a queue", () => {
  it("has how long the oldest due item has waited; one that is not due does not count", async () => {
    const { engine, clock } = await open();
    await addItems(engine, "q", [{ data: 1, dueAt: clock.now() + 60_000 }]);
    expect(await look(engine)).not.toHaveProperty("oldestReadyMs");
    await addItems(engine, "q", [{ data: 2 }]);
    clock.advance(5000);
    expect((await look(engine)).oldestReadyMs).toBe(5000);
  });

  it("has how long the items that started last had waited", async () => {
    const { engine, clock } = await open();
    expect(await look(engine)).not.toHaveProperty("waits");
    await addItems(
      engine,
      "q",
      Array.from({ length: 20 }, (_, index) => ({ data: index, key: `i-${index}` })),
    );
    const holder = await engine.registerHolder(describeSelf("q"));
    const start = (max: number) =>
      engine.settleAndLease(holder.id, { settle: [], lease: { queue: "q", max } });
    clock.advance(100);
    await start(18);
    clock.advance(2900);
    await start(1);
    clock.advance(4000);
    await start(1);
    const queue = await look(engine);
    expect(queue.waits).toEqual({ p50Ms: 100, p95Ms: 3000, items: 20 });
    expect(queueToJson(queue)).toMatchObject({ waited_ms: { p50: 100, p95: 3000, items: 20 } });
  });

  it("has its workers, with their numbers of items", async () => {
    const { engine } = await open();
    await addItems(engine, "q", [{ data: 1 }, { data: 2 }]);
    const holder = await engine.registerHolder(describeSelf("q"));
    await engine.settleAndLease(holder.id, { settle: [], lease: { queue: "q", max: 1 } });
    expect((await look(engine)).workers).toMatchObject([{ holder: holder.id, pid: process.pid, leased: 1 }]);
    await engine.registerHolder({ ...describeSelf("q"), id: "gone", processStart: "another" });
    expect((await look(engine)).workers).toHaveLength(1);
  });

  it("has the state of its breaker and the end of a common wait, as the workers wrote them", async () => {
    const { engine, clock } = await open();
    expect((await look(engine)).breaker).toEqual({ state: "closed" });
    const until = clock.now() + 30_000;
    const breaker = { gate: { kind: "open", untilMs: until } };
    const next = { breaker, parkedUntil: clock.now() + 10_000 };
    await engine.settleAndLease(null, { settle: [], gate: { queue: "q", seen: 0, next } });
    const queue = await look(engine);
    expect(queue).toMatchObject({ breaker: { state: "open", until }, parkedUntil: clock.now() + 10_000 });
    expect(queueToJson(queue)).toMatchObject({
      breaker: { state: "open", until: "2026-01-01T00:00:30.000Z" },
    });
    clock.advance(20_000);
    expect(await look(engine)).not.toHaveProperty("parkedUntil");
  });

  it("is listed with all others, also if there are thousands", async () => {
    const { engine } = await open();
    for (let n = 0; n < 1000; n += 1)
      await engine.createJob({ id: `more-${n}`, name: `more-${n}`, kind: "queue", spec: {} });
    expect(await listQueues(engine)).toHaveLength(1001);
  });

  it("is listed by name with the others, and without jobs", async () => {
    const { engine } = await open();
    await createQueue(engine, "a");
    await engine.createJob({ id: "job-1", name: "job-1", kind: "map", spec: {} });
    expect((await listQueues(engine)).map(({ name }) => name)).toEqual(["a", "q"]);
  });
});
