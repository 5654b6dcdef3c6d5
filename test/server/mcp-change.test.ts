/** Agents that change letters over HTTP: two steps, reasons, the canary, undo, notes, the audit, and the whole journey. */
import { describe, expect, test } from "vitest";
import type { Handler } from "../../src/attempt/handler.ts";
import { addItems } from "../../src/queue/add-items.ts";
import { Worker } from "../../src/queue/worker.ts";
import { listAudit } from "../../src/server/audit.ts";
import { failing, queueWithLetters, work } from "./kit.ts";
import { type AgentKit, agentKit, type Fields, type TestAgent } from "./mcp-kit.ts";

async function withLetters(count = 3): Promise<AgentKit & { readonly bot: TestAgent }> {
  const kit = await agentKit({ allowsAgentChanges: true });
  await queueWithLetters(
    kit.engine,
    "orders",
    Array.from({ length: count }, (_, index) => ({ key: `o-${index}`, data: { bad: "no country", index } })),
  );
  return { ...kit, bot: await kit.agent("operator", "bot") };
}

const ALL = { filter: { queue: "orders" }, all_of_queue: true, reason: "the cause is gone" };
const reason = "checked the samples";

/** Previews and starts a change, and waits for its end. */
async function change(bot: TestAgent, request: Fields): Promise<Fields> {
  const { facts } = await bot.ask("preview_change", request);
  const { selection_id, count } = facts;
  const started = await bot.ask("start_change", { selection_id, count, reason });
  const { operation_id } = started.facts;
  return (await bot.ask("watch_operation", { operation_id, wait_seconds: 30 })).facts;
}

describe("a change", () => {
  test("takes two steps: the preview changes nothing, the start needs id, count and reason", async () => {
    const { bot, engine } = await withLetters();
    const { facts, untrusted } = await bot.ask("preview_change", { action: "discard", ...ALL });
    expect(facts).toMatchObject({ action: "discard", count: 3, refused: 0, canary_needed: false });
    expect(untrusted.samples).toMatchObject([{ item_id: "o-0" }, { item_id: "o-1" }, { item_id: "o-2" }]);
    expect((await engine.count("orders")).dead).toBe(3);
    const { selection_id, count } = facts;
    for (const [input, error] of [
      [{ selection_id, count }, "request_invalid"],
      [{ selection_id, reason }, "request_invalid"],
      [{ selection_id, count: 2, reason }, "selection_changed"],
      [{ selection_id: "op-unknown1", count, reason }, "operation_not_found"],
    ] as const)
      expect(await bot.call("start_change", input)).toMatchObject({ isError: true, facts: { error } });
    expect((await engine.count("orders")).dead).toBe(3);
    const started = await bot.ask("start_change", { selection_id, count, reason });
    expect(started.facts).toMatchObject({ kind: "discard", selected: 3, operation_id: selection_id });
    const ended = await bot.ask("watch_operation", { operation_id: selection_id, wait_seconds: 30 });
    expect(ended.facts).toMatchObject({ status: "ended", done: 3 });
    expect((await engine.count("orders")).discarded).toBe(3);
    const again = await bot.call("start_change", { selection_id, count, reason });
    expect(again).toMatchObject({ isError: true, facts: { error: "selection_used" } });
  });

  test("is not started if a letter has changed since the preview", async () => {
    const { bot, engine } = await withLetters();
    const { facts } = await bot.ask("preview_change", { action: "retry", ...ALL });
    await change(bot, { action: "edit", ...ALL, edit: { patch: { country: "DE" } } });
    const { selection_id, count } = facts;
    const stale = await bot.call("start_change", { selection_id, count, reason });
    expect(stale).toMatchObject({ isError: true, facts: { error: "selection_changed" } });
    expect((await engine.count("orders")).dead).toBe(3);
  });

  test("of another agent cannot be started", async () => {
    const { bot, agent } = await withLetters();
    const { facts } = await bot.ask("preview_change", { action: "discard", ...ALL });
    const { selection_id, count } = facts;
    const other = await agent("operator", "other");
    const foreign = await other.call("start_change", { selection_id, count, reason });
    expect(foreign).toMatchObject({ isError: true, facts: { error: "forbidden" } });
  });

  test.each([
    ["without a condition", { action: "retry", filter: { queue: "orders" }, reason }, "selection_unbounded"],
    ["without a reason", { action: "retry", filter: { queue: "orders", ids: ["o-1"] } }, "request_invalid"],
    ["that deletes", { action: "purge", ...ALL }, "request_invalid"],
    ["that clears", { action: "clear", ...ALL }, "request_invalid"],
  ])("%s is refused", async (_, request, error) => {
    const { bot, engine } = await withLetters();
    expect(await bot.call("preview_change", request)).toMatchObject({ isError: true, facts: { error } });
    expect(await engine.listOperations({})).toEqual([]);
  });

  test("that retries more than 10 letters needs a canary; with one it starts", async () => {
    const { bot, engine } = await withLetters(11);
    const { facts } = await bot.ask("preview_change", { action: "retry", ...ALL });
    expect(facts).toMatchObject({ count: 11, canary_needed: true, workers: 0 });
    const { selection_id, count } = facts;
    const refused = await bot.call("start_change", { selection_id, count, reason });
    expect(refused).toMatchObject({ isError: true, facts: { error: "refused" } });
    expect(refused.facts.message).toContain("canary");
    const large = await bot.ask("preview_change", { action: "retry", ...ALL, canary: 11 });
    expect(large.facts).toMatchObject({ canary_needed: true });
    const started = { selection_id: large.facts.selection_id, count, reason };
    expect(await bot.call("start_change", started)).toMatchObject({ facts: { error: "refused" } });
    const small = await bot.ask("preview_change", { action: "retry", ...ALL, canary: 10 });
    expect(small.facts).toMatchObject({ canary_needed: false });
    expect((await engine.count("orders")).dead).toBe(11);
    const worker = new Worker(engine, "orders", { handler: async () => ({ kind: "succeeded" }) });
    const ended = await change(bot, { action: "retry", ...ALL, canary: true });
    await worker.stop();
    expect(ended).toMatchObject({ status: "ended", canary: true, succeeded: 11 });
    expect((await engine.count("orders")).done).toBe(11);
  });

  test("can be undone; an open retry is cancelled", async () => {
    const { bot, engine } = await withLetters();
    const discarded = await change(bot, { action: "discard", ...ALL });
    const undone = await bot.ask("undo_operation", { operation_id: discarded.operation_id });
    expect(undone.facts).toMatchObject({ undoes: discarded.operation_id, done: 3 });
    expect((await engine.count("orders")).dead).toBe(3);
    const { facts } = await bot.ask("preview_change", { action: "retry", ...ALL, canary: true });
    const { selection_id, count } = facts;
    await bot.ask("start_change", { selection_id, count, reason }); // no worker runs, so the canary waits
    const cancelled = await bot.ask("undo_operation", { operation_id: selection_id });
    expect(cancelled.facts).toMatchObject({ operation_id: selection_id, status: "cancelled" });
    const twice = await bot.call("undo_operation", { operation_id: "op-unknown1" });
    expect(twice).toMatchObject({ isError: true, facts: { error: "operation_not_found" } });
  });
});

describe("a note", () => {
  test("is kept with the letter, and with a group that it may resolve", async () => {
    const { bot, engine } = await withLetters();
    const o1 = { queue: "orders", item_id: "o-1" };
    const noted = await bot.ask("write_note", { ...o1, text: "country is missing" });
    expect(noted.untrusted.notes).toMatchObject([{ author: "bot via mcp", text: "country is missing" }]);
    const [group] = (await bot.ask("list_groups")).facts.groups;
    await bot.ask("write_note", { group: group.signature, text: "importer bug" });
    expect(await engine.readGroup(group.signature)).toMatchObject({ state: "open" });
    const resolved = await bot.ask("write_note", { group: group.signature, text: "fixed", resolve: true });
    expect(resolved.facts.group).toMatchObject({ signature: group.signature, state: "resolved" });
    const { notes } = resolved.untrusted.group;
    expect(notes.map(({ text }: Fields) => text)).toEqual(["importer bug", "fixed"]);
    for (const wrong of [
      {},
      { queue: "orders" },
      { ...o1, resolve: true },
      { ...o1, group: group.signature },
    ])
      expect(await bot.call("write_note", { text: "x", ...wrong })).toMatchObject({
        isError: true,
        facts: { error: "refused" },
      });
  });
});

/** Fails without a country. */
const needsCountry: Handler = async (item) =>
  (item.data as Fields).country === undefined ? failing(item, undefined as never) : { kind: "succeeded" };

test("the journey: fail, group, explain, edit, canary retry, undo, discard, audit", async () => {
  const { bot, engine } = await withLetters(3);
  await addItems(engine, "orders", [{ key: "old", data: { bad: "shop is closed" } }]);
  await work(engine, "orders", needsCountry);
  expect((await bot.ask("overview")).facts.queues).toMatchObject([{ queue: "orders", dead_letters: 4 }]);

  const { groups } = (await bot.ask("list_groups", { queue: "orders" })).facts;
  expect(groups).toMatchObject([{ count: 3 }, { count: 1 }]);
  const [large, small] = groups;
  const explained = await bot.ask("explain_group", { group: large.signature });
  expect(explained.untrusted.group.pattern).toContain("no country");

  const filter = { queue: "orders", group: [large.signature] };
  const patch = { country: "DE" };
  const previewed = await bot.ask("preview_edit", { queue: "orders", item_id: "o-1", patch });
  expect(previewed.untrusted.changes).toEqual([{ path: "country", after: "DE" }]);
  const edited = await change(bot, { action: "edit", filter, edit: { patch }, reason });
  expect(edited).toMatchObject({ status: "ended", done: 3 });

  const worker = new Worker(engine, "orders", { handler: needsCountry });
  const two = { queue: "orders", ids: ["o-0", "o-1"] };
  const retried = await change(bot, { action: "retry", filter: two, canary: true, reason });
  await worker.stop();
  expect(retried).toMatchObject({ status: "ended", succeeded: 2, failed: 0 });

  const undone = await bot.ask("undo_operation", { operation_id: edited.operation_id });
  expect(undone.facts).toMatchObject({ undoes: edited.operation_id, done: 1, refused: 2 });
  const { untrusted } = await bot.ask("inspect_letter", { queue: "orders", item_id: "o-2" });
  expect(untrusted.item_data).not.toHaveProperty("country");

  const old = { queue: "orders", group: [small.signature] };
  const discarded = await change(bot, {
    action: "discard",
    filter: old,
    reason: "closed shops need no orders",
  });
  expect(discarded).toMatchObject({ status: "ended", done: 1 });
  expect(await engine.count("orders")).toMatchObject({ done: 2, dead: 1, discarded: 1 });

  const { entries } = (await listAudit(engine, { limit: 50 })) as { readonly entries: readonly Fields[] };
  const actions = entries
    .filter(({ author, via }) => author === "bot" && via === "mcp")
    .map(({ action }) => action);
  expect(actions).toEqual(
    expect.arrayContaining([
      "operation_started",
      "dlq_item_amended",
      "dlq_items_reprocessed",
      "dlq_items_discarded",
    ]),
  );
  const [start] = entries.filter(({ action }) => action === "operation_started");
  expect(start?.data).toMatchObject({ details: { operation_id: discarded.operation_id, reason } });
});
