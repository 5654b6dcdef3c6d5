/** What every list can do: filters and order in the address, the keyboard, cards on a phone, and advice when it is empty. */
import { expect, test } from "vitest";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

async function withQueues() {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", [
    { key: "o-1", data: { bad: "the bank refused" } },
    { key: "o-2", data: { bad: "no such customer 17" } },
  ]);
  await createQueue(console.engine, "mails", {});
  const { id } = await createQueue(console.engine, "reports", {});
  await console.engine.changeJob(id, { pause: { author: "vera", reason: "" } });
  return console;
}

test("filters and order of a list are in its address", async () => {
  const console = await withQueues();
  const page = await console.open("/queues");
  const names = () => page.getByRole("row").locator("a[href*='/queues/']").allTextContents();
  await page.getByRole("link", { name: "mails" }).waitFor();
  expect(await names()).toEqual(["mails", "orders", "reports"]);

  await page.getByRole("button", { name: "Dead" }).click();
  await page.waitForURL(/sort=-letters/u);
  await expect.poll(names).toEqual(["orders", "mails", "reports"]);
  await page.getByRole("button", { name: "paused" }).click();
  await expect.poll(names).toEqual(["reports"]);
  await page.reload();
  await page.getByRole("link", { name: "reports" }).waitFor();
  expect(await names()).toEqual(["reports"]);

  await page.getByLabel("Search queues").fill("nothing");
  await page.getByText("None of 3 rows").waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await expect.poll(names).toEqual(["orders", "mails", "reports"]);
});

test("the keyboard moves in a list, and going back returns to the same row", async () => {
  const console = await withQueues();
  const page = await console.open("/queues");
  await page.getByRole("link", { name: "orders" }).waitFor();
  for (const key of ["j", "j", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "reports" }).waitFor();
  for (const key of ["j", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("heading", { level: 1, name: "reports" }).waitFor();
});

test("on a phone every row is a card with the same facts", async () => {
  const console = await withQueues();
  const page = await console.open("/queues", { width: 390, height: 844 });
  const card = page.getByRole("row", { name: "orders" });
  await card.waitFor();
  expect(await card.textContent()).toContain("Dead 2");
  await page.goto(`${console.url}/letters`);
  const letter = page.getByRole("row", { name: "o-2" });
  await letter.getByText("no such customer 17", { exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "o-2" }).waitFor();
});

test("an empty list names the next command, and the page the command that does the same", async () => {
  const console = await withQueues();
  const page = await console.open("/schedules");
  await page.getByText("There are no schedules.").waitFor();
  await page.getByText("redrive schedule create nightly").waitFor();
  await page.getByText("redrive schedule list", { exact: true }).waitFor();
  await page.goto(`${console.url}/letters?queue=orders&q=bank&state=all`);
  await page
    .getByText("redrive dlq list --state all --queue orders --search bank", { exact: true })
    .waitFor();
});
