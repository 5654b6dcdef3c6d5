/** The short form of the torture run of transactions; `node bench/torture/transactions.mjs` is the long one. */
import { expect, it } from "vitest";
import { tortureTransactions } from "../../bench/torture/transactions.mjs";

it("of random transactions that are killed exactly the committed items exist", async () => {
  const { violations, figures } = await tortureTransactions({ seed: 7, transactions: 120 });
  expect(violations).toEqual([]);
  expect(figures.commits).toBeGreaterThan(10);
  expect(figures.rollbacks).toBeGreaterThan(10);
});
