/** How much a browser loads before it shows the first page. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

const FIRST_LOAD_BYTES_MAX = 170_000;

test("the first page loads at most 170 kB of gzipped JavaScript, and no editor", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", [{ key: "o-1", data: { bad: "the bank refused" } }]);
  const page = await console.open("/", { role: "nobody", expectedErrors: /401/u });
  const loaded = new Map<string, Promise<Buffer>>();
  page.on("response", (response) => {
    if (response.url().endsWith(".js")) loaded.set(response.url(), response.body());
  });
  await page.getByLabel("Token").fill(await console.tokenFor("viewer"));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("the bank refused").first().waitFor();
  await page.reload();
  await page.getByText("the bank refused").first().waitFor();
  const bodies = await Promise.all(loaded.values());
  expect(bodies.length).toBeGreaterThan(3);
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX);
  expect([...loaded.keys()].filter((url) => url.includes("editor"))).toEqual([]);
});
