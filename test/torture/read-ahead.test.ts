/** Short commands that are leased ahead, while their runner and its launcher are killed with -9. */
import { expect, it } from "vitest";
import { tortureReadAhead } from "../../bench/torture/read-ahead.mjs";

it("kills of runner and launcher lose nothing that had not started, and no output", async () => {
  const { violations, figures } = await tortureReadAhead({ items: 600, kills: 3, random: () => 0.3 });
  expect(violations).toEqual([]);
  expect(figures.items).toBe(600);
});
