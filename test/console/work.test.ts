/** Jobs and queues: what runs now, settings, items that are added by a form, and schedules. */
import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { Worker } from "../../src/queue/worker.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

const SCHEMA = {
  type: "object",
  required: ["order", "country"],
  properties: {
    order: { type: "integer", title: "Order number" },
    country: { enum: ["PT", "ES"] },
    vat: { type: "string", description: "of the customer" },
    express: { type: "boolean" },
  },
};

test("an item is added with a form made from the queue's schema, and shown while it runs", async () => {
  const console = await openConsole();
  await createQueue(console.engine, "orders", { schema: SCHEMA });
  const page = await console.open("/queues/orders");
  await page.getByRole("button", { name: "Add an item…" }).click();
  await page.getByLabel("Order number").fill("17");
  await page.getByLabel("country").selectOption("ES");
  await page.getByLabel("express").check();
  await page.getByLabel("Key").fill("o-17");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "o-17" }).waitFor();
  const [item] = await console.engine.findItems("o-17", { queue: "orders", limit: 1 });
  expect(item?.data).toEqual({ order: 17, country: "ES", express: true });

  let finish = () => {};
  const handler = () =>
    new Promise<{ kind: "succeeded" }>((resolve) => {
      finish = () => resolve({ kind: "succeeded" });
    });
  const worker = new Worker(console.engine, "orders", { handler, untilEmpty: true });
  await page.getByRole("heading", { name: "Running now (1)" }).waitFor();
  finish();
  await worker.ended;
  await page.getByRole("heading", { name: "Running now (1)" }).waitFor({ state: "detached" });
});

test("an administrator changes the settings of a queue; an operator sees no form", async () => {
  const console = await openConsole();
  await createQueue(console.engine, "orders", { maxRetries: 2 });
  const page = await console.open("/queues/orders", { role: "admin" });
  await page.getByRole("button", { name: "Change…" }).click();
  await page.getByLabel("Retries").fill("7");
  await page.getByText("redrive queue set orders --retries 7", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.locator("dd", { hasText: /^7$/u }).waitFor();
  const operator = await console.open("/queues/orders");
  await operator.getByText("Settings").waitFor();
  expect(await operator.getByRole("button", { name: "Change…" }).count()).toBe(0);
});

test("a schedule is created with a form, changed, paused and removed", async () => {
  const console = await openConsole();
  await createQueue(console.engine, "reports", {});
  const page = await console.open("/schedules", { role: "admin" });
  await page.getByRole("button", { name: "Create a schedule…" }).click();
  await page.getByLabel("Name").fill("nightly");
  await page.getByLabel("Cron pattern").fill("0 3 * * *");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  const row = page.getByRole("row", { name: "nightly" });
  await row.getByText("0 3 * * *").waitFor();
  await row.getByRole("button", { name: "Change…" }).click();
  await page.getByLabel("Cron pattern").fill("30 4 * * 1");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await row.getByText("30 4 * * 1").waitFor();
  await row.getByRole("button", { name: "Pause" }).click();
  await row.getByText("paused").waitFor();
  await row.getByRole("button", { name: "Remove nightly" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("There are no schedules.").waitFor();
});
