/** What the page keeps in memory while events arrive. An hour of refreshes is shortened by a clock that the test moves. */
import { expect, test } from "vitest";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

const HEAP_BYTES_MAX = 200_000_000;
/** A page refreshes at most once a second. The growth of these is counted for an hour. */
const REFRESHES = Number(process.env.REDRIVE_TEST_REFRESHES ?? 40);
const REFRESHES_PER_HOUR = 3600;

test("an hour of live updates keeps the page below 200 MB", async () => {
  const console = await openConsole();
  const { engine } = console;
  const items = Array.from({ length: 200 }, (_, index) => ({
    key: `o-${index}`,
    data: { bad: `error of kind ${"abcdefgh"[index % 8]} in the shop`, index },
  }));
  await queueWithLetters(engine, "orders", items);
  const [group] = await engine.listGroups({});
  const page = await console.open("/");
  await page.clock.install();
  await page.reload();
  await page.getByText("● Live").waitFor();
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize;
  };
  let reads = 0;
  page.on("response", (response) => {
    if (response.url().includes("/groups?")) reads += 1;
  });
  const refresh = async (number: number) => {
    await engine.changeGroup(String(group?.signature), { author: "ann", note: `note ${number}` });
    const before = reads;
    await expect
      .poll(
        async () => {
          await page.clock.runFor(1000);
          return reads > before;
        },
        { interval: 5, timeout: 60_000 },
      )
      .toBe(true);
  };
  for (let number = 0; number < REFRESHES / 2; number++) await refresh(number);
  const before = await heap();
  for (let number = 0; number < REFRESHES / 2; number++) await refresh(number);
  const after = await heap();
  const perRefresh = Math.max(0, after - before) / (REFRESHES / 2);
  expect(after + perRefresh * REFRESHES_PER_HOUR).toBeLessThan(HEAP_BYTES_MAX);
});
