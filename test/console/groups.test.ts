/** Groups: the inbox in order, what the letters of a group share, and how groups are ignored, merged and split. */
import { expect, test } from "vitest";
import { queueWithLetters } from "../server/kit.ts";
import { type Console, openConsole, useBrowser } from "./kit.ts";

useBrowser();

async function withGroups(): Promise<{ console: Console; signatureOf(title: string): Promise<string> }> {
  const console = await openConsole();
  await queueWithLetters(console.engine, "orders", [
    { key: "o-1", data: { bad: "the bank refused the payment", country: "PT" } },
    { key: "o-2", data: { bad: "the bank refused the payment", country: "PT" } },
    { key: "o-3", data: { bad: "the bank refused the payment", country: "ES" } },
    { key: "o-4", data: { bad: "the bank refused the whole payment", country: "PT" } },
    { key: "o-5", data: { bad: "no such customer", country: "PT" } },
  ]);
  const signatureOf = async (title: string) =>
    String((await console.engine.listGroups({})).find(({ pattern }) => pattern.includes(title))?.signature);
  return { console, signatureOf };
}

test("the inbox is searched on the server, and a value that letters share leads to them", async () => {
  const { console, signatureOf } = await withGroups();
  const page = await console.open("/groups");
  const titles = () => page.getByRole("row").locator("a[href*='/groups/']").allTextContents();
  await expect.poll(async () => (await titles()).length).toBe(3);
  await page.getByLabel("Search titles").fill("customer");
  await expect.poll(async () => (await titles()).length).toBe(1);

  await page.goto(`${console.url}/groups/${await signatureOf("the payment")}`);
  await page.getByText("2 of 3").waitFor();
  await page.getByRole("link", { name: "PT", exact: true }).click();
  await page.getByText("2 letters", { exact: true }).waitFor();
  expect(await page.getByLabel(/CEL filter/u).inputValue()).toBe('item.country == "PT"');
});

test("a group is merged into a similar one, and the merge can be removed", async () => {
  const { console, signatureOf } = await withGroups();
  const page = await console.open(`/groups/${await signatureOf("whole")}`);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Merge into another group…" }).click();
  await page.getByRole("radio", { name: /refused the payment/u }).check();
  await page.getByRole("button", { name: "Merge 1 letter" }).click();
  await page.getByRole("heading", { level: 1, name: /refused the payment/u }).waitFor();
  await page.getByText("4 waiting letters").waitFor();
  await page.getByText("All letters of").waitFor();
  await page.getByRole("button", { name: "Remove" }).click();
  await page.getByText("All letters of").waitFor({ state: "detached" });
});

test("a split shows how many letters would move, and opens the new group", async () => {
  const { console, signatureOf } = await withGroups();
  const page = await console.open(`/groups/${await signatureOf("the payment")}`);
  await page.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Split off letters…" }).click();
  await page.getByLabel("Text in the message").fill("refused");
  await page.getByText("3 letters of 3 would move.").waitFor();
  await page.getByLabel("Name of the new group").fill("refusals");
  await page.getByRole("button", { name: "Split", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "refusals" }).waitFor();
});

test("a group is ignored until letters come", async () => {
  const { console, signatureOf } = await withGroups();
  const signature = await signatureOf("customer");
  const page = await console.open(`/groups/${signature}`);
  await page.getByRole("button", { name: "Ignore…" }).click();
  await page.getByLabel("Until this many new letters have arrived").fill("1");
  await page.getByText(`redrive groups ignore ${signature} --count 1`, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Ignore", exact: true }).click();
  await page.getByText(/○ignored$/u).waitFor();
  await queueWithLetters(console.engine, "refunds", [{ key: "r-1", data: { bad: "no such customer" } }]);
  await page.getByText("2 waiting letters").waitFor();
  await page.getByText(/●open$/u).waitFor();
});

test("a group is assigned to oneself and to somebody else, and the inbox shows one's own", async () => {
  const { console, signatureOf } = await withGroups();
  const page = await console.open(`/groups/${await signatureOf("customer")}`);
  await page.getByRole("button", { name: "Assign" }).click();
  await page.getByRole("menuitem", { name: "To me (operator)" }).click();
  await page.getByText("assigned to operator", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Groups" }).click();
  await page.getByText("@operator").waitFor();
  await page.getByLabel("Assignee").selectOption("operator");
  await page.waitForURL(/assignee=operator/u);
  await page.getByText("redrive groups --assignee operator", { exact: true }).waitFor();
  await expect.poll(() => page.getByRole("row").locator("a[href*='/groups/']").count()).toBe(1);
  await page.getByRole("link", { name: /no such customer/u }).click();
  await page.getByRole("button", { name: "Assign" }).click();
  await page.getByRole("menuitem", { name: "To somebody else…" }).click();
  await page.getByLabel("Person").fill("vera");
  await page.getByRole("dialog").getByRole("button", { name: "Assign", exact: true }).click();
  await page.getByText("assigned to vera", { exact: true }).waitFor();
});
