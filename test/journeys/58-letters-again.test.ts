/** Letters that are retried with another priority, and imported letters that get their work later. */
import { describe, expect, it } from "vitest";
import { itemsJson, openFolder, plainMap } from "./project.ts";
import { openWorkshop, SOUND, type Workshop } from "./workshop.ts";

it("--priority of a retry puts its items before those that wait in the queue", async () => {
  const shop = openWorkshop();
  await shop.run(["queue", "create", "orders", "--max-retries", "0"]);
  await shop.run(["queue", "add", "orders", "--key", "first", "--data", "1"]);
  await shop.run(["worker", "--queue", "orders", "--drain", "--", "false"]);
  for (const key of ["second", "third"]) {
    await shop.run(["queue", "add", "orders", "--key", key, "--data", "1"]);
  }
  const retry = ["dlq", "retry", "--queue", "orders", "--detach", "--force", "--yes", "--priority", "high"];
  expect((await shop.run(retry)).code).toBe(0);
  const work = `echo "$REDRIVE_ITEM_ID" >> ${shop.ledgerPath}`;
  await shop.run(["worker", "--queue", "orders", "--drain", "-j", "1", "--", "sh", "-c", work]);
  expect(shop.ledger).toEqual(["first", "second", "third"]);
  const wrong = await shop.run(["dlq", "retry", "--queue", "orders", "--priority", "urgent"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("high, normal, low")]);
});

describe("imported letters", () => {
  const LETTER = { item_id: "a", item_data: { id: "a" }, failure_count: 1, failure_history: [] };

  /** A letter of a job that was imported. */
  async function importInto(project: Workshop, job: string): Promise<void> {
    const path = project.write("letters.json", JSON.stringify([{ ...LETTER, job_id: job }]));
    expect((await project.run(["dlq", "import", path, "--job", job])).code).toBe(0);
  }

  it("run with the workflow of their job's name once it was run here", async () => {
    const project = openFolder(itemsJson("b"));
    await importInto(project, "review");
    const refused = await project.do("dlq", "retry", "review", "--yes", "--force");
    expect(refused.code).toBe(2);
    await project.runJson({ name: "review", map: plainMap("echo ${item.id} >> $L") });
    const retried = await project.do("dlq", "retry", "review", "a", "--yes", "--force");
    expect(retried.code, retried.stderr).toBe(0);
    expect(project.ledger).toEqual(["b", "a"]);
    expect(await project.letters()).toEqual([]);
    expect(await project.check()).toBe(SOUND);
  });

  it("go to the workers of a queue that is created under their job's name", async () => {
    const shop = openWorkshop();
    await importInto(shop, "orders");
    expect((await shop.run(["queue", "create", "orders"])).code).toBe(0);
    const retry = ["dlq", "retry", "orders", "--detach", "--yes", "--force"];
    expect((await shop.run(retry)).code).toBe(0);
    const work = `echo "$REDRIVE_ITEM_ID" >> ${shop.ledgerPath}`;
    await shop.run(["worker", "--queue", "orders", "--drain", "--", "sh", "-c", work]);
    expect(shop.ledger).toEqual(["a"]);
  });
});
