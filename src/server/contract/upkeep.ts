/** Routes for maintenance of the store and this machine: fixes of redrive.yml, retention limits and worktrees. */
import * as z from "zod";
import { count } from "./documents.ts";
import { name } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "upkeep";
const force = z
  .boolean()
  .optional()
  .meta({ description: "also remove worktrees with unmerged or uncommitted work" });

const worktree = z.looseObject({ path: z.string(), job_id: z.string(), state: z.string() });

export const cleanReport = z.looseObject({
  removed: z.array(worktree),
  left: z.array(worktree.extend({ left_because: z.string() })),
  branches_removed: z.array(z.string()),
});

const fix = z
  .looseObject({
    name: z.string(),
    auto: z.boolean().meta({ description: "whether jobs apply it automatically" }),
    kind: z.enum(["set", "patch", "command"]),
    uses_max: count.meta({ description: "how often it is applied to the same letter" }),
  })
  .meta({ id: "Fix" });

const fixScope = z.strictObject({
  job: name,
  rule: z.array(name).min(1).max(50).optional().meta({ description: "only these fixes; default: all" }),
});

export const upkeepRoutes = {
  "GET /fixes": {
    id: "listFixes",
    tag,
    summary: "List the fixes of redrive.yml, in the order in which they are tried.",
    role: "viewer",
    response: z.looseObject({ fixes: z.array(fix) }),
    errors: ["usage"],
  },
  "POST /fixes/preview": {
    id: "previewFixes",
    tag,
    summary: "Count the letters that the fixes would change and retry.",
    role: "operator",
    body: fixScope,
    response: z.looseObject({ job_id: z.string(), count }),
    errors: ["job_not_found", "usage"],
    isRepeatable: true,
  },
  "POST /fixes/apply": {
    id: "applyFixes",
    tag,
    summary: "Apply fixes to the letters of a job or a queue, and retry those letters.",
    description:
      "`count` is the number from the preview; if it has changed, the answer is 409. A fix that runs a command needs a server with --allow-runs.",
    role: "operator",
    body: fixScope.extend({ count }),
    response: z.looseObject({
      job_id: z.string(),
      fixes: z.array(
        z.looseObject({
          rule: z.string(),
          changed: count,
          refused: count,
          edit_id: z.string(),
          operation_id: z.string().nullable(),
        }),
      ),
    }),
    status: 202,
    errors: ["job_not_found", "usage", "selection_changed", "disabled", "command_not_found"],
  },
  "POST /letters/maintain": {
    id: "maintainLetters",
    tag,
    summary:
      "Apply the retention limits of redrive.yml now: archive letters that are too old or exceed the limit of a job.",
    role: "admin",
    body: z.strictObject({ job: name.optional(), dry_run: z.boolean().optional() }),
    response: z.looseObject({
      jobs: z.array(z.looseObject({ job_id: z.string() })),
      evicted: count,
      purged: count,
    }),
    errors: ["job_not_found", "usage"],
    isRepeatable: true,
  },
  "GET /worktrees": {
    id: "listWorktrees",
    tag,
    summary: "List the worktrees on the server's machine.",
    role: "viewer",
    query: z.strictObject({ job: name.optional() }),
    response: z.looseObject({ worktrees: z.array(worktree) }),
    errors: ["job_not_found"],
  },
  "GET /worktrees/cleanup": {
    id: "previewWorktreeCleanup",
    tag,
    summary: "Show which worktrees and branches are no longer needed.",
    role: "operator",
    query: z.strictObject({ job: name.optional(), force }),
    response: cleanReport,
    errors: ["job_not_found"],
  },
  "POST /worktrees/clean": {
    id: "cleanWorktrees",
    tag,
    summary: "Remove worktrees that are no longer needed; unmerged work is kept.",
    description:
      "`worktrees` and `branches` are the numbers from the preview; if they have changed, the answer is 409.",
    role: "admin",
    body: z.strictObject({ job: name.optional(), force, worktrees: count, branches: count }),
    response: cleanReport,
    errors: ["job_not_found", "selection_changed"],
  },
} as const satisfies Routes;
