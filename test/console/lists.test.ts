/** What every list can do: filters and order in the address, the keyboard, cards on a phone, and advice when it is empty. */
import { expect, test } from "vitest";
import { addItems } from "../../src/queue/add-items.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, press, useBrowser } from "./kit.ts";

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
  const box = page.getByLabel("Search messages");
  await page.getByRole("button", { name: "Filters", exact: true }).waitFor();
  expect(await box.isVisible()).toBe(false);
  await page.keyboard.press("f");
  await page.keyboard.type("customer");
  await page.waitForURL(/q=customer/u);
  await page.getByRole("button", { name: "Filters (1)" }).click();
  await box.waitFor({ state: "hidden" });
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

test("a queue is called what the command line calls it, and a closed breaker is not an open one", async () => {
  const console = await withQueues();
  await createQueue(console.engine, "guarded", { breaker: { failureThreshold: 3 } });
  await addItems(console.engine, "mails", [{ data: 1 }]);
  const page = await console.open("/queues");
  const stateOf = (name: string) => page.getByRole("row", { name }).getByRole("cell").last().textContent();
  await page.getByRole("link", { name: "guarded" }).waitFor();
  expect(await stateOf("guarded")).toContain("idle");
  expect(await stateOf("mails")).toContain("no workers");
  expect(await stateOf("reports")).toContain("paused");
  await page.getByRole("button", { name: "no workers" }).click();
  await page.getByRole("link", { name: "guarded" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "mails" }).waitFor();
});

test("a pause by a person lasts when another list is opened", async () => {
  const console = await withQueues();
  const page = await console.open("/queues");
  await page.getByText("● Live").waitFor();
  await press(page, ".");
  await page.getByText("● Paused").waitFor();
  await press(page, "g", "l");
  await page.getByRole("row", { name: "o-2" }).waitFor();
  await press(page, "j", "x", "Escape");
  await page.getByText("● Paused").waitFor();
  await press(page, ".");
  await page.getByText("● Live").waitFor();
});

test("cards of different heights do not cover each other when letters come in before them", async () => {
  const console = await withQueues();
  const page = await console.open("/letters", { width: 390, height: 844 });
  await page.getByRole("row", { name: "o-2" }).waitFor();
  await queueWithLetters(console.engine, "refunds", [
    { key: "r-1", data: { bad: `the bank refused ${"because of many reasons ".repeat(5)}` } },
  ]);
  await page.getByRole("row", { name: "r-1" }).waitFor();
  const edges = async () => {
    const cards = await page.locator("[role=row][data-index]").all();
    const boxes = await Promise.all(cards.map((card) => card.boundingBox()));
    return boxes.flatMap((box) => (box === null || box.height < 2 ? [] : [box])).sort((a, b) => a.y - b.y);
  };
  const covered = async () =>
    (await edges()).filter((box, index, all) => index > 0 && box.y + 0.5 < bottomOf(all[index - 1])).length;
  const bottomOf = (box?: { readonly y: number; readonly height: number }) =>
    (box?.y ?? 0) + (box?.height ?? 0);
  await expect.poll(async () => (await edges()).length).toBe(3);
  await expect.poll(covered).toBe(0);
});
