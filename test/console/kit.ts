/** A real browser on a real server: Chromium from npm, or an installed Chrome named by REDRIVE_TEST_CHROME. */
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, type Page, chromium as playwright } from "playwright-core";
import { afterAll, beforeAll, expect, inject, onTestFinished } from "vitest";
import type { Role } from "../../src/server/contract/route.ts";
import { type Listening, listen } from "../../src/server/listen.ts";
import { type Kit, serverKit } from "../server/kit.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";

let browser: Browser | undefined;

/** Connects the test file to the browser that all of them share. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await playwright.connect(inject("browser"));
  });
  afterAll(async () => {
    await browser?.close();
  });
}

export interface Console extends Kit {
  readonly url: string;
  readonly listening: Listening;
  /** Opens a page of the console as a user with this role. Every error in the browser's console fails the test. */
  open(path?: string, options?: OpenOptions): Promise<Page>;
}

export interface OpenOptions {
  /** Default `operator`; `nobody` is not logged in. */
  readonly role?: Role | "nobody";
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
  /** Errors that the test causes on purpose, e.g. by ending the server. */
  readonly expectedErrors?: RegExp;
}

export async function openConsole(options: Parameters<typeof serverKit>[0] = {}): Promise<Console> {
  const kit = await serverKit(options);
  const listening = await listen(kit.server, { host: "127.0.0.1", port: 0 });
  onTestFinished(() => listening.close());
  return {
    ...kit,
    listening,
    url: listening.url,
    open: (path, how) => openPage(kit, listening.url, path, how),
  };
}

/** A console on a store in a file, and a home that processes share with it. */
export async function onDisk(): Promise<{ readonly console: Console; readonly folder: string }> {
  const temporary = new TemporaryDirectory();
  onTestFinished(() => temporary.remove());
  const folder = temporary.path;
  const home = join(folder, "redrive");
  mkdirSync(home);
  const console = await openConsole({ url: `sqlite:${join(home, "redrive.db")}`, home });
  return { console, folder };
}

async function openPage(kit: Kit, url: string, path = "/", options: OpenOptions = {}): Promise<Page> {
  const { role = "operator", width = 1440, height = 900, colorScheme = "light", expectedErrors } = options;
  if (browser === undefined) throw new Error("Call useBrowser() in the test file.");
  const context: BrowserContext = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.REDRIVE_TEST_TIMEOUT_MS ?? 60_000));
  const errors: string[] = [];
  const report = (text: string) => {
    if (!expectedErrors?.test(text)) errors.push(text);
  };
  page.on("pageerror", (error) => report(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") report(message.text());
  });
  onTestFinished(async () => {
    await context.close();
    expect(errors, "errors in the browser's console").toEqual([]);
  });
  if (role !== "nobody") {
    const response = await context.request.post(`${url}/api/v1/session`, {
      data: { token: await kit.tokenFor(role) },
    });
    expect(response.status()).toBe(200);
  }
  await page.goto(url + path);
  return page;
}

/** Presses keys one after another. */
export async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

const TABS_MAX = 100;

/** Moves the focus with Tab alone until it is on the button. */
export async function tabTo(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name }).first().waitFor();
  for (let tabs = 0; tabs < TABS_MAX; tabs++) {
    if (String(await page.evaluate("document.activeElement.textContent")).startsWith(name)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${name}`);
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds wrong on the page, as `rule: selector`. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: {
        run(): Promise<{
          violations: { id: string; nodes: { target: string[]; failureSummary?: string }[] }[];
        }>;
      };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(" ")}`));
  });
}
