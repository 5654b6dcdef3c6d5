/** The console by keyboard alone: the way from many letters to none, and every dialog, which axe examines too. */
import type { Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import { setTarget } from "../../src/delivery/target-settings.ts";
import { Worker } from "../../src/queue/worker.ts";
import { failing, queueWithLetters } from "../server/kit.ts";
import { axeFindings, openConsole, press, tabTo, useBrowser } from "./kit.ts";

useBrowser();

/** Two causes are in the data, the third one ends by itself. */
const paying: Handler = async ({ data }) => {
  const { vat, total } = data as { readonly vat?: string; readonly total: unknown };
  if (vat === undefined) throw new Error("the customer has no VAT id");
  if (typeof total !== "number") throw new Error("the total is not a number");
  return { kind: "succeeded" };
};

async function withThreeCauses() {
  const console = await openConsole();
  const letters = (count: number, bad: string, data: object) =>
    Array.from({ length: count }, (_, index) => ({ key: `${bad.length}-${index}`, data: { bad, ...data } }));
  await queueWithLetters(console.engine, "orders", [
    ...letters(20, "the customer has no VAT id", { total: 5 }),
    ...letters(12, "the total is not a number", { vat: "PT1", total: "5,00" }),
    ...letters(8, "the bank does not answer", { vat: "PT1", total: 5 }),
  ]);
  return console;
}

/** Starts the previewed change, and waits until it has ended. */
async function startAndEnd(page: Page, preview: string, title: string): Promise<void> {
  await page.getByText(preview).waitFor();
  await page.getByRole("button", { name: /^(?:Start|Change)/u, disabled: false }).waitFor();
  await press(page, "Enter");
  await page.getByRole("heading", { level: 1, name: title }).waitFor();
  await page.getByText("✓ended").waitFor();
}

test("three causes of 40 letters are fixed and retried in stages by keyboard alone", async () => {
  const console = await withThreeCauses();
  const worker = new Worker(console.engine, "orders", { handler: paying });
  onTestFinished(async () => void (await worker.stop()));
  const page = await console.open("/");
  await page.getByRole("row", { name: "20" }).waitFor();
  await press(page, "j"); // the next cause takes the place of one that is gone
  for (const [field, value, letters] of [
    ["vat", '"PT9"', 20],
    ["total", "5.0", 12],
  ] as const) {
    // The group of the round before may still be the first row for a moment.
    const first = page.getByRole("table", { name: "The largest groups" }).getByRole("row").nth(1);
    await first.getByRole("cell", { name: String(letters), exact: true }).waitFor();
    await press(page, "e");
    await page.getByRole("dialog", { name: "Edit letters of orders" }).waitFor();
    await page.keyboard.type(field);
    await press(page, "Tab");
    await page.keyboard.type(value);
    await startAndEnd(page, `${letters} letters will be changed`, "Edit in orders");
    await press(page, "r");
    await startAndEnd(page, `${letters} letters will be retried`, "Retry in orders");
    await press(page, "g", "o");
  }
  await page.getByText("8 dead letters from 1 cause").waitFor();
  await press(page, "r");
  await startAndEnd(page, "8 letters will be retried", "Retry in orders");
  await press(page, "g", "o");
  await page.getByText("Nothing has failed.").waitFor();
  expect(await console.engine.count("orders")).toMatchObject({ done: 40, dead: 0 });
});

/** The page on which each dialog is opened, the keys that open it, and its name. Tab moves to buttons without a key. */
const DIALOGS: readonly (readonly [path: string, button: string | null, keys: string, name: RegExp])[] = [
  ["/", null, "?", /Keyboard shortcuts/u],
  ["/", null, "/", /Search/u],
  ["/letters?queue=orders", null, "r", /Retry letters/u],
  ["/letters?queue=orders", null, "e", /Edit letters/u],
  ["/letters?queue=orders", null, "d", /Discard letters/u],
  ["/groups/GROUP", "Ignore…", "Enter", /Ignore the group/u],
  ["/groups/GROUP", "Assign", "Enter ArrowDown Enter", /Assign the group/u],
  ["/groups/GROUP", "More", "Enter Enter", /Apply a fix rule/u],
  ["/groups/GROUP", "More", "Enter ArrowDown Enter", /Edit letters/u],
  ["/groups/GROUP", "More", "Enter ArrowDown ArrowDown Enter", /Merge/u],
  ["/groups/GROUP", "More", "Enter End Enter", /Split/u],
  ["/queues/orders", "Add an item…", "Enter", /Add an item/u],
  ["/queues/orders", "Change…", "Enter", /Change the settings/u],
  ["/schedules", "Create a schedule…", "Enter", /Create a schedule/u],
  ["/receipts", "Create a target…", "Enter", /Create a target/u],
  ["/receipts/billing", "Send a receipt…", "Enter", /Send a receipt to billing/u],
  ["/receipts/billing", "Change…", "Enter", /Change billing/u],
  ["/jobs/thumbnails", "Delete…", "Enter", /Delete thumbnails/u],
  ["/tokens", "Create a token…", "Enter", /token/iu],
];

describe.each(["light", "dark"] as const)("in the %s theme", (colorScheme) => {
  test("every dialog opens by keyboard, keeps the focus inside, closes on Escape, and axe finds nothing in it", async () => {
    const console = await openConsole();
    await queueWithLetters(console.engine, "orders", [
      { key: "o-1", data: { bad: "the bank refused" } },
      { key: `o-2-${"long-".repeat(20)}`, data: { bad: "no such customer 17" } },
    ]);
    await setTarget(console.engine, "billing", { url: "http://127.0.0.1:9/hook" });
    await console.engine.createJob({ id: "thumbnails", name: "thumbnails", kind: "map", spec: {} });
    await console.engine.changeJob("thumbnails", { status: "stopped" });
    const [group] = await console.engine.listGroups({});
    // A phone in one of the themes: a dialog must not be wider than its window either.
    const width = colorScheme === "dark" ? 390 : 1440;
    const page = await console.open("/", { role: "admin", colorScheme, width });
    for (const [path, button, keys, name] of DIALOGS) {
      const address = console.url + path.replace("GROUP", String(group?.signature));
      if (page.url() !== address) await page.goto(address);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText("● Live").waitFor();
      if (button !== null) await tabTo(page, button);
      else await page.getByText(path === "/" ? "What fails" : "2 letters", { exact: true }).waitFor();
      await press(page, ...keys.split(" "));
      const dialog = page.getByRole("dialog", { name });
      await dialog.waitFor();
      expect(await page.evaluate(FOCUS_IS_INSIDE), `the focus is in ${name}`).toBe(true);
      expect(await page.evaluate(BEYOND_WIDTH), `pixels beyond the width of ${name}`).toBeLessThanOrEqual(0);
      expect(await axeFindings(page), String(name)).toEqual([]);
      await press(page, "Escape");
      await dialog.waitFor({ state: "detached" });
    }
  });
});

const FOCUS_IS_INSIDE = "document.querySelector('dialog[open]').contains(document.activeElement)";

const BEYOND_WIDTH =
  "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('dialog[open] [data-body]'))";

test("by keyboard alone: logging in, correcting a letter, a canary that halts, and a discard that is undone", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", [
    { key: "o-1", data: { bad: "the customer has no VAT id", total: 5 } },
    ...[2, 3, 4].map((number) => ({
      key: `o-${number}`,
      data: { bad: "the bank refused", vat: "PT1", total: 5 },
    })),
  ]);
  const page = await console.open("/letters/orders/o-1", { role: "nobody", expectedErrors: /401/u });
  await page.getByRole("heading", { name: "Log in to Redrive" }).waitFor();
  await press(page, "Tab");
  await page.keyboard.type(await console.tokenFor("operator"));
  await press(page, "Enter");

  await page.getByRole("heading", { level: 1, name: "o-1" }).waitFor();
  await press(page, "e");
  const editor = page.getByRole("textbox", { name: "Data as JSON" });
  await editor.waitFor();
  await press(page, "Control+a");
  await page.keyboard.type('{ "vat": "PT9", "total": 5 }');
  await page.getByRole("list", { name: "Differences" }).waitFor();
  await tabTo(page, "Save and retry…");
  await press(page, "Enter");
  await page.getByRole("button", { name: "Start the retry (1)", disabled: false }).waitFor();
  await press(page, "Control+Enter");
  await page.getByRole("heading", { level: 1, name: "Retry in orders" }).waitFor();
  const worker = new Worker(console.engine, "orders", { handler: failing });
  onTestFinished(async () => void (await worker.stop()));
  await page.getByText("✓ended").waitFor();

  await press(page, "g", "l");
  await page.getByText("3 letters", { exact: true }).waitFor();
  await press(page, "j", "x", "j", "x", "j", "x", "r");
  await page.getByRole("button", { name: "Start the retry (3)", disabled: false }).waitFor();
  await press(page, "Enter");
  await page.getByRole("alert").filter({ hasText: "The canary stopped" }).waitFor();

  await press(page, "g", "l");
  await page.getByText("3 letters", { exact: true }).waitFor();
  await press(page, "j", "x", "d");
  await page.getByRole("dialog", { name: "Discard letters of orders" }).waitFor();
  await page.keyboard.type("a test");
  await page.getByRole("button", { name: "Discard (1)", disabled: false }).waitFor();
  await press(page, "Enter");
  await page.getByRole("heading", { level: 1, name: "Discard in orders" }).waitFor();
  await tabTo(page, "Undo");
  await press(page, "Enter");
  await expect.poll(async () => (await console.engine.count("orders")).dead).toBe(3);
});
