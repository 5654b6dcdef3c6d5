/** Jobs and receipts by keyboard alone. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Target } from "../../src/delivery/target.ts";
import { ReceiptServer } from "../delivery/receipt-server.ts";
import { startRedrive } from "../support/cli.ts";
import { axeFindings, onDisk, openConsole, press, tabTo, useBrowser } from "./kit.ts";

useBrowser();

const WAITS = 'echo "charging $1"; while [ ! -e go ]; do sleep 0.05; kill -0 $PPID || exit 1; done';

test("by keyboard alone: an item of a map is skipped, its shell is copied, the map is paused, resumed and stopped", async () => {
  const { console, folder: home } = await onDisk();
  const map = ["map", "--name", "charges", "-j", "1", "--quiet", "--", "sh", "-c", WAITS, "x", "{}"];
  const running = startRedrive(map, { home, stdin: "first\nsecond\n" });
  onTestFinished(() => {
    if (!existsSync(join(home, "go"))) writeFileSync(join(home, "go"), "");
  });
  const page = await console.open("/");
  await page.getByText("● Live").waitFor();
  await press(page, "g", "j");
  await page.getByRole("link", { name: /charges-/u }).waitFor();
  await press(page, "j", "Enter");
  await page.getByText("charging first").first().waitFor();
  await tabTo(page, "Output");
  await press(page, "Enter");
  await page.getByText(/^redrive attach charges-\w+ \w+$/u).waitFor();
  await page.getByRole("region", { name: "Live output" }).getByText("charging first").waitFor();
  expect(await axeFindings(page)).toEqual([]);
  await press(page, "Shift+Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip");
  await press(page, "Enter");
  await page.getByText("charging second").first().waitFor();
  await tabTo(page, "Pause");
  await press(page, "Enter");
  await page.getByText("Ⅱpaused").waitFor();
  await tabTo(page, "Resume");
  await press(page, "Enter");
  await page.getByText("▸running").first().waitFor();
  await tabTo(page, "Stop");
  await press(page, "Enter");
  await running.ended;
  await page.getByText("The job has not finished.").waitFor();
  await tabTo(page, "Dismiss");
  await press(page, "Enter");
  await page.getByText("The job has not finished.").waitFor({ state: "detached" });
  const [job] = await console.engine.listJobs({ limit: 1 });
  expect(await console.engine.count(job?.id ?? "")).toMatchObject({ skipped: 1, ready: 1, dead: 0 });
});

test("by keyboard alone: a target is created, a receipt is sent, and an undelivered one is sent again", async () => {
  const receiver = await ReceiptServer.open();
  onTestFinished(() => receiver.close());
  receiver.otherwise = 400;
  const console = await openConsole();
  const page = await console.open("/", { role: "admin" });
  await page.getByText("● Live").waitFor();
  await press(page, "g", "r");
  await page.getByText("There are no receipt targets.").waitFor();
  await tabTo(page, "Create a target…");
  await press(page, "Enter");
  await page.keyboard.type("billing");
  await press(page, "Tab", "Tab");
  await page.keyboard.type(receiver.url);
  await press(page, "Tab");
  await page.keyboard.type("0");
  await press(page, "Control+Enter");
  await page.getByRole("link", { name: "billing" }).waitFor();
  await press(page, "j", "Enter");
  await page.getByRole("heading", { level: 1, name: "billing" }).waitFor();
  const target = new Target(console.engine, "billing");
  onTestFinished(() => target.close());
  await tabTo(page, "Send a receipt…");
  await press(page, "Enter", "Control+a");
  await page.keyboard.type('{ "task_id": "t-1" }');
  await press(page, "Control+Enter");
  await page.getByRole("link", { name: "1 undelivered" }).waitFor();
  receiver.otherwise = 200;
  await press(page, "r");
  await page.getByRole("button", { name: "Send (1)", disabled: false }).waitFor();
  await press(page, "Control+Enter");
  await page.getByRole("heading", { level: 1, name: "Retry in billing" }).waitFor();
  await page.getByText("✓ended").waitFor();
  await press(page, "g", "r");
  await expect.poll(async () => (await console.engine.count("billing")).done).toBe(1);
});
