/** Figures over time, waiting times and results: what a person reads off a chart or a row. */
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { addItems } from "../../src/queue/add-items.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { Worker } from "../../src/queue/worker.ts";
import { queueWithLetters, work } from "../server/kit.ts";
import { axeFindings, openConsole, press, useBrowser } from "./kit.ts";

useBrowser();

const REFUSED = ["o-1", "o-2", "o-3"].map((key) => ({ key, data: { bad: "the bank refused" } }));

test("a chart has a scale and a text, shows the figures of a bar, and opens the letters that it counts", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", REFUSED);
  const page = await console.open("/queues/orders");
  await page.getByRole("slider", { name: "Letters over time: 3 letters, at most 3 in 1 h" }).waitFor();
  const chart = page.getByRole("slider", { name: /^Letters over time/u });
  expect(await chart.getAttribute("aria-valuetext")).toMatch(/, \d\d:00 – \d\d:00: 3 letters$/u);
  await chart.focus();
  await press(page, "Home");
  expect(await chart.getAttribute("aria-valuetext")).toMatch(/: 0 letters$/u);
  await press(page, "End");
  await page.getByText(/\d\d:00 – \d\d:00: 3 letters$/u).waitFor();
  await page.getByRole("button", { name: "7 d" }).click();
  await page.getByRole("slider", { name: /3 letters, at most 3 in 6 h/u }).waitFor();
  await chart.focus();
  await press(page, "End", "Enter");
  await page.getByRole("button", { name: /newer than: \d+m/u }).waitFor();
  await page.getByText("3 letters", { exact: true }).waitFor();
  await page.getByText(/redrive dlq list .*--newer-than \d+m --age-of last/u).waitFor();
});

test("a group shows when its attempts failed, if there were more of them than letters", async () => {
  const console = await openConsole();
  const backoff = { kind: "fixed", delayMs: 1, jitter: false } as const;
  await createQueue(console.engine, "orders", { maxRetries: 2, backoff });
  await addItems(console.engine, "orders", REFUSED);
  await work(console.engine, "orders");
  const [group] = await console.engine.listGroups({});
  const page = await console.open(`/groups/${group?.signature}`);
  await page.getByText("Failed attempts of 3 letters").waitFor();
  await page.getByRole("slider", { name: /Failed attempts over time: 9 attempts/u }).waitFor();
});

test("the overview measures the throughput while it is open", async () => {
  const console = await openConsole();
  await createQueue(console.engine, "orders", {});
  const page = await console.open("/");
  await page.getByText("The first figures come in a few seconds.").waitFor();
  const worker = new Worker(console.engine, "orders", { handler: async () => ({ kind: "succeeded" }) });
  onTestFinished(async () => void (await worker.stop()));
  await addItems(console.engine, "orders", REFUSED);
  await page.getByRole("slider", { name: /Throughput: 3 items/u }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

/** The texts of the cells in the column with this title. */
async function cellsOf(page: Page, title: string): Promise<readonly string[]> {
  const titles = await page.getByRole("table", { name: "Items" }).getByRole("columnheader").allTextContents();
  const rows = await page.getByRole("table", { name: "Items" }).getByRole("row").all();
  const cells = rows.slice(1).map((row) => row.getByRole("cell").nth(titles.indexOf(title)).textContent());
  return (await Promise.all(cells)).map(String);
}

test("a queue shows how long its items waited, and what they returned", async () => {
  const console = await openConsole();
  await createQueue(console.engine, "orders", {});
  const keys = ["a-1", "a-2", "a-3", "a-4"];
  await addItems(
    console.engine,
    "orders",
    keys.map((key) => ({ key, data: {} })),
  );
  const page = await console.open("/queues/orders?state=done");
  await page.getByText("No item is done.").waitFor();
  expect(await page.getByText("waiting time p50").count()).toBe(0);
  await work(console.engine, "orders", async ({ itemId }) =>
    itemId === "a-2" ? { kind: "succeeded" } : { kind: "succeeded", result: { paid: itemId } },
  );
  await page.getByText(/^waiting time p50 .+ p95 /u).waitFor();
  await page.getByRole("row", { name: "a-4" }).waitFor();
  expect(await cellsOf(page, "Result")).toEqual(['{"paid":"a-1"}', "", '{"paid":"a-3"}', '{"paid":"a-4"}']);
});
