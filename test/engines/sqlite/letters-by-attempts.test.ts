/** Letters by their attempts, so many that a page is found on the way through them and not by sorting all. */
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openSqliteEngine } from "../../../src/engines/sqlite/open.ts";
import { newHolder, newItem, QUEUE } from "../../conformance/workbench.ts";
import { buried, retried } from "../../support/settlements.ts";
import { TemporaryDirectory } from "../../support/temporary-directory.ts";

const directory = new TemporaryDirectory();
afterAll(() => directory.remove());

const LETTERS = 6000;
const TWICE = 5;

it("pages by attempts and their totals are exact among thousands of letters", async () => {
  const engine = await openSqliteEngine({ path: join(directory.path, "many.db") });
  await engine.createJob({ id: QUEUE, name: QUEUE, kind: "map", spec: {} });
  await engine.registerHolder(newHolder("holder-1"));
  const lease = async (max: number) =>
    (await engine.settleAndLease("holder-1", { settle: [], lease: { queue: QUEUE, max } })).leased;
  await engine.add(
    QUEUE,
    Array.from({ length: LETTERS }, (_, n) => newItem(`item-${`${n}`.padStart(4, "0")}`)),
  );
  const first = await lease(LETTERS);
  await engine.settleAndLease(null, {
    settle: first.map((one, n) => (n % (LETTERS / TWICE) === 0 ? retried(one) : buried(one))),
  });
  await engine.settleAndLease(null, { settle: (await lease(TWICE)).map((one) => buried(one)) });

  const often = await engine.listLetters({ attemptsMin: 2, limit: 9 });
  expect([often.total, often.letters.length]).toEqual([TWICE, TWICE]);
  const rarely = await engine.listLetters({ attemptsMax: 1, limit: 2, order: "oldest" });
  expect(rarely.total).toBe(LETTERS - TWICE);
  expect(rarely.letters.map(({ itemId }) => itemId)).toEqual(["item-0001", "item-0002"]);

  const sorted = await engine.listLetters({ order: "attempts", limit: TWICE + 1 });
  expect(sorted.total).toBe(LETTERS);
  expect(sorted.letters.map(({ failureCount }) => failureCount)).toEqual([2, 2, 2, 2, 2, 1]);
  expect(sorted.letters.at(-1)?.itemId).toBe("item-5999");
  const after = await engine.listLetters({ order: "attempts", limit: 1, cursor: sorted.next ?? "" });
  expect(after.letters[0]?.itemId).toBe("item-5998");

  const byItem = await engine.listLetters({ order: "item", limit: 2 });
  const next = await engine.listLetters({ order: "item", limit: 1, cursor: byItem.next ?? "" });
  expect([...byItem.letters, ...next.letters].map(({ itemId }) => itemId)).toEqual([
    "item-0000",
    "item-0001",
    "item-0002",
  ]);
  expect(await engine.check()).toEqual([]);
  await engine.close();
});
