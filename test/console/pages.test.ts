/** Every page in both themes and three widths: content, no error, nothing that axe finds; keys; the address of a list. */
import { describe, expect, test } from "vitest";
import { queueWithLetters } from "../server/kit.ts";
import { axeFindings, openConsole, useBrowser } from "./kit.ts";

useBrowser();

const LETTERS = [
  { key: "o-1", data: { bad: "the bank refused", country: "PT" } },
  { key: "o-2", data: { bad: "the bank refused", country: "PT" } },
  { key: "o-3", data: { bad: "no such customer 17" } },
  { key: "o-4", data: { size: 4 } },
];

async function filled() {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", LETTERS);
  const [group] = await console.engine.listGroups({});
  return { console, signature: String(group?.signature) };
}

const PAGES = (signature: string): readonly (readonly [path: string, content: string])[] => [
  ["/", "What fails"],
  ["/groups", "the bank refused"],
  [`/groups/${signature}`, "Why this is one group"],
  ["/letters", "no such customer 17"],
  ["/letters/orders/o-1", "Attempts (1)"],
  ["/queues", "orders"],
  ["/queues/orders", "Settings"],
  ["/items/orders/o-4", "Result"],
  ["/jobs", "Nothing ever ran here."],
  ["/workers", "No worker is alive."],
  ["/operations", "Nothing was changed yet."],
  ["/schedules", "There are no schedules."],
  ["/receipts", "There are no targets of receipts."],
  ["/errors", "no such customer 17"],
  ["/alerts", "orders: 3 failed"],
  ["/audit", "Every change"],
  ["/tokens", "Create a token…"],
];

describe.each(["light", "dark"] as const)("in the %s theme", (colorScheme) => {
  test("every page shows its content, and axe finds nothing", async () => {
    const { console, signature } = await filled();
    const page = await console.open("/", { role: "admin", colorScheme });
    for (const [path, content] of PAGES(signature)) {
      await page.goto(console.url + path);
      await page.getByText(content).first().waitFor();
      expect(await axeFindings(page), path).toEqual([]);
    }
  });
});

test.each([390, 1024])("no page is wider than a window of %i pixels", async (width) => {
  const { console, signature } = await filled();
  const page = await console.open("/", { role: "admin", width });
  for (const [path, content] of PAGES(signature)) {
    await page.goto(console.url + path);
    await page.getByText(content).first().waitFor();
    const wide = Number(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"));
    expect(wide, path).toBeLessThanOrEqual(0);
  }
});

test("the keyboard opens pages, moves in lists, and previews a retry", async () => {
  const { console } = await filled();
  const page = await console.open("/");
  await page.getByText("What fails").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("l");
  await page.getByRole("heading", { name: "Letters" }).waitFor();
  await page.getByText("no such customer 17").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "o-3" }).waitFor();
  await page.keyboard.press("j");
  await page.getByRole("heading", { level: 1, name: "o-2" }).waitFor();
  await page.keyboard.press("r");
  await page.getByText("1 letter will be retried").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor();
});

test("the address of a list holds its filters", async () => {
  const { console } = await filled();
  const page = await console.open("/letters");
  await page.getByLabel("Search messages").fill("customer");
  await page.getByText("1 letter", { exact: true }).waitFor();
  await page.waitForURL(/q=customer/u);
  await page.reload();
  await page.getByText("1 letter", { exact: true }).waitFor();
  expect(await page.getByText("the bank refused").count()).toBe(0);
});

test("the palette finds pages, groups, queues and letters", async () => {
  const { console } = await filled();
  const page = await console.open("/");
  await page.getByText("What fails").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("orders");
  await page.getByRole("option", { name: "queue orders" }).click();
  await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
});

test("the console works below the path of a proxy", async () => {
  const console = await openConsole({ basePath: "/tools/redrive" });
  await queueWithLetters(console.engine, "orders", LETTERS);
  const page = await console.open("/tools/redrive/", { role: "nobody", expectedErrors: /401/u });
  await page.getByLabel("Token").fill(await console.tokenFor("viewer"));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("the bank refused").first().click();
  await page.waitForURL(/\/tools\/redrive\/groups\//u);
});
