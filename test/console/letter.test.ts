/** The page of a letter: what an attempt left behind, and what changed between attempts and revisions. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import { addItems } from "../../src/queue/add-items.ts";
import { createQueue } from "../../src/queue/queue-settings.ts";
import { Worker } from "../../src/queue/worker.ts";
import { evidenceFolder } from "../../src/store/home.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC";

const SCHEMA = {
  type: "object",
  properties: { total: { type: "number" }, country: { enum: ["PT", "ES"] } },
};

/** A letter with two different attempts, a stack trace with frames of libraries, and a screenshot. */
async function withLetter() {
  const console = await openConsole();
  const { engine, home } = console;
  const picture = join(home, "screen.png");
  writeFileSync(picture, Buffer.from(PIXEL, "base64"));
  const handler: Handler = async (_item, { attempt, evidence }) => {
    evidence(picture);
    const error = new Error(`the bank answered 50${attempt}`);
    const frames = [
      "charge (/srv/shop/src/pay.js:42:11)",
      "send (/srv/shop/node_modules/http/index.js:1:1)",
      "run (node:internal/process/task_queues:95:5)",
    ];
    error.stack = [String(error), ...frames.map((frame) => `    at ${frame}`)].join("\n");
    throw error;
  };
  const backoff = { kind: "fixed", delayMs: 1, jitter: false } as const;
  await createQueue(engine, "orders", { maxRetries: 1, backoff, schema: SCHEMA });
  await addItems(engine, "orders", [{ key: "o-1", data: { total: 5, country: "PT" } }]);
  const folder = evidenceFolder(home, engine.url);
  await new Worker(engine, "orders", { handler, untilEmpty: true, evidenceFolder: folder }).ended;
  return console;
}

test("attempts are compared, frames of libraries are folded, and evidence is shown", async () => {
  const console = await withLetter();
  const page = await console.open("/letters/orders/o-1");
  await page.getByText("charge (/srv/shop/src/pay.js:42:11)").waitFor();
  await page.getByText("2 lines of libraries").waitFor();
  expect(await page.getByText("node_modules/http").first().isVisible()).toBe(false);
  await page.getByText("2 lines of libraries").click();
  expect(await page.getByText("node_modules/http").first().isVisible()).toBe(true);

  await page.getByLabel("Compare with the previous attempt").check();
  const message = page.getByRole("row", { name: "Message" });
  expect(await message.textContent()).toBe("Messagethe bank answered 501the bank answered 502");
  expect(await page.getByRole("row", { name: "Type" }).textContent()).toContain("the same");

  const picture = page.getByRole("img", { name: "screen.png" }).first();
  await picture.waitFor();
  expect(await picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBe(
    10,
  );
});

test("data that violates the schema is marked at its position, and a revision shows its changes", async () => {
  const console = await withLetter();
  const page = await console.open("/letters/orders/o-1", { expectedErrors: /422/u });
  await page.getByRole("button", { name: "Edit data" }).click();
  const editor = page.getByRole("textbox", { name: "Data as JSON" });
  const type = async (text: string) => {
    await editor.press("Control+a");
    await page.keyboard.type(text);
  };
  await type('{ "total": 5, "country": "FR" }');
  await page.getByRole("alert").getByText("country is none of").waitFor();
  expect(await page.locator(".cm-lintRange-error").textContent()).toBe('"FR"');
  expect(await page.getByRole("button", { name: "Save and retry…" }).isDisabled()).toBe(true);

  await type('{ "total": 5, "country": "ES" }');
  await page.getByRole("list", { name: "Differences" }).getByText('"ES"').waitFor();
  await page.getByRole("button", { name: "Save and retry…" }).click();
  await page.getByText("1 letter will be retried").waitFor();
  await page.keyboard.press("Escape");
  const revisions = page.getByRole("region", { name: "Earlier revisions" });
  await revisions.getByText("Since revision 1").waitFor();
  expect(await revisions.getByRole("list", { name: "Differences" }).textContent()).toBe('country: "PT" "ES"');
});
