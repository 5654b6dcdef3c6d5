/** A worker that ends when its queue is empty applies `max_items` and the retention like a long-running one. */
import { expect, test } from "vitest";
import { openWorkshop } from "./workshop.ts";

test("a worker with --drain archives the letters beyond the limit before it ends", async () => {
  const shop = openWorkshop();
  shop.write("redrive.yml", "dlq: { max_items: 2 }");
  shop.write("items.jsonl", "1\n2\n3\n4\n5\n");
  expect((await shop.run(["queue", "create", "invoices", "--max-retries", "0"])).code).toBe(0);
  expect((await shop.run(["queue", "import", "invoices", "items.jsonl"])).code).toBe(0);
  const worked = await shop.run(["worker", "--queue", "invoices", "--drain", "-j", "1", "--", "false"]);
  expect(worked.stderr).toMatch(/too many: 3\./);
  const letters = await shop.letters();
  expect(letters.map(({ item_data }) => item_data).sort()).toEqual([4, 5]);
  const { counts } = await shop.json<{ counts: Record<string, number> }>("queue", "show", "invoices");
  expect(counts).toMatchObject({ dead: 2 });
});
