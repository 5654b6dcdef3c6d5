/** Actions side by side: never more than there is room for, and no fault goes unheard. */
import { describe, expect, it } from "vitest";
import { ConcurrencyLimit } from "../../src/std/concurrency-limit.ts";

const tick = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a lane", () => {
  it("runs no more than its width at a time, and all in the end", async () => {
    const lane = new ConcurrencyLimit(3);
    let [now, most, done] = [0, 0, 0];
    for (let n = 0; n < 10; n += 1) {
      await lane.start(async () => {
        now += 1;
        most = Math.max(most, now);
        await tick();
        now -= 1;
        done += 1;
      });
    }
    await lane.end();
    expect([most, done, now]).toEqual([3, 10, 0]);
  });

  it("throws the first error to the next caller", async () => {
    const lane = new ConcurrencyLimit(1);
    await lane.start(async () => {
      throw new Error("first");
    });
    await expect(lane.start(tick)).rejects.toThrow("first");
    await lane.end();
  });

  it("throws an error at the end if nobody called after it", async () => {
    const lane = new ConcurrencyLimit(2);
    await lane.start(async () => {
      throw new Error("last");
    });
    await expect(lane.end()).rejects.toThrow("last");
  });
});
