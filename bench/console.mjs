/**
 * Benchmarks the console in a real browser on a store with many letters: the time from a click to the content of every page, and
 * the frames per second while a list of 100,000 rows is scrolled. Run: node bench/console.mjs [LETTERS] [ROWS] [ROUNDS]
 * (default 1000000, 100000, 3), after a build. REDRIVE_BENCH_STORE names a store of an earlier run.
 */
import { once } from "node:events";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { chromium as playwright } from "playwright-core";
import { percentile, say, withFolder } from "./kit.mjs";
import { openOrFill, printed, start } from "./letter-server.mjs";

const LETTERS = Number(process.argv[2] ?? 1_000_000);
const ROWS = Number(process.argv[3] ?? 100_000);
const ROUNDS = Number(process.argv[4] ?? 3);
const SCROLL_FRAMES = 240;
const SCROLL_PX = 400;

/** The link of the navigation, and what shows that the page has its content. */
const PAGES = [
  ["Overview", "role=table >> role=row >> nth=3"],
  ["Groups", "role=table >> role=row >> nth=3"],
  ["Letters", "role=table >> role=row >> nth=3"],
  ["Operations", "text=Nothing was changed yet."],
  ["Errors", "role=table >> role=row >> nth=3"],
  ["Jobs", "role=table >> role=row >> nth=3"],
  ["Queues", "text=There are no queues."],
  ["Workers", "role=heading[name=Workers]"],
  ["Schedules", "text=There are no schedules."],
  ["Receipts", "text=There are no receipt targets."],
  ["Alerts", "main >> role=rowgroup >> nth=1"],
  ["Audit", "main >> role=rowgroup >> nth=1"],
  ["Tokens", "main >> role=rowgroup >> nth=1"],
];

/** A page behind a row of a list: the list, the link in it, and the last panel that the page shows. */
const DETAILS = [
  ["Groups", "a[href*='/groups/'] >> nth=-1", "Letters over time"],
  ["Letters", "a[href*='/letters/'] >> nth=-1", "Attempts ("],
  ["Jobs", "a[href*='/jobs/'] >> nth=-1", "items"],
];

await withFolder(async (folder) => {
  const url = process.env.REDRIVE_BENCH_STORE ?? `sqlite:${join(folder, "letters.db")}`;
  say(`${LETTERS} letters are made`);
  const { engine } = await openOrFill(url, LETTERS);
  await engine.close();
  const env = { ...process.env, REDRIVE_HOME: folder, REDRIVE_STORE: url };
  const token = await printed(env, ["token", "create", "--name", "bench", "--role", "admin"]);
  const server = await start(env);
  const browser = await playwright.launch({
    executablePath: process.env.REDRIVE_TEST_CHROME ?? (await chromium.executablePath()),
    args: ["--no-sandbox"],
  });
  try {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    await context.request.post(`${server.origin}/api/v1/session`, { data: { token } });
    const page = await context.newPage();
    const figures = {
      letters: LETTERS,
      pages_ms: await clicks(page, server.origin),
      scroll: await scroll(page, server.origin),
    };
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    await browser.close();
    server.child.kill("SIGTERM");
    await once(server.child, "exit");
  }
});

/** Every page is opened by a click after a new load, so that nothing was read before. */
async function clicks(page, origin) {
  const times = {};
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, content] of PAGES) {
      await page.goto(`${origin}${name === "Tokens" ? "/audit" : "/tokens"}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      const link = page.getByRole("navigation").getByRole("link", { name: new RegExp(`^${name}`) });
      await note(times, name, link, page.locator(content).first());
    }
    for (const [list, link, content] of DETAILS) {
      await page.goto(`${origin}/${list.toLowerCase()}`);
      await page.locator(link).waitFor();
      await note(times, `one of ${list}`, page.locator(link), page.getByText(content).first());
    }
  }
  return Object.fromEntries(
    Object.entries(times).map(([name, all]) => [name, Math.round(percentile(all, 50))]),
  );
}

async function note(times, name, link, content) {
  const began = performance.now();
  await link.click();
  await content.waitFor();
  times[name] = [...(times[name] ?? []), performance.now() - began];
}

/** Reads rows until the list has as many as asked for, then scrolls back and counts frames. */
async function scroll(page, origin) {
  await page.goto(`${origin}/letters`);
  await page.getByRole("table").waitFor();
  const read = await page.evaluate(async (wanted) => {
    const table = document.querySelector("[role=table]");
    const list = table.querySelector("[role=rowgroup]:last-child");
    const rows = () => Number(table.getAttribute("aria-rowcount")) - 1;
    for (
      let last = 0, same = 0;
      rows() < wanted && same < 500;
      same = rows() === last ? same + 1 : 0, last = rows()
    ) {
      list.scrollTop = list.scrollHeight;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return rows();
  }, ROWS);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await cpuSeconds(session);
  const frames = await page.evaluate(
    ([count, pixels]) =>
      new Promise((resolve) => {
        const list = document.querySelector("[role=table] [role=rowgroup]:last-child");
        const gaps = [];
        let last = performance.now();
        const frame = (now) => {
          gaps.push(now - last);
          last = now;
          list.scrollTop -= pixels;
          if (gaps.length < count) requestAnimationFrame(frame);
          else resolve(gaps.slice(1));
        };
        requestAnimationFrame(frame);
      }),
    [SCROLL_FRAMES, SCROLL_PX],
  );
  const total = frames.reduce((sum, gap) => sum + gap, 0);
  return {
    rows: read,
    frames_per_second: Math.round((frames.length / total) * 10_000) / 10,
    p99_frame_ms: Math.round(percentile(frames, 99)),
    cpu_ms_per_frame: Math.round((((await cpuSeconds(session)) - before) / frames.length) * 10_000) / 10,
  };
}

/** The CPU time of the page's main thread, which other load on the machine does not change. */
async function cpuSeconds(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}
