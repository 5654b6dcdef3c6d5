/** Whole stories in the browser: from a failure to its fix. */
import { expect, test } from "vitest";
import { Worker } from "../../src/queue/worker.ts";
import { failing, queueWithLetters, work } from "../server/kit.ts";
import { type Console, openConsole, useBrowser } from "./kit.ts";

useBrowser();

async function withOrders(): Promise<Console> {
  const console = await openConsole();
  const items = [1, 2, 3, 4].map((number) => ({
    key: `o-${number}`,
    data: { bad: "the bank refused the payment", country: number < 4 ? "PT" : "ES" },
  }));
  await queueWithLetters(console.engine, "orders", [
    ...items,
    { key: "o-9", data: { bad: "customer 4711 has no VAT id", country: "PT" } },
  ]);
  return console;
}

test("a group is found on the overview, understood, retried and resolved", async () => {
  const console = await withOrders();
  const page = await console.open("/");
  await page.getByText("the bank refused the payment").click();
  await page.getByRole("heading", { level: 1, name: "the bank refused the payment" }).waitFor();
  await page.getByText("country", { exact: true }).waitFor();
  expect(await page.getByText("PT", { exact: true }).count()).toBeGreaterThan(0);

  await page.getByRole("button", { name: "Retry all…" }).click();
  await page.getByText("4 letters will be retried").waitFor();
  await page.getByRole("button", { name: "Start the retry (4)" }).click();
  await page.getByRole("heading", { name: "Retry in orders" }).waitFor();

  // The letters are sent in stages, so the worker stays until the last one has succeeded.
  const worker = new Worker(console.engine, "orders", { handler: async () => ({ kind: "succeeded" }) });
  await page.getByText("ended").waitFor();
  await worker.stop();
  await page.locator("dd", { hasText: "4" }).first().waitFor();
  await page.getByRole("link", { name: "Groups" }).click();
  await page.getByText("customer num has no VAT id").waitFor();
  expect(await page.getByText("the bank refused the payment").count()).toBe(0);
  await page.getByRole("button", { name: "resolved" }).click();
  await page.getByText("the bank refused the payment").waitFor();
});

test("the data of a letter is corrected and retried", async () => {
  const console = await withOrders();
  const page = await console.open("/letters/orders/o-9");
  await page.getByText("customer 4711 has no VAT id").first().waitFor();
  await page.getByRole("button", { name: "Edit data" }).click();
  const editor = page.getByRole("textbox", { name: "Data as JSON" });
  await editor.fill('{ "vat": "PT999999990", "country": "PT" }');
  await page.getByRole("list", { name: "Differences" }).getByText("PT999999990").waitFor();
  await page.getByRole("button", { name: "Save and retry…" }).click();
  await page.getByText("1 letter will be retried").waitFor();
  await page.getByRole("button", { name: "Start the retry (1)" }).click();
  await page.getByRole("heading", { name: "Retry in orders" }).waitFor();
  await work(console.engine, "orders");
  const [item] = await console.engine.findItems("o-9", { queue: "orders", limit: 1 });
  expect(item).toMatchObject({ state: "done", data: { vat: "PT999999990", country: "PT" } });
});

test("letters are discarded with a reason, and the discard is undone", async () => {
  const console = await withOrders();
  const page = await console.open("/letters?queue=orders");
  await page.getByText("5 letters", { exact: true }).waitFor();
  await page.getByRole("checkbox", { name: "Select orders o-1" }).check();
  await page.getByRole("checkbox", { name: "Select orders o-2" }).check();
  await page.getByRole("button", { name: "Discard…" }).click();
  await page.getByLabel("Reason").fill("test orders");
  await page.getByText("2 letters will be discarded").waitFor();
  await page.getByRole("button", { name: "Discard (2)" }).click();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await console.engine.count("orders")).dead).toBe(5);
});

test("a canary stops when the same failure returns", async () => {
  const console = await withOrders();
  const page = await console.open("/letters?queue=orders");
  await page.getByText("5 letters", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Retry…" }).click();
  await page.getByText("5 letters will be retried").waitFor();
  expect(await page.getByLabel("Try a few first").isChecked()).toBe(true);
  await page.getByRole("button", { name: "Start the retry (5)" }).click();
  await page.getByRole("heading", { name: "Retry in orders" }).waitFor();
  const worker = new Worker(console.engine, "orders", { handler: failing });
  await page.getByRole("alert").filter({ hasText: "The canary stopped" }).waitFor();
  await worker.stop();
  expect((await console.engine.count("orders")).dead).toBe(5);
});
