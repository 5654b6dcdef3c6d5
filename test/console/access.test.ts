/** Who may see and do what, and what happens without a connection. */
import { expect, test } from "vitest";
import { listen } from "../../src/server/listen.ts";
import { queueWithLetters } from "../server/kit.ts";
import { openConsole, useBrowser } from "./kit.ts";

useBrowser();

const LETTERS = [{ key: "o-1", data: { bad: "the bank refused" } }];

test("a wrong token is refused, a right one logs in", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", LETTERS);
  const page = await console.open("/letters", { expectedErrors: /401/u });
  await page.context().clearCookies();
  await page.reload();
  await page.getByRole("heading", { name: "Log in to Redrive" }).waitFor();
  await page.getByLabel("Token").fill("rdr_wrong");
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(await console.tokenFor("viewer", "vera"));
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("vera · viewer").waitFor();
  await page.getByText("the bank refused").first().waitFor();
});

test("a viewer sees letters and no action that changes them", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", LETTERS);
  const page = await console.open("/letters/orders/o-1", { role: "viewer" });
  await page.getByRole("heading", { name: "o-1" }).waitFor();
  await page.keyboard.press("r");
  for (const name of ["Retry…", "Edit data", "Discard…", "Add note"])
    expect(await page.getByRole("button", { name }).count(), name).toBe(0);
  expect(await page.getByRole("link", { name: "Tokens" }).count()).toBe(0);
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("a lost connection is shown, and new letters after it comes back", async () => {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", LETTERS);
  const page = await console.open("/letters", { expectedErrors: /ERR_|Failed to load/u });
  await page.getByText("● Live").waitFor();
  const { port } = new URL(console.url);
  await console.listening.close();
  await page.getByText("Connection lost").waitFor();
  await queueWithLetters(console.engine, "mails", [{ key: "m-1", data: { bad: "no such mailbox" } }]);
  const again = await openConsole({ engine: console.engine });
  const second = await listen(again.server, { host: "127.0.0.1", port: Number(port) });
  await page.getByText("● Live").waitFor();
  await page.getByText("no such mailbox").first().waitFor();
  await second.close();
});

test("hostile data is shown as text", async () => {
  const console = await openConsole();
  const hostile = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>\u001b[2J\u202egnp.exe`;
  await queueWithLetters(console.engine, "orders", [
    { key: hostile.slice(0, 60), data: { bad: hostile, html: hostile } },
    { key: "big", data: { bad: "too big", text: "x".repeat(5_000_000) } },
  ]);
  const page = await console.open("/letters");
  await page.getByText("<img src=x").first().click();
  await page.getByText("Attempts (1)").waitFor();
  expect(await page.title()).toBe("Redrive");
  expect(await page.locator("img[src=x]").count()).toBe(0);
  await page.getByText("\\u202egnp.exe").first().waitFor();
  await page.goto(`${console.url}/letters/orders/big`);
  await page.getByText("Data (5.0 MB)").waitFor();
});
