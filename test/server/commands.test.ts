/** What a command can do, the API can do too: every command has routes, or a reason why it has none. */
import { expect, test } from "vitest";
import { everyCommand } from "../../src/cli/program.ts";
import type { RouteName } from "../../src/server/contract.ts";
import { openApiDocument } from "../../src/server/openapi.ts";

const RUNS = "runs a user's commands on the machine where it is started";
const SHELL = "about the machine and the shell where it is started";
const STORES = "opens other stores and files than the server's";
const SERVES = "starts a server";
const LETTERS = ["POST /selections", "POST /operations"] as const;

const COMMANDS: Readonly<Record<string, string | readonly RouteName[]>> = {
  overview: ["GET /overview", "GET /groups", "GET /operations"],
  map: RUNS,
  resume: RUNS,
  demo: RUNS,
  run: RUNS,
  validate: SHELL,
  init: SHELL,
  "jobs list": ["GET /jobs"],
  items: ["GET /items"],
  stop: ["POST /jobs/{job}/stop", "POST /jobs/{job}/items/{item_id}/stop"],
  pause: ["POST /jobs/{job}/pause"],
  continue: ["POST /jobs/{job}/continue", "POST /jobs/{job}/items/{item_id}/continue"],
  skip: ["POST /jobs/{job}/items/{item_id}/skip"],
  cancel: ["POST /jobs/{job}/stop", "POST /jobs/{job}/dismiss"],
  attach: SHELL,
  "migrate-workflow": SHELL,
  "jobs dismiss": ["POST /jobs/{job}/dismiss"],
  "jobs delete": ["GET /jobs/{job}/deletion", "DELETE /jobs/{job}"],
  status: ["GET /jobs/{job}", "GET /jobs/{job}/running"],
  report: ["GET /jobs/{job}/report"],
  events: ["GET /events", "GET /events/list"],
  logs: ["GET /items/{queue}/{item_id}/log", "GET /items/{queue}/{item_id}/log/tail"],
  errors: ["GET /errors"],
  "dlq list": ["GET /letters", "GET /letters/count"],
  "dlq inspect": ["GET /letters/{queue}/{item_id}", "GET /items/{queue}/{item_id}/attempts"],
  "dlq show": ["GET /letters/{queue}/{item_id}"],
  "dlq analyze": ["GET /letters/analysis"],
  "dlq stats": ["GET /letters/stats"],
  "dlq retry": [...LETTERS, "POST /letters/{queue}/{item_id}/retry"],
  "dlq edit": [...LETTERS, "PATCH /letters/{queue}/{item_id}"],
  "dlq fix": ["GET /fixes", "POST /fixes/preview", "POST /fixes/apply"],
  "dlq note": ["POST /letters/{queue}/{item_id}/notes"],
  "dlq discard": [...LETTERS, "POST /letters/{queue}/{item_id}/discard"],
  "dlq restore": [...LETTERS, "POST /letters/{queue}/{item_id}/restore"],
  "dlq clear": LETTERS,
  "dlq purge": LETTERS,
  "dlq maintain": ["POST /letters/maintain"],
  "dlq export": ["GET /letters/export"],
  "dlq import": ["POST /letters/import"],
  "dlq mirror": SHELL,
  "dlq capsule": ["GET /letters/{queue}/{item_id}/capsule"],
  "dlq evidence": [
    "GET /letters/{queue}/{item_id}/evidence",
    "GET /letters/{queue}/{item_id}/evidence/{number}",
  ],
  "groups list": ["GET /groups"],
  "groups show": ["GET /groups/{group}"],
  "groups explain": ["GET /groups/{group}/explain"],
  "groups preview": ["POST /groups/preview"],
  "groups merge": ["POST /groups/merge"],
  "groups split": ["POST /groups/{group}/split"],
  "groups corrections": ["GET /corrections", "POST /corrections/remove"],
  "groups rebuild": ["POST /groups/rebuild"],
  "groups resolve": ["POST /groups/{group}/resolve"],
  "groups ignore": ["POST /groups/{group}/ignore"],
  "groups suggest": ["GET /groups/suggestions"],
  "groups open": ["POST /groups/{group}/open"],
  "groups assign": ["POST /groups/{group}/assign"],
  "groups note": ["POST /groups/{group}/notes"],
  "ops list": ["GET /operations"],
  "ops show": ["GET /operations/{operation_id}"],
  "ops pause": ["POST /operations/{operation_id}/pause"],
  "ops resume": ["POST /operations/{operation_id}/resume"],
  "ops cancel": ["POST /operations/{operation_id}/cancel"],
  "ops undo": ["POST /operations/{operation_id}/undo"],
  metrics: "GET /metrics of the server, in the form of Prometheus",
  watch: "a service; GET /alerts checks its rules now",
  worker: RUNS,
  "queue list": ["GET /queues"],
  "queue show": ["GET /queues/{queue}", "GET /items/{queue}/{item_id}", "GET /workers"],
  "queue items": ["GET /items"],
  "queue create": ["POST /queues"],
  "queue set": ["PATCH /queues/{queue}"],
  "queue pause": ["POST /queues/{queue}/pause"],
  "queue resume": ["POST /queues/{queue}/resume"],
  "queue add": ["POST /queues/{queue}/items"],
  "queue import": ["POST /queues/{queue}/import"],
  "queue hold": ["POST /queues/{queue}/hold"],
  "queue unhold": ["POST /queues/{queue}/unhold"],
  "schedule list": ["GET /schedules"],
  "schedule show": ["GET /schedules/{schedule}"],
  "schedule create": ["PUT /schedules/{schedule}"],
  "schedule pause": ["POST /schedules/{schedule}/pause"],
  "schedule resume": ["POST /schedules/{schedule}/resume"],
  "schedule remove": ["DELETE /schedules/{schedule}"],
  "receipts target": ["GET /targets/{target}", "PUT /targets/{target}"],
  "receipts list": ["GET /targets", "GET /items"],
  "receipts inspect": ["GET /items/{queue}/{item_id}"],
  "receipts pause": ["POST /targets/{target}/pause"],
  "receipts resume": ["POST /targets/{target}/resume"],
  "receipts send": ["POST /targets/{target}/receipts"],
  "receipts deliver": RUNS,
  "receipts recover": ["GET /targets/{target}/recovery", "POST /targets/{target}/recover"],
  "worktrees list": ["GET /worktrees"],
  "worktrees clean": ["GET /worktrees/cleanup", "POST /worktrees/clean"],
  "store info": ["GET /store"],
  "store check": ["POST /store/check"],
  "store copy": STORES,
  "store migrate": STORES,
  "store salvage": STORES,
  console: SERVES,
  serve: SERVES,
  mcp: SERVES,
  "token create": ["POST /tokens"],
  "token list": ["GET /tokens"],
  "token revoke": ["DELETE /tokens/{token_id}"],
  audit: ["GET /audit"],
  trust: SHELL,
  completion: SHELL,
};

const listed = Object.values(COMMANDS).flatMap((one) => (typeof one === "string" ? [] : one));

test("every command is in the table", async () => {
  const all = (await everyCommand()).filter(({ command }) => !command.isHidden).map(({ words }) => words);
  expect(all.sort()).toEqual(Object.keys(COMMANDS).sort());
});

test("every route of the table is in the OpenAPI document", () => {
  const { paths } = openApiDocument("1.0.0") as { readonly paths: Readonly<Record<string, object>> };
  const missing = listed.filter((name) => {
    const [method = "", path = ""] = name.split(" ");
    return !Object.hasOwn(paths[path] ?? {}, method.toLowerCase());
  });
  expect(missing).toEqual([]);
});
