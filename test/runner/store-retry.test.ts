import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { type ErrorCode, RedriveError } from "../../src/errors.ts";
import { StoreRetry } from "../../src/runner/store-retry.ts";
import { TestClock } from "../support/test-clock.ts";

it("an action that succeeds runs once, and nothing is reported", async () => {
  const trial = new Trial(10_000);
  expect(await trial.run([]).end).toBe("done");
  expect([trial.tries, trial.told]).toEqual([1, []]);
});

it("an outage is reported once, and so is its end", async () => {
  const trial = new Trial(10_000);
  const { end } = trial.run(["store_busy", "store_full", "store_busy"]);
  await trial.pass(10_000);
  expect(await end).toBe("done");
  expect([trial.tries, trial.told]).toEqual([4, ["trouble store_busy", "recovered"]]);
});

it("after the wait the caller gets the error", async () => {
  const trial = new Trial(3000);
  const { end } = trial.run(new Array<ErrorCode>(1000).fill("store_full"));
  await trial.pass(5000);
  await expect(end).rejects.toMatchObject({ code: "store_full" });
  expect(trial.told).toEqual(["trouble store_full"]);
  expect(trial.tries).toBeGreaterThan(3);
});

it("a wait of 0 tries once", async () => {
  const trial = new Trial(0);
  await expect(trial.run(["store_busy"]).end).rejects.toMatchObject({ code: "store_busy" });
  expect(trial.tries).toBe(1);
});

it.each<ErrorCode>(["store_corrupt", "store_readonly", "store_newer", "lease_lost", "job_not_found"])(
  "waiting does not mend %s",
  async (code) => {
    const trial = new Trial(10_000);
    await expect(trial.run([code]).end).rejects.toMatchObject({ code });
    expect([trial.tries, trial.told]).toEqual([1, []]);
  },
);

it("the pauses grow up to a second, so that a dead disk is not overloaded", async () => {
  const trial = new Trial(60_000);
  const { end } = trial.run(new Array<ErrorCode>(1000).fill("store_full"));
  await trial.pass(62_000);
  await expect(end).rejects.toThrow();
  expect(trial.tries).toBeGreaterThan(30);
  expect(trial.tries).toBeLessThan(140);
});

/** An action that fails as often as it is given codes, tried on a clock that the test moves. */
class Trial {
  readonly told: string[] = [];
  tries = 0;
  readonly #clock = new TestClock();
  readonly #storeRetry: StoreRetry;

  constructor(waitMsMax: number) {
    this.#storeRetry = new StoreRetry(waitMsMax, this.#clock, {
      trouble: ({ code }) => void this.told.push(`trouble ${code}`),
      recovered: () => void this.told.push("recovered"),
    });
  }

  /** In an object, since a promise would be waited for; a rejection is the test's to look at. */
  run(codes: readonly ErrorCode[]): { end: Promise<string> } {
    const end = this.#storeRetry.run(async () => {
      const code = codes[this.tries];
      this.tries += 1;
      if (code !== undefined) throw new RedriveError(code, "trouble");
      return "done";
    });
    end.catch(() => undefined);
    return { end };
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 50) {
      await setImmediate();
      this.#clock.advance(50);
    }
    await setImmediate();
  }
}
