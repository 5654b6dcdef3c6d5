/** The numbers of a store: true after a restart, right in every kind of queue, and never zeros for a store that cannot be read. */
import { describe, expect, it, onTestFinished } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { RedriveError } from "../../src/errors.ts";
import { receiptCounts } from "../../src/item/receipt.ts";
import { readMetrics } from "../../src/service/metrics.ts";
import { metricsText } from "../../src/service/metrics-text.ts";
import { released, retried, succeeded } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { TestClock } from "../support/test-clock.ts";
import { HOUR, WatchedStore } from "./watch-kit.ts";

/** The samples of a text, by name and labels. */
async function samplesOf(engine: Engine, prefix?: string): Promise<Record<string, number>> {
  const text = await metricsText(engine, prefix === undefined ? {} : { prefix });
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => [line.replace(/ \S+$/, ""), Number(/\S+$/.exec(line)?.[0])]));
}

async function redriveAll(store: WatchedStore, queue: string): Promise<void> {
  const all = { queue, filter: {}, force: true, author: "ana", plan: {} };
  await store.engine.beginOperation({ id: "again", kind: "redrive", ...all });
  await store.engine.advance("again", { max: 100 });
}

describe("the Prometheus text", () => {
  it("has every number of a queue, from the store's counters", async () => {
    const store = await WatchedStore.open();
    await store.queue("orders");
    await store.die("orders", 2);
    await store.settle(succeeded(await store.lease("orders")));
    await store.settle(retried(await store.lease("orders"), HOUR));
    await store.engine.add("orders", [{ itemId: "waiting", data: 1 }]);
    await store.engine.changeJob("orders", { pause: { author: "ana", reason: "holiday" } });
    await store.engine.changeJob("orders", { event: { type: "store_write_failed" } });
    store.clock.advance(90_000);
    expect(await samplesOf(store.engine)).toMatchObject({
      'redrive_items{queue="orders",state="ready"}': 2,
      'redrive_items{queue="orders",state="leased"}': 0,
      'redrive_items{queue="orders",state="done"}': 1,
      'redrive_items{queue="orders",state="dead"}': 2,
      'redrive_dead_letter_queue_size{queue="orders"}': 2,
      'redrive_dead_letter_oldest_age_seconds{queue="orders"}': 90,
      'redrive_dead_letters_total{queue="orders",error_type="CommandFailed"}': 2,
      'redrive_attempts_total{queue="orders",outcome="succeeded"}': 1,
      'redrive_attempts_total{queue="orders",outcome="failed"}': 3,
      'redrive_attempts_total{queue="orders",outcome="lost"}': 0,
      'redrive_retries_total{queue="orders"}': 1,
      redrive_store_write_failures_total: 1,
      'redrive_queue_paused{queue="orders"}': 1,
      'redrive_oldest_ready_age_seconds{queue="orders"}': 90,
    });
  });

  it("counts redriven letters by outcome, and letters in retry as waiting", async () => {
    const store = await WatchedStore.open();
    await store.queue("orders");
    await store.die("orders", 3);
    await redriveAll(store, "orders");
    const { leased } = await store.engine.settleAndLease("worker-of-orders", {
      settle: [],
      lease: { queue: "orders", max: 2 },
    });
    const [one, two] = leased;
    if (one) await store.settle(succeeded(one));
    if (two) await store.settle(released(two));
    expect(await samplesOf(store.engine)).toMatchObject({
      'redrive_redrives_total{outcome="succeeded"}': 1,
      'redrive_redrives_total{outcome="failed"}': 0,
      'redrive_dead_letter_queue_size{queue="orders"}': 2,
      'redrive_items{queue="orders",state="dead"}': 0,
    });
  });

  it("has the state of breakers, and none where a queue has no breaker", async () => {
    const store = await WatchedStore.open();
    const breaker = { failureThreshold: 5, timeoutMs: 30_000, successThreshold: 3, halfOpenRequests: 3 };
    for (const name of ["a", "b", "c"]) await store.queue(name, { policy: { breaker } });
    await store.queue("without", { policy: {} });
    const gates = { b: { kind: "open", untilMs: store.clock.now() + 1000 }, c: { kind: "half_open" } };
    for (const [queue, gate] of Object.entries(gates)) {
      const next = { breaker: { policy: breaker, generation: 1, gate }, parkedUntil: 0 };
      await store.engine.settleAndLease(null, { settle: [], gate: { queue, seen: 0, next } });
    }
    const samples = await samplesOf(store.engine);
    expect(samples).toMatchObject({
      'redrive_breaker_state{name="a"}': 0,
      'redrive_breaker_state{name="b"}': 2,
      'redrive_breaker_state{name="c"}': 1,
    });
    expect(samples['redrive_breaker_state{name="without"}']).toBeUndefined();
  });

  it("has the duration of delivery attempts as a histogram, and the number in flight", async () => {
    const store = await WatchedStore.open();
    await store.queue("gate", {}, "target");
    for (const ms of [3, 40, 900])
      await store.settle({ ...succeeded(await store.lease("gate")), counts: receiptCounts("delivered", ms) });
    await store.lease("gate");
    const text = await metricsText(store.engine);
    expect(text).toContain("# TYPE redrive_receipt_duration_seconds histogram");
    expect(await samplesOf(store.engine)).toMatchObject({
      'redrive_receipt_duration_seconds_bucket{le="0.005"}': 1,
      'redrive_receipt_duration_seconds_bucket{le="0.05"}': 2,
      'redrive_receipt_duration_seconds_bucket{le="1"}': 3,
      'redrive_receipt_duration_seconds_bucket{le="+Inf"}': 3,
      redrive_receipt_duration_seconds_sum: 0.943,
      redrive_receipt_duration_seconds_count: 3,
      'redrive_receipts_in_flight{target="gate"}': 1,
      'redrive_receipts_total{status="throttled",success="false"}': 0,
    });
  });

  it("counts receipts of targets only, with the names of the source under its prefix", async () => {
    const store = await WatchedStore.open();
    await store.queue("gate", {}, "target");
    await store.queue("orders");
    await store.settle({ ...succeeded(await store.lease("gate")), counts: ["receipt.delivered"] });
    await store.settle({ ...retried(await store.lease("gate"), HOUR), counts: ["receipt.server_error"] });
    await store.settle({ ...retried(await store.lease("orders"), HOUR), counts: ["receipt.delivered"] });
    expect(await samplesOf(store.engine, "cognigate")).toMatchObject({
      'cognigate_receipts_total{status="delivered",success="true"}': 1,
      'cognigate_receipts_total{status="server_error",success="false"}': 1,
      cognigate_receipt_retries_total: 1,
      'cognigate_dead_letter_queue_size{queue="gate"}': 0,
    });
  });

  it("refuses an invalid prefix", async () => {
    const store = await WatchedStore.open();
    await expect(metricsText(store.engine, { prefix: "9 lives" })).rejects.toMatchObject({ code: "usage" });
  });

  it("keeps names apart that need quoting", async () => {
    const store = await WatchedStore.open();
    const name = 'a "quoted"\\name';
    await store.queue(name);
    await store.die(name);
    expect(await metricsText(store.engine)).toContain(
      'redrive_dead_letter_queue_size{queue="a \\"quoted\\"\\\\name"} 1',
    );
  });
});

describe("the metrics of a store", () => {
  it("pitfall 40: are the same after a restart, not 0", async () => {
    const folder = new TemporaryDirectory();
    onTestFinished(() => folder.remove());
    const url = `sqlite:${folder.file("store.db")}`;
    const clock = new TestClock();
    const store = await WatchedStore.open(url, clock);
    await store.queue("orders");
    await store.die("orders", 3);
    const before = await samplesOf(store.engine);
    await store.engine.close();
    const again = await openStore(url, { clock });
    expect(await samplesOf(again)).toEqual(before);
    expect(before['redrive_dead_letter_queue_size{queue="orders"}']).toBe(3);
    await again.close();
  });

  it("pitfall 40: are an error when the store cannot be read, never zeros", async () => {
    const store = await WatchedStore.open();
    const gone = new RedriveError("store_unavailable", "the server is away");
    const broken = { ...store.engine, listCounters: () => Promise.reject(gone) };
    await expect(metricsText(broken)).rejects.toBe(gone);
  });

  it("pitfall 54: count the letters that the limit deleted", async () => {
    const store = await WatchedStore.open();
    await store.queue("orders");
    await store.die("orders", 2);
    const all = { queue: "orders", filter: {}, force: true, author: "redrive", plan: {} };
    await store.engine.beginOperation({ id: "full", kind: "evict", ...all });
    await store.engine.advance("full", { max: 1 });
    expect(await samplesOf(store.engine)).toMatchObject({
      'redrive_dead_letters_removed_total{queue="orders",why="evicted"}': 1,
      'redrive_dead_letters_removed_total{queue="orders",why="purged"}': 0,
      'redrive_dead_letters_total{queue="orders",error_type="CommandFailed"}': 2,
    });
  });

  it("cover jobs that run, ended recently or left letters, not every job ever", async () => {
    const store = await WatchedStore.open();
    for (const id of ["old", "left-letters", "lately", "runs"])
      await store.engine.createJob({ id, name: `name of ${id}`, kind: "map", spec: {} });
    await store.engine.changeJob("old", { status: "completed" });
    await store.engine.registerHolder({ ...holder("left-letters"), ttlMs: 60_000 });
    await store.die("left-letters");
    await store.engine.unregisterHolder("worker-of-left-letters");
    await store.engine.changeJob("left-letters", { status: "completed" });
    store.clock.advance(25 * HOUR);
    await store.engine.changeJob("lately", { status: "completed" });
    const { queues } = await readMetrics(store.engine);
    expect(queues.map(({ queue, name }) => [queue, name])).toEqual([
      ["lately", "name of lately"],
      ["left-letters", "name of left-letters"],
      ["runs", "name of runs"],
    ]);
  });

  it("count the workers with heartbeats", async () => {
    const store = await WatchedStore.open();
    await store.queue("orders");
    await store.engine.registerHolder({ ...holder("orders"), id: "second", ttlMs: 1000 });
    const workers = async () => (await readMetrics(store.engine)).queues[0]?.workers;
    expect(await workers()).toBe(2);
    store.clock.advance(2000);
    expect(await workers()).toBe(1);
  });
});

function holder(queue: string) {
  return { id: `worker-of-${queue}`, queue, host: "elsewhere", pid: 1, processStart: "" };
}
