/** When a watcher checks: by its schedule, when something comes, when quiet hours end, and when the store comes back. */
import { describe, expect, it, onTestFinished } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import { keepWatching } from "../../src/service/alert-service.ts";
import { DEFAULT_WATCH, type WatchSettings } from "../../src/service/alert-settings.ts";
import type { CheckReport, WatcherOptions } from "../../src/service/alert-watcher.ts";
import { until } from "../support/until.ts";
import { HOUR, WatchedStore } from "./watch-kit.ts";

const MINUTE = 60_000;

/** A watcher at work, and the checks that it has made. */
async function watching(change: Partial<WatchSettings> = {}, options: Partial<WatcherOptions> = {}) {
  const store = await WatchedStore.open();
  await store.queue("orders");
  const settings = { ...DEFAULT_WATCH, timeZone: "UTC", ...change };
  const checks: CheckReport[] = [];
  const stop = new AbortController();
  const ended = keepWatching(store.watcher(settings, options), {
    settings,
    stop: stop.signal,
    clock: store.clock,
    onChecked: (report) => checks.push(report),
  });
  onTestFinished(async () => {
    stop.abort();
    await ended;
  });
  const { clock } = store;
  const idle = () => until("it waits", () => clock.sleeping === 1);
  /** Moves the time in steps of a second, waiting for each look. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      await idle();
      clock.advance(Math.min(1000, left));
      await new Promise(setImmediate);
    }
    await idle();
  };
  await idle();
  return { store, checks, clock, idle, pass };
}

describe("a running watcher", () => {
  it("checks at once, and then by its schedule", async () => {
    const { checks, clock, idle } = await watching({ onArrival: false });
    expect(checks).toHaveLength(1);
    for (const count of [2, 3]) {
      clock.advance(30 * MINUTE);
      await until("a check", () => checks.length === count);
      await idle();
    }
    expect(checks.map(({ at }) => new Date(at).toISOString().slice(11, 16))).toEqual([
      "00:00",
      "00:30",
      "01:00",
    ]);
  });

  it("obeys the time zone of its schedule", async () => {
    const { checks, clock } = await watching({
      onArrival: false,
      schedule: "0 9 * * *",
      timeZone: "Asia/Tokyo",
    });
    clock.advance(24 * HOUR - 1); // it is nine there when the clock of the tests begins
    expect(checks).toHaveLength(1);
    clock.advance(1);
    await until("the check", () => checks.length === 2);
  });

  it("checks when letters arrive, once for a burst", async () => {
    const { store, checks, pass } = await watching();
    await store.die("orders", 3);
    await pass(1000); // it looks, and begins to gather
    await store.die("orders", 4);
    await pass(4000);
    expect(checks).toHaveLength(1);
    await pass(1000);
    expect(checks.map(({ alerts }) => alerts.map(({ text }) => text))).toEqual([[], ["orders: 7 failed"]]);
    await pass(10_000);
    expect(checks).toHaveLength(2);
  });

  it("does not check for what no rule concerns", async () => {
    const { store, checks, pass } = await watching();
    await store.engine.add("orders", [{ itemId: "a", data: 1 }]);
    await pass(10_000);
    expect(checks).toHaveLength(1);
  });

  it("checks when quiet hours end", async () => {
    const quietHours = { from: 22 * 60, to: 10, timeZone: "UTC" };
    const { checks, clock } = await watching({ onArrival: false, quietHours });
    clock.advance(10 * MINUTE);
    await until("the check", () => checks.length === 2);
  });

  it("checks when the store becomes unavailable, and when it is back", async () => {
    let isAway = false;
    const gone = new RedriveError("store_unavailable", "the server is away");
    const inner = await WatchedStore.open();
    const engine = new Proxy(inner.engine, {
      get: (target, name: "newestEvent") =>
        isAway && name in target ? () => Promise.reject(gone) : target[name],
    });
    const { checks, pass } = await watching({}, { open: async () => engine });
    isAway = true;
    await pass(6000);
    expect(checks.map(({ trouble }) => trouble?.code)).toEqual([undefined, "store_unavailable"]);
    await pass(10_000);
    expect(checks).toHaveLength(2);
    isAway = false;
    await pass(6000);
    expect(checks.map(({ alerts }) => alerts.length)).toEqual([0, 1, 0]);
  });
});
