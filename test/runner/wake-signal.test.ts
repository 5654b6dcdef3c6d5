import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { WakeSignal } from "../../src/runner/poll-schedule.ts";
import { TestClock } from "../support/test-clock.ts";

it("a waiting loop wakes when it is notified, and its timer is cleared", async () => {
  const { wake, clock, wait } = setUp();
  const waiting = wait(1000);
  expect(clock.sleeping).toBe(1);
  wake.notify();
  await waiting.done;
  expect(clock.sleeping).toBe(0);
});

it("a notification before the wait is not lost", async () => {
  const { wake, clock, wait } = setUp();
  wake.notify();
  await wait(1000).done;
  expect(clock.sleeping).toBe(0);
});

it("notifications of one turn wake once", async () => {
  const { wake, wait } = setUp();
  const first = wait(1000);
  wake.notify();
  wake.notify();
  await first.done;
  const second = wait(1000);
  await setImmediate();
  await setImmediate();
  expect(second.isOver).toBe(false);
});

it("without a notification it wakes after the timeout, and later ones are for the next wait", async () => {
  const { wake, clock, wait } = setUp();
  const first = wait(1000);
  clock.advance(999);
  await setImmediate();
  expect(first.isOver).toBe(false);
  clock.advance(1);
  await first.done;
  wake.notify();
  await wait(1000).done;
});

it("a wait of 0 still yields to others", async () => {
  const { clock, wait } = setUp();
  const waiting = wait(0);
  await setImmediate();
  expect(waiting.isOver).toBe(false);
  clock.advance(1);
  await waiting.done;
});

function setUp() {
  const clock = new TestClock();
  const wake = new WakeSignal();
  const wait = (ms: number) => {
    const waiting = {
      isOver: false,
      done: wake.wait(ms, clock).then(() => {
        waiting.isOver = true;
      }),
    };
    return waiting;
  };
  return { clock, wake, wait };
}
