/** Every page in both themes and three widths: content, no error, nothing that axe finds; keys; the address of a list. */
import { expect, onTestFinished, test } from "vitest";
import { openDemoStore } from "../../src/cli/demo/demo-store.ts";
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

/** The demo, which has content on every page: a running job, a target, a schedule, operations, a group that came back. */
async function demonstrated() {
  const demo = await openDemoStore();
  const console = await openConsole({ engine: demo.engine, home: demo.home });
  onTestFinished(() => demo.close());
  await expect.poll(async () => (await demo.engine.listJobs({ limit: 10 })).length).toBe(5);
  const job = (await demo.engine.listJobs({ limit: 10 })).find(({ name }) => name === "thumbnails");
  const group = (await demo.engine.listGroups({})).find(({ pattern }) => pattern.includes("ETIMEDOUT"));
  const [operation] = await demo.engine.listOperations({});
  const pages: readonly (readonly [path: string, content: string])[] = [
    ["/", "Changed last"],
    ["/groups", "a retry helped before"],
    [`/groups/${group?.signature}`, "8 letters succeeded after a retry"],
    ["/letters", "502 Bad Gateway"],
    ["/letters/mails/mail-7", "Attempts (1)"],
    ["/queues", "Charges orders"],
    ["/queues/payments", "Settings"],
    ["/items/payments/order-10401", "Result"],
    ["/jobs", "thumbnails"],
    [`/jobs/${job?.id}`, "Running now (3)"],
    ["/workers", "thumbnails"],
    ["/operations", "orders of the load test"],
    [`/operations/${operation?.id}`, "selected"],
    ["/schedules", "nightly-report"],
    ["/receipts", "Receipts of paid orders"],
    ["/receipts/billing", "3 undelivered"],
    ["/errors", "502 Bad Gateway"],
    ["/alerts", "payments: "],
    ["/audit", "groups assigned"],
    ["/tokens", "admin"],
  ];
  return { console, pages };
}

const EMPTY_PAGES = (signature: string): readonly (readonly [path: string, content: string])[] => [
  ["/", "What fails"],
  ["/groups", "the bank refused"],
  [`/groups/${signature}`, "Why these letters are grouped"],
  ["/letters", "no such customer 17"],
  ["/letters/orders/o-1", "Attempts (1)"],
  ["/queues", "orders"],
  ["/queues/orders", "Settings"],
  ["/items/orders/o-4", "Result"],
  ["/jobs", "No jobs yet."],
  ["/workers", "No worker is running."],
  ["/operations", "Nothing was changed yet."],
  ["/schedules", "There are no schedules."],
  ["/receipts", "There are no receipt targets."],
  ["/errors", "no such customer 17"],
  ["/alerts", "orders: 3 failed"],
  ["/audit", "Every change"],
  ["/tokens", "Create a token…"],
];

test("every page shows its content, fits phones, and axe finds nothing in either theme", async () => {
  const { console, pages } = await demonstrated();
  const page = await console.open("/", { role: "admin" });
  for (const [path, content] of pages) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(console.url + path);
    await page.getByText(content).first().waitFor();
    for (const [colorScheme, width] of [
      ["light", 1440],
      ["dark", 1024],
      ["light", 390],
    ] as const) {
      const where = `${path} in the ${colorScheme} theme at ${width} pixels`;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
      expect(await axeFindings(page), where).toEqual([]);
      const beyond = Number(await page.evaluate("document.documentElement.scrollWidth - window.innerWidth"));
      expect(beyond, where).toBeLessThanOrEqual(0);
    }
  }
});

test("pages without content say what to do, and axe finds nothing", async () => {
  const { console, signature } = await filled();
  const page = await console.open("/", { role: "admin" });
  for (const [path, content] of EMPTY_PAGES(signature)) {
    await page.goto(console.url + path);
    await page.getByText(content).first().waitFor();
    expect(await axeFindings(page), path).toEqual([]);
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

test("the palette finds pages, groups, queues, items and letters, and runs actions", async () => {
  const { console } = await filled();
  const page = await console.open("/");
  await page.getByText("What fails").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("the queue orders");
  await page.getByRole("option", { name: "Pause the queue orders" }).click();
  await page.getByText("Ⅱpaused").waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("orders");
  await page.getByRole("option", { name: "queue orders", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("o-4");
  await page.getByRole("option", { name: "item o-4 · orders · done" }).click();
  await page.getByRole("heading", { level: 1, name: "o-4" }).waitFor();
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
