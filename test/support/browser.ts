/** Vitest global setup: starts one browser for all test files that need one. Unpacking and starting Chromium takes seconds. */
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The address that Playwright connects to. */
    readonly browser: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await playwright.launchServer({
    executablePath: process.env.REDRIVE_TEST_CHROME ?? (await chromium.executablePath()),
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"],
    headless: true,
  });
  project.provide("browser", server.wsEndpoint());
  return () => server.close();
}
