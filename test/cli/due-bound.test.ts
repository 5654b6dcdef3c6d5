/** The waits of a worker with `--drain`, the items that it leaves, and what it reports. */
import { describe, expect, it } from "vitest";
import { dueBound, leftText, waitingText } from "../../src/cli/render/worker-screen.ts";
import type { Waiting } from "../../src/runner/run-options.ts";

const NOW = Date.UTC(2030, 0, 31, 9);
const wait = (inMs: number, items = 3, now = NOW): Waiting => ({ items, nextDueAt: now + inMs, now });

function boundOf(withinMs: number) {
  const told: Waiting[] = [];
  return { bound: dueBound(withinMs, (one) => told.push(one)), told };
}

describe("the limit of a worker's wait", () => {
  it("leaves items that are due later, if a second poll finds the same", () => {
    const { bound, told } = boundOf(60_000);
    bound.waiting(wait(60_001));
    expect(bound.signal.aborted).toBe(false);
    bound.waiting(wait(60_001));
    expect(bound.signal.aborted).toBe(true);
    expect(bound.left).toMatchObject({ items: 3 });
    expect(told).toEqual([]);
  });

  it("polls again if an item was released or added between two polls", () => {
    const { bound } = boundOf(60_000);
    bound.waiting(wait(3_600_000, 1));
    bound.waiting(wait(3_600_000, 2));
    bound.waiting(wait(1000, 2));
    bound.waiting(wait(3_600_000, 1));
    expect(bound.signal.aborted).toBe(false);
    expect(bound.left).toBeNull();
  });

  it("waits for items that are due at the limit, reports each due time once, and no short wait", () => {
    const { bound, told } = boundOf(60_000);
    const due = NOW + 60_000;
    for (const now of [NOW, NOW + 500, NOW + 58_000]) bound.waiting({ items: 3, nextDueAt: due, now });
    bound.waiting(wait(4999));
    bound.waiting(wait(20_000));
    expect(bound.signal.aborted).toBe(false);
    expect(told.map(({ nextDueAt }) => nextDueAt - NOW)).toEqual([60_000, 20_000]);
  });

  it("is reported with the words for items or receipts", () => {
    expect(waitingText(wait(25_000), { name: "orders", word: "item" })).toBe(
      "orders: waiting for 3 items; the next is due in 25.0 s, at 2030-01-31T09:00:25.000Z.",
    );
    expect(leftText(wait(7_200_000, 1), { name: "gate", word: "receipt" })).toBe(
      "gate: 1 receipt is left in the queue; the next is due in 2h 00m, at 2030-01-31T11:00:00.000Z.",
    );
  });
});
