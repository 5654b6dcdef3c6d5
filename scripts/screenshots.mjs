/** Makes the screenshots of the documentation anew, from the demo of the console: `node scripts/screenshots.mjs`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";

const FOLDER = "docs/images";
const SHOTS = [
  { name: "overview", path: "/", ready: "Bad Gateway" },
  {
    name: "group",
    path: "/groups",
    ready: "Bad Gateway",
    open: "Bad Gateway",
    shows: "Why these letters are grouped",
  },
  {
    name: "letter",
    path: "/letters?queue=payments&q=VAT",
    ready: "no VAT id",
    open: "order-",
    shows: "Attempts (",
  },
  {
    name: "retry",
    path: "/letters?queue=payments",
    ready: "Bad Gateway",
    press: "r",
    shows: "will be retried",
  },
  {
    name: "job",
    path: "/jobs",
    ready: "thumbnails",
    open: "thumbnails-",
    shows: "items per minute",
  },
];

const demo = spawn(process.execPath, ["dist/cli/main.cjs", "demo", "--console", "--no-browser"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const lines = createInterface({ input: demo.stdout });
const [line] = await once(lines, "line");
const link = new URL(/http:\S+/.exec(line)[0]);
const browser = await playwright.launch({
  executablePath: process.env.REDRIVE_TEST_CHROME ?? (await chromium.executablePath()),
  args: ["--no-sandbox"],
});
mkdirSync(FOLDER, { recursive: true });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 760 } });
  await page.goto(link.href);
  for (const { name, path, ready, open, press, shows } of SHOTS) {
    await page.goto(link.origin + path);
    await page.getByText(ready).first().waitFor();
    if (open !== undefined) await page.getByText(open).first().click();
    if (press !== undefined) await page.keyboard.press(press);
    if (shows !== undefined) await page.getByText(shows).first().waitFor();
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
  }
} finally {
  await browser.close();
  demo.kill("SIGTERM");
}
