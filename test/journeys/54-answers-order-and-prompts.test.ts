/** Answers of a validation, sort keys, and variables of a prompt. */
import { describe, expect, it } from "vitest";
import { itemsJson, ONE_TRY, openFolder, plainMap } from "./project.ts";
import type { ErrorJson } from "./workshop.ts";

describe("validate by an agent", () => {
  it("accepts no answer as complete that does not say so", async () => {
    const folder = openFolder(
      itemsJson(
        { id: "fence", reply: '```json\n{"score": 40, "missing": ["tests"]}\n```' },
        { id: "prose", reply: "Everything looks complete." },
        { id: "good", reply: '{"score": "95"} as far as I can see' },
      ),
    );
    const validate = { claude: "judge it", env: { FAKE_REPLY: "${item.reply}" }, threshold: 80 };
    const summary = await folder.runJson({
      map: plainMap([{ shell: "true", validate }]),
      error_policy: ONE_TRY,
    });
    expect(summary).toMatchObject({ succeeded: 1, dead: 2 });
    const messages = (await folder.letters()).map(({ item_id, failure_history: [failure] }) => [
      item_id,
      failure?.error_type,
      failure?.error_message,
    ]);
    expect(messages.sort()).toEqual([
      ["fence", "ValidationFailed", "the work is 40 % complete, but 80 % is required; missing: tests"],
      ["prose", "ValidationFailed", expect.stringContaining("the output of the validation cannot be read")],
    ]);
  });
});

describe("sort_by", () => {
  const ITEMS = itemsJson(
    { id: "low", priority: 1 },
    { id: "high", priority: 9 },
    { id: "mid", priority: 5 },
  );
  const first = (sort_by: string) => ({
    map: plainMap("echo ${item.id} >> $L", { sort_by, max_items: 1 }),
  });

  it("finds a field after item., so that max_items takes the right ones", async () => {
    const folder = openFolder(ITEMS);
    expect((await folder.runWorkflow(first("item.priority DESC"))).code).toBe(0);
    expect(folder.ledger).toEqual(["high"]);
  });

  it("refuses a field that no item has, with a suggestion", async () => {
    const folder = openFolder(ITEMS);
    const { code, json } = await folder.runWorkflow(first("item.priorty DESC"), ["--json"]);
    expect(code).toBe(2);
    expect(json<ErrorJson>().error).toMatchObject({
      message: 'sort_by: no item has the field "item.priorty".',
      hint: "Did you mean priority?",
    });
    expect(folder.ledger).toEqual([]);
  });
});

describe("a prompt", () => {
  it("has the value of $NAME from env, like a script", async () => {
    const folder = openFolder(itemsJson("a"));
    const { code } = await folder.runWorkflow({
      env: { STYLE: "plain", FAKE_AGENT: "note-prompt" },
      map: plainMap([{ claude: "/write $STYLE text about ${item.id}" }, { shell: 'echo "$STYLE" >> $L' }]),
    });
    expect([code, folder.ledger]).toEqual([0, ["plain"]]);
    expect(folder.get("prompt.txt")).toBe("/write plain text about a");
  });
});
