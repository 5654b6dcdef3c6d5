/** Receipts and fix rules in the browser: forms of targets, receipts that are sent again, a rule that is applied to a group. */
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_CONFIG } from "../../src/config/settings.ts";
import { Target } from "../../src/delivery/target.ts";
import { ReceiptServer } from "../delivery/receipt-server.ts";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

test("a target is created, a receipt is sent, and an undelivered one is sent again", async () => {
  const receiver = await ReceiptServer.open();
  onTestFinished(() => receiver.close());
  const console = await openConsole();
  const page = await console.open("/receipts", { role: "admin" });
  await page.getByRole("button", { name: "Create a target…" }).click();
  await page.getByLabel("Name").fill("billing");
  await page.getByLabel("Address").fill(receiver.url);
  await page.getByLabel("Retries").fill("0");
  await page
    .getByText(`redrive receipts target billing --url ${receiver.url} --retries 0`, { exact: true })
    .waitFor();
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("link", { name: "billing" }).click();
  await page.getByRole("heading", { level: 1, name: "billing" }).waitFor();

  receiver.otherwise = 400;
  const target = new Target(console.engine, "billing");
  onTestFinished(() => target.close());
  await page.getByRole("button", { name: "Send a receipt…" }).click();
  await page.getByRole("textbox", { name: "Receipt" }).fill('{ "task_id": "t-1" }');
  await page.getByLabel("Key").fill("t-1");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByRole("link", { name: "1 undelivered" }).waitFor();
  expect(receiver.keys).toEqual(["t-1"]);

  receiver.otherwise = 200;
  await page.getByRole("button", { name: "Send the undelivered…" }).click();
  await page.getByText("1 receipt will be sent again").waitFor();
  await page.getByRole("button", { name: "Send (1)" }).click();
  await page.getByRole("heading", { name: "Retry in billing" }).waitFor();
  await page.getByText("ended").waitFor();
  // The address of a queue leads to its target.
  const other = await console.open("/queues/billing", { expectedErrors: /404/u });
  await other.waitForURL(/\/receipts\/billing$/u);
  await other.getByText("1 delivered").waitFor();
  await page.goto(`${console.url}/receipts/billing`);
  await page.getByRole("button", { name: "Change…" }).click();
  await page.getByLabel("Timeout of an attempt").fill("3s");
  await page.getByRole("button", { name: "Change", exact: true }).click();
  await page.locator("dd", { hasText: "3.0 s" }).waitFor();
});

test("an edit of a group is kept as a fix rule, and a rule of redrive.yml is applied to it", async () => {
  const rule = {
    name: "country",
    match: { filter: {}, where: 'item.bad == "no country"' },
    change: { kind: "set", set: { country: '"DE"' } },
    usesMax: 3,
    auto: false,
  } as const;
  const console = await openConsole({ config: async () => ({ ...DEFAULT_CONFIG, fixes: [rule] }) });
  await queueWithLetters(console.engine, "orders", [
    { key: "o-1", data: { bad: "no country", address: { zip: "1" } } },
    { key: "o-2", data: { bad: "no country", address: { zip: "2" } } },
  ]);
  const page = await console.open("/groups");
  await page.getByRole("link", { name: /no country/u }).click();
  await page.getByRole("button", { name: "Edit all…" }).click();
  const field = page.getByLabel("Field");
  const paths = field.evaluate((input) => {
    const { list } = input as unknown as {
      readonly list: { readonly options: { readonly value: string }[] };
    };
    return Array.from(list.options, ({ value }) => value);
  });
  expect(await paths).toContain("address.zip");
  await field.fill("country");
  await page.getByLabel("New value").fill('"FR"');
  await page.getByText("2 letters will be changed").waitFor();
  await page.getByText("Keep this change as a fix rule").click();
  await page.getByText(`set: { country: "\\"FR\\"" }`).waitFor();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Apply a fix rule…" }).click();
  await page.getByText("The rule matches 2 letters of orders").waitFor();
  await page.getByRole("button", { name: "Fix and retry (2)" }).click();
  await page.getByRole("heading", { name: "Retry in orders" }).waitFor();
  await expect.poll(async () => (await console.engine.count("orders")).ready).toBe(2);
  const [item] = await console.engine.findItems("o-1", { queue: "orders", limit: 1 });
  expect(item?.data).toMatchObject({ country: "DE" });
});
