/** Every command that changes something leaves an entry in the audit with the name of the user. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { everyCommand } from "../../src/cli/program.ts";
import { JobWorktrees } from "../../src/workspace/job-worktrees.ts";
import { openRepository } from "../../src/workspace/repository.ts";
import { Workshop } from "../workspace/repo-kit.ts";
import { begin, entriesSince, READS, run, running, type Stocked, stocked } from "./kit.ts";

interface Change {
  /** The action of the newest entry. */
  readonly leaves: string;
  readonly args: readonly string[] | ((store: Stocked) => readonly string[]);
  /** Runs before the command. */
  readonly before?: (store: Stocked) => Promise<unknown>;
  /** The exit code. Default 0. */
  readonly code?: number;
}

const ACCOUNT = "the processes that it starts or serves make changes, each with its own author";
const FILES = "writes files, not the store";
const first = ({ groups }: Stocked) => groups[0] ?? "";
const second = ({ groups }: Stocked) => groups[1] ?? "";
const file = (store: Stocked, name: string, text: string) => {
  writeFileSync(join(store.home, name), text);
  return name;
};
const discarded = (store: Stocked) =>
  run(store, ["dlq", "discard", "o-1", "--job", "orders", "--reason", "test", "--yes"]);
const target = (store: Stocked) =>
  run(store, ["receipts", "target", "billing", "--url", "http://127.0.0.1:9/"]);

/** A job with a ready item and a living runner. */
/** A job whose items fail, and its id. */
const mapped = async (store: Stocked, program: string) => {
  const items = file(store, "items.json", "[1]");
  await run(store, ["map", "--name", "night", "--input", items, "--retries", "0", "-q", "--", program]);
};

const COMMANDS: Readonly<Record<string, Change | string>> = {
  map: {
    leaves: "job_started",
    args: (store) => ["--input", file(store, "items.json", "[1]"), "-q", "--", "true"],
  },
  resume: {
    leaves: "job_resumed",
    before: (store) => mapped(store, "false"),
    args: ["night", "-q"],
    code: 3,
  },
  demo: "runs `redrive map`",
  run: {
    leaves: "job_started",
    args: (store) => [file(store, "flow.yml", WORKFLOW), "-q"],
    before: async (store) => void file(store, "items.json", "[1]"),
  },
  validate: READS,
  "migrate-workflow": FILES,
  attach: "opens a shell in a worktree",
  items: READS,
  stop: { leaves: "item_held", before: running, args: ["night", "one"] },
  pause: { leaves: "queue_paused", before: running, args: ["night"] },
  continue: {
    leaves: "queue_resumed",
    before: async (store) => {
      await running(store);
      await store.engine.changeJob("night", { pause: { reason: "" } });
    },
    args: ["night"],
  },
  skip: { leaves: "item_skip_requested", before: running, args: ["night", "one"] },
  cancel: {
    leaves: "job_dismissed",
    before: ({ engine }) => engine.createJob({ id: "night", name: "night", kind: "map", spec: {} }),
    args: ["night"],
  },
  "groups suggest": READS,
  init: FILES,
  "jobs list": READS,
  "jobs dismiss": { leaves: "job_dismissed", before: (store) => mapped(store, "false"), args: ["night"] },
  "jobs delete": {
    leaves: "job_deleted",
    before: (store) => mapped(store, "true"),
    args: ["night", "--yes"],
  },
  overview: READS,
  report: READS,
  status: READS,
  events: READS,
  logs: READS,
  errors: READS,
  "dlq list": READS,
  "dlq inspect": READS,
  "dlq show": READS,
  "dlq analyze": READS,
  "dlq stats": READS,
  "dlq retry": { leaves: "dlq_items_reprocessed", args: ["orders", "--yes", "--detach", "--force"] },
  "dlq edit": {
    leaves: "dlq_item_amended",
    args: ["o-1", "--job", "orders", "--set", 'country="DE"', "--yes"],
  },
  "dlq fix": {
    leaves: "dlq_items_reprocessed",
    before: async (store) => void file(store, "redrive.yml", FIX),
    args: ["orders", "--yes", "-q"],
    code: 3,
  },
  "dlq note": { leaves: "note_added", args: ["o-1", "seen", "--job", "orders"] },
  "dlq discard": {
    leaves: "dlq_items_discarded",
    args: ["o-1", "--job", "orders", "--reason", "test", "--yes"],
  },
  "dlq restore": {
    leaves: "dlq_items_restored",
    before: discarded,
    args: ["o-1", "--job", "orders", "--yes"],
  },
  "dlq clear": { leaves: "dlq_items_cleared", before: discarded, args: ["orders", "--yes"] },
  "dlq purge": { leaves: "dlq_items_purged", args: ["orders", "--older-than", "0s", "--yes"] },
  "dlq maintain": { leaves: "dlq_items_evicted", args: ["orders", "--max-items", "1"] },
  "dlq export": READS,
  "dlq import": {
    leaves: "letters_imported",
    args: (store) => [file(store, "letters.jsonl", LETTER), "--job", "orders"],
  },
  "dlq mirror": FILES,
  "dlq capsule": FILES,
  "dlq evidence": READS,
  "groups list": READS,
  "groups show": READS,
  "groups explain": READS,
  "groups preview": READS,
  "groups merge": {
    leaves: "groups_merged",
    args: (store) => [first(store), "--into", second(store), "--yes"],
  },
  "groups split": { leaves: "group_split", args: (store) => [first(store), "--text", "country", "--yes"] },
  "groups corrections": {
    leaves: "correction_removed",
    before: (store) => run(store, ["groups", "merge", first(store), "--into", second(store), "--yes"]),
    args: ["--remove", "1"],
  },
  "groups rebuild": { leaves: "groups_rebuilt", args: ["--yes"] },
  "groups resolve": { leaves: "group_changed", args: (store) => [first(store)] },
  "groups ignore": { leaves: "group_changed", args: (store) => [first(store)] },
  "groups open": { leaves: "group_changed", args: (store) => [first(store)] },
  "groups assign": { leaves: "groups_assigned", args: (store) => [first(store), "--to", "ann"] },
  "groups note": { leaves: "group_changed", args: (store) => [first(store), "seen"] },
  "ops list": READS,
  "ops show": READS,
  "ops pause": { leaves: "operation_changed", before: ({ engine }) => begin(engine), args: ["op-1"] },
  "ops resume": {
    leaves: "operation_changed",
    before: async ({ engine }) => {
      await begin(engine);
      await engine.changeOperation("op-1", { status: "paused" });
    },
    args: ["op-1"],
  },
  "ops cancel": { leaves: "operation_changed", before: ({ engine }) => begin(engine), args: ["op-1"] },
  "ops undo": {
    leaves: "dlq_items_restored",
    before: discarded,
    args: ["op-", "--yes"],
  },
  metrics: READS,
  watch: "sends alerts; what it finds is in its events",
  worker: ACCOUNT,
  "queue list": READS,
  "queue show": READS,
  "queue items": READS,
  "queue create": { leaves: "queue_created", args: ["mails"] },
  "queue set": { leaves: "queue_changed", args: ["orders", "--retries", "7"] },
  "queue pause": { leaves: "queue_paused", args: ["orders"] },
  "queue resume": {
    leaves: "queue_resumed",
    before: ({ engine }) => engine.changeJob("orders", { pause: { reason: "" } }),
    args: ["orders"],
  },
  "queue add": { leaves: "items_added", args: ["orders", "--data", "1"] },
  "queue import": {
    leaves: "items_imported",
    args: (store) => ["orders", file(store, "rows.jsonl", "1\n2\n")],
  },
  "queue hold": { leaves: "item_held", args: ["orders", "ready-1"] },
  "queue unhold": {
    leaves: "item_released",
    before: ({ engine }) => engine.hold("orders", ["ready-1"], { author: "setup" }),
    args: ["orders", "ready-1"],
  },
  "schedule list": READS,
  "schedule show": READS,
  "schedule create": { leaves: "schedule_set", args: ["daily", "--queue", "orders", "--cron", "0 4 * * *"] },
  "schedule pause": { leaves: "schedule_paused", args: ["nightly"] },
  "schedule resume": {
    leaves: "schedule_resumed",
    before: (store) => run(store, ["schedule", "pause", "nightly"]),
    args: ["nightly"],
  },
  "schedule remove": { leaves: "schedule_removed", args: ["nightly"] },
  "receipts target": { leaves: "queue_created", args: ["billing", "--url", "http://127.0.0.1:9/"] },
  "receipts list": READS,
  "receipts inspect": READS,
  "receipts pause": { leaves: "queue_paused", before: target, args: ["billing"] },
  "receipts resume": {
    leaves: "queue_resumed",
    before: async (store) => {
      await target(store);
      await run(store, ["receipts", "pause", "billing"]);
    },
    args: ["billing"],
  },
  "receipts send": {
    leaves: "receipts_sent",
    before: target,
    args: ["billing", "--data", "{}", "--no-wait"],
  },
  "receipts deliver": ACCOUNT,
  "receipts recover": {
    leaves: "dlq_items_reprocessed",
    before: deadReceipt,
    args: ["billing", "--yes", "-q"],
  },
  "worktrees list": READS,
  "worktrees clean": { leaves: "worktrees_removed", before: worktree, args: ["--force", "--yes"] },
  "store info": READS,
  "store check": READS,
  "store copy": "writes another store, which gets the audit of this one",
  "store migrate": "changes the form of the store, and nothing that it says",
  "store salvage": "writes another store",
  console: ACCOUNT,
  serve: ACCOUNT,
  mcp: ACCOUNT,
  "token create": { leaves: "token_created", args: ["--name", "me", "--role", "viewer"] },
  "token list": READS,
  "token revoke": { leaves: "token_revoked", args: ({ tokenId }) => [tokenId] },
  audit: READS,
  trust: FILES,
  completion: READS,
};

const WORKFLOW = `name: flow
mode: mapreduce
map:
  input: items.json
  isolation: none
  agent_template:
    - shell: "true"
`;
const FIX = `fixes:
  - name: country
    match: { filter: 'item.bad == "no country"' }
    set: { country: '"DE"' }
`;
const LETTER = JSON.stringify({
  item_id: "foreign",
  item_data: 1,
  failure_history: [{ attempt_number: 1, timestamp: "2026-01-01T00:00:00.000Z", error_message: "old" }],
});

/** A letter of a target that has become reachable. */
async function deadReceipt(store: Stocked): Promise<void> {
  let status = 400;
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(status).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await run(store, ["receipts", "target", "billing", "--url", url, "--retries", "0"]);
  await run(store, ["receipts", "send", "billing", "--data", '{"task_id": "t-1"}']);
  status = 200;
}

/** A worktree in the home that no job needs. */
async function worktree({ home }: Stocked): Promise<void> {
  const workshop = new Workshop();
  onTestFinished(() => workshop.remove());
  const repository = await openRepository(workshop.top);
  const job = await JobWorktrees.open(repository, "job-1", { home, keep: [] });
  job.keep(await job.acquire("one", 1), "it failed");
}

const all = (await everyCommand()).filter(({ command }) => !command.isHidden);
const changing = Object.entries(COMMANDS).filter(
  (entry): entry is [string, Change] => typeof entry[1] !== "string",
);

test("every command is in the table", () => {
  expect(all.map(({ words }) => words).sort()).toEqual(Object.keys(COMMANDS).sort());
});

test.each(changing)("redrive %s leaves an entry", async (words, { leaves, args, before, code = 0 }) => {
  const store = await stocked();
  await before?.(store);
  const event = await store.engine.newestEvent();
  const given = typeof args === "function" ? args(store) : args;
  const said = await run(store, [...words.split(" "), ...given]);
  expect(said.code, said.output).toBe(code);
  const entries = await entriesSince(store.engine, event);
  expect(entries).toContainEqual(expect.objectContaining({ action: leaves, author: "ada", via: "cli" }));
});
