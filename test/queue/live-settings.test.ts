import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openMemoryEngine } from "../../src/engines/sqlite/open.ts";
import { RedriveError } from "../../src/errors.ts";
import { changeQueue, createQueue, liveSettings } from "../../src/queue/queue-settings.ts";
import { queueSpecOf } from "../../src/queue/queue-spec.ts";
import { TestClock } from "../support/test-clock.ts";

async function setUp(change: (engine: Engine) => Partial<Engine> = () => ({})) {
  const clock = new TestClock();
  const engine = openMemoryEngine({ clock });
  const job = await createQueue(engine, "q", { maxRetries: 2 });
  let looks = 0;
  const counted: Engine = {
    ...engine,
    findJob: (name) => {
      looks += 1;
      return engine.findJob(name);
    },
    ...change(engine),
  };
  const settings = liveSettings(counted, job, { clock, specOf: queueSpecOf });
  const attempts = async () => {
    settings.now();
    await setImmediate();
    return settings.now().policy.maxAttempts;
  };
  return { engine, clock, attempts, looks: () => looks };
}

it("changed settings are obeyed after the next read, and the store is read at most every two seconds", async () => {
  const { engine, clock, attempts, looks } = await setUp();
  await changeQueue(engine, "q", { maxRetries: 0 });
  expect(await attempts()).toBe(3);
  expect(looks()).toBe(0);
  clock.advance(2000);
  expect(await attempts()).toBe(1);
  for (let n = 0; n < 10; n += 1) await attempts();
  expect(looks()).toBe(1);
});

it("an unavailable store leaves the settings unchanged", async () => {
  const { clock, attempts } = await setUp(() => ({
    findJob: () => Promise.reject(new RedriveError("store_unavailable", "no answer")),
  }));
  clock.advance(2000);
  expect(await attempts()).toBe(3);
});
