/** The routes that look after the store and the machine: fixes, limits, worktrees, and receipt targets. */
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type Config, DEFAULT_CONFIG } from "../../src/config/settings.ts";
import { Target } from "../../src/delivery/target.ts";
import type { Engine } from "../../src/engine.ts";
import type { FixRule } from "../../src/redrive/fix.ts";
import { listAudit } from "../../src/server/audit.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { put, Workshop } from "../workspace/repo-kit.ts";
import { queueWithLetters, serverKit } from "./kit.ts";

const RULE: FixRule = {
  name: "country",
  match: { filter: {}, where: 'item.bad == "no country"' },
  change: { kind: "set", set: { country: '"DE"' } },
  usesMax: 3,
  auto: false,
};
const COMMAND: FixRule = {
  ...RULE,
  name: "program",
  change: { kind: "command", command: ["true"], cwd: "/", timeoutMs: 1000 },
};

async function withLetters(config: Partial<Config> = {}) {
  const kit = await serverKit({ config: async () => ({ ...DEFAULT_CONFIG, ...config }) });
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "no country" } },
    { key: "o-2", data: { bad: "the shop is closed" } },
  ]);
  return { ...kit, operator: await kit.as("operator", "olga"), admin: await kit.as("admin", "ada") };
}

async function actionsOf(engine: Engine, author: string): Promise<readonly unknown[]> {
  const { entries } = await listAudit(engine, { limit: 100, author });
  return (entries as unknown as readonly { readonly action: string }[]).map(({ action }) => action);
}

test("fixes are listed, counted, and applied if the count is still right", async () => {
  const { operator, engine } = await withLetters({ fixes: [RULE] });
  const { fixes } = await operator.call("GET /fixes");
  expect(fixes).toEqual([{ name: "country", auto: false, kind: "set", uses_max: 3 }]);
  const { count } = await operator.call("POST /fixes/preview", { body: { job: "orders" } });
  expect(count).toBe(1);
  const wrong = operator.call("POST /fixes/apply", { body: { job: "orders", count: 2 } });
  await expect(wrong).rejects.toMatchObject({ status: 409, code: "selection_changed" });
  expect((await engine.count("orders")).dead).toBe(2);
  const applied = await operator.call("POST /fixes/apply", { body: { job: "orders", count } });
  expect(applied.fixes).toMatchObject([{ rule: "country", changed: 1, refused: 0 }]);
  await expect.poll(async () => (await engine.count("orders")).ready).toBe(1);
  const [item] = await engine.listItems({ queue: "orders", itemIds: ["o-1"], limit: 1 });
  expect(item?.data).toEqual({ bad: "no country", country: "DE" });
  expect(await actionsOf(engine, "olga")).toEqual(["dlq_items_reprocessed", "dlq_item_amended"]);
});

test("an unknown fix, and one that runs a command, are refused", async () => {
  const { operator } = await withLetters({ fixes: [COMMAND] });
  const unknown = operator.call("POST /fixes/preview", { body: { job: "orders", rule: ["other"] } });
  await expect(unknown).rejects.toMatchObject({ status: 422, code: "request_invalid" });
  const runs = operator.call("POST /fixes/apply", { body: { job: "orders", count: 1 } });
  await expect(runs).rejects.toMatchObject({ status: 403, code: "disabled" });
});

test("letters beyond the limits of redrive.yml are archived", async () => {
  const { admin, engine } = await withLetters({ dlq: { ...DEFAULT_CONFIG.dlq, maxItems: 1 } });
  const dry = await admin.call("POST /letters/maintain", { body: { dry_run: true } });
  expect(dry).toMatchObject({ evicted: 1, dry_run: true });
  expect((await engine.count("orders")).dead).toBe(2);
  const done = await admin.call("POST /letters/maintain", { body: { job: "orders" } });
  expect(done).toMatchObject({ evicted: 1, jobs: [{ job_id: "orders", waiting: 1 }] });
  expect(await actionsOf(engine, "ada")).toEqual(["dlq_items_evicted"]);
});

test("worktrees are listed and removed, and unmerged work is kept", async () => {
  const { admin, engine, home } = await withLetters();
  const workshop = new Workshop();
  onTestFinished(() => workshop.remove());
  await engine.createJob({ id: "night", name: "night", kind: "map", spec: {} });
  const job = await JobWorktrees.open(await openRepository(workshop.top), "night", { home, keep: [] });
  const worktree = await job.acquire("one", 1);
  put(worktree.path, "x", "unsaved");
  job.keep(worktree, "it failed");
  const listed = await admin.call("GET /worktrees", { query: { job: "night" } });
  expect(listed.worktrees).toMatchObject([{ path: worktree.path, state: "kept", item_id: "one" }]);
  const kept = await admin.call("GET /worktrees/cleanup");
  expect(kept).toMatchObject({ removed: [], left: [{ path: worktree.path }] });
  const { removed, branches_removed: branches } = await admin.call("GET /worktrees/cleanup", {
    query: { force: true },
  });
  const counts = { worktrees: removed.length, branches: branches.length };
  const clean = (seen: typeof counts) =>
    admin.call("POST /worktrees/clean", { body: { force: true, ...seen } });
  await expect(clean({ ...counts, worktrees: 7 })).rejects.toMatchObject({ code: "selection_changed" });
  expect(existsSync(worktree.path)).toBe(true);
  expect((await clean(counts)).removed).toMatchObject([{ path: worktree.path }]);
  expect(existsSync(worktree.path)).toBe(false);
  expect(await actionsOf(engine, "ada")).toEqual(["worktrees_removed"]);
});

test("a target is created, changed, and its dead letters are sent again", async () => {
  let status = 400;
  const receiver = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(status).end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const { admin, operator, engine } = await withLetters();
  const params = { target: "billing" };
  const made = await admin.call("PUT /targets/{target}", { params, body: { url, retries: 0 } });
  expect(made).toMatchObject({ name: "billing", settings: { url, retries: 0 } });
  const put = admin.call("PUT /targets/{target}", { params, body: { timeout: "2s" } });
  expect(await put).toMatchObject({ settings: { url, timeout_ms: 2000 } });
  const target = new Target(engine, "billing");
  onTestFinished(() => target.close());
  expect(await target.send({ task_id: "t-1" })).toBe(false);
  status = 200;
  const { count } = await operator.call("GET /targets/{target}/recovery", { params });
  expect(count).toBe(1);
  const wrong = operator.call("POST /targets/{target}/recover", { params, body: { count: 5 } });
  await expect(wrong).rejects.toMatchObject({ status: 409, code: "selection_changed" });
  await operator.call("POST /targets/{target}/recover", { params, body: { count } });
  await expect.poll(async () => (await engine.count("billing")).done).toBe(1);
  expect(await actionsOf(engine, "olga")).toEqual(["dlq_items_reprocessed"]);
});
