/** What a runner does with requests to stop its job, also while its store cannot be reached. */
import { expect, it } from "vitest";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import { RedriveError } from "../../src/errors.ts";
import { JobControl, requestStop } from "../../src/queue/job-control.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { StoreRetry } from "../../src/runner/store-retry.ts";
import { systemClock } from "../../src/std/clock.ts";

/** The engine, whose server is restarting when it is first asked for the time. */
function restarting(engine: Engine): Engine {
  let isUp = false;
  const now = async () => {
    if (isUp) return engine.now();
    isUp = true;
    throw new RedriveError("store_unavailable", "The store is restarting.");
  };
  return Object.assign(Object.create(engine) as Engine, { now });
}

it("a job that begins to run while its store restarts waits for it, and obeys requests afterwards", async () => {
  const engine = await openStore("memory:");
  await createQueue(engine, "q", {});
  const troubles: string[] = [];
  const storeRetry = new StoreRetry(10_000, systemClock, { trouble: ({ code }) => troubles.push(code) });
  const { signal: stop } = new AbortController();
  const control = new JobControl({
    ...{ engine: restarting(engine), queue: "q" },
    ...{ clock: systemClock, stop, storeRetry },
  });
  await control.start();
  expect(troubles).toEqual(["store_unavailable"]);
  const stopped = new Promise((resolve) => control.stop.addEventListener("abort", resolve));
  await requestStop(engine, "q", "ana");
  await stopped;
  await control.close();
  await engine.close();
});
