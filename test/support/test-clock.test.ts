import { expect, it } from "vitest";
import { TestClock } from "./test-clock.ts";

it("a sleeper wakes when its time has come, and not before", async () => {
  const clock = new TestClock(1000);
  const woken: string[] = [];
  const sleep = clock.sleep(50).then(() => woken.push("first"));
  void clock.sleep(500).then(() => woken.push("second"));
  clock.advance(49);
  await Promise.resolve();
  expect([woken, clock.sleeping]).toEqual([[], 2]);
  clock.advance(1);
  await sleep;
  expect([woken, clock.sleeping, clock.now()]).toEqual([["first"], 1, 1050]);
});

it("an aborted sleeper wakes at once", async () => {
  const clock = new TestClock();
  const abort = new AbortController();
  const sleep = clock.sleep(50, abort.signal);
  abort.abort();
  await sleep;
  await clock.sleep(50, abort.signal);
  expect(clock.sleeping).toBe(0);
});
