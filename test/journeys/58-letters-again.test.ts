/** Letters that are run again with another priority, or that came from elsewhere and find their work later. */
import { expect, it } from "vitest";
import { openWorkshop } from "./workshop.ts";

it("--priority of a retry puts its items before what waits in the queue", async () => {
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
