/** Options around retries: an unknown id, one letter of a named job, and copies with a name and a priority. */
import { describe, expect, it } from "vitest";
import { type OperationJson, openWorkshop, type Workshop } from "./workshop.ts";

/** Items a and b failed once and succeed when they are retried. */
async function withLetters(): Promise<Workshop> {
  const shop = openWorkshop();
  const script = `test -e "mark-$1" && exit 0; touch "mark-$1"; echo "not yet" >&2; exit 1`;
  await shop.map(["a", "b"], script, ["--retries", "0", "--name", "twice"]);
  expect(await shop.letters()).toHaveLength(2);
  return shop;
}

describe("redrive dlq reprocess", () => {
  it("with an unknown id retries the others and reports it", async () => {
    const shop = await withLetters();
    const all = await shop.run(["dlq", "reprocess", "twice", "a", "nobody", "b", "--json"]);
    expect(all.code).toBe(4);
    expect(all.json<OperationJson & { unknown_items: string[] }>()).toMatchObject({
      ...{ selected: 2, succeeded: 2, unknown_items: ["nobody"] },
    });
    expect(all.stderr).toContain("has no item nobody");
    expect(await shop.letters()).toEqual([]);
  });

  it("with only unknown ids does nothing", async () => {
    const shop = await withLetters();
    const none = await shop.run(["dlq", "reprocess", "twice", "nobody"]);
    expect(none.code).toBe(4);
    expect(await shop.letters()).toHaveLength(2);
  });
});

describe("redrive dlq show", () => {
  it("shows the letter of an item of the job that --job names", async () => {
    const shop = await withLetters();
    const [letter] = await shop.letters();
    const id = letter?.item_id ?? "";
    const shown = await shop.run(["dlq", "show", id, "--job", "twice", "--json"]);
    expect([shown.code, shown.json<{ item_id: string }>().item_id]).toEqual([0, id]);
    expect((await shop.run(["dlq", "show", "twice", "--json"])).json<{ total: number }>().total).toBe(2);
    expect((await shop.run(["dlq", "show", id, "--job", "nobody"])).code).toBe(4);
  });
});

describe("redrive dlq retry --as-new", () => {
  it("names the copy Requeue-NAME and can raise its priority", async () => {
    const shop = openWorkshop();
    await shop.run(["queue", "create", "invoices", "--max-retries", "0"]);
    await shop.run([
      ...["queue", "add", "invoices", "--key", "4712", "--name", "INV-4712", "--priority", "low"],
      ...["--data", '{"n": 1}'],
    ]);
    await shop.run(["queue", "add", "invoices", "--key", "4713", "--data", '{"n": 2}']);
    await shop.run(["worker", "--queue", "invoices", "--drain", "--", "false"]);
    const sent = await shop.run([
      ...["dlq", "retry", "invoices", "--as-new", "--priority", "high", "--force", "--yes", "--json"],
    ]);
    expect(sent.json<OperationJson>()).toMatchObject({ selected: 2, done: 2 });
    const items = (await shop.run(["queue", "items", "invoices", "--json"])).json<{
      items: { item_id: string; name?: string; priority: string; state: string }[];
    }>().items;
    const copies = items.filter(({ state }) => state === "ready");
    expect(copies.map(({ item_id, name, priority }) => [item_id, name, priority]).sort()).toEqual([
      ["4712~2", "Requeue-INV-4712", "high"],
      ["4713~2", "Requeue-4713", "high"],
    ]);
    const alone = await shop.run(["dlq", "retry", "invoices", "--priority", "sometime"]);
    expect(alone.code).toBe(2);
  });
});
