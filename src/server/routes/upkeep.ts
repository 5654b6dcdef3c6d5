/** Handlers of the routes of fixes, retention limits and worktrees. */
import { requireJob } from "../../queue/find-job.ts";
import { applyFixes, countFixable, type FixRule } from "../../redrive/fix.ts";
import { requireHandler } from "../../run/run-job.ts";
import {
  type CleanReport,
  cleanReportToJson,
  listJobWorktrees,
  removeWorktrees,
  worktreeToJson,
} from "../../service/clean-worktrees.ts";
import { maintain, maintainedToJson } from "../../service/maintain-letters.ts";
import { compact } from "../../std/json.ts";
import type { Handler, RequestContext } from "../context.ts";
import type { upkeepRoutes } from "../contract/upkeep.ts";
import { RequestError } from "../problem.ts";

type Routes = typeof upkeepRoutes;

export const upkeepHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /fixes": async ({ config }) => ({
    fixes: (await config()).fixes.map(({ name, auto, usesMax, change }) => ({
      ...{ name, auto, kind: change.kind, uses_max: usesMax },
    })),
  }),

  "POST /fixes/preview": async (context, { body }) => {
    const { job, rules } = await fixesFor(context, body);
    return { job_id: job.id, count: await countFixable(context.engine, { queue: job.id, rules }) };
  },

  "POST /fixes/apply": async (context, { body }) => {
    const { engine, author, runner, stopping: signal } = context;
    const { job, rules } = await fixesFor(context, body);
    const runs = rules.find(({ change }) => change.kind === "command");
    if (runs !== undefined && !context.allowsRuns)
      throw new RequestError(
        "disabled",
        `The fix ${runs.name} runs a command, which this server does not allow.`,
        {
          hint: `Run it on the machine: redrive dlq fix ${job.id} --rule ${runs.name}`,
        },
      );
    const now = await countFixable(engine, { queue: job.id, rules });
    if (now !== body.count)
      throw new RequestError("selection_changed", `${now} letters match now. Nothing was changed.`, {
        hint: "Count them again: POST /fixes/preview",
      });
    const applied = await applyFixes(engine, { queue: job.id, rules, author, signal });
    for (const { redrive } of applied) if (redrive !== undefined) runner.start(redrive);
    return {
      job_id: job.id,
      fixes: applied.map(({ rule, edit, redrive }) => ({
        ...{ rule, changed: edit.done, refused: edit.refused },
        ...{ edit_id: edit.id, operation_id: redrive?.id ?? null },
      })),
    };
  },

  "POST /letters/maintain": async (context, { body }) => {
    const { engine, home, author, config } = context;
    const { maxItems, retentionDays, dlqDir } = (await config()).dlq;
    const job = body.job === undefined ? undefined : await requireJob(engine, body.job);
    const isPreview = body.dry_run ?? false;
    const options = { maxItems, retentionDays, home, author, isPreview, ...compact({ job, dlqDir }) };
    return { ...maintainedToJson(await maintain(engine, options)), dry_run: isPreview };
  },

  "GET /worktrees": async ({ engine, home }, { query: { job } }) => ({
    worktrees: (await listJobWorktrees(engine, home, job)).map(worktreeToJson),
  }),

  "GET /worktrees/cleanup": async ({ engine, home }, { query: { job, force = false } }) => {
    const confirm = async () => false;
    return cleanReportToJson(await removeWorktrees(engine, { home, force, confirm, ...compact({ job }) }));
  },

  "POST /worktrees/clean": async ({ engine, home }, { body: { job, force = false, ...seen } }) => {
    const confirm = async ({ removed, branchesRemoved }: CleanReport) => {
      if (removed.length === seen.worktrees && branchesRemoved.length === seen.branches) return true;
      const found = `${removed.length} worktrees and ${branchesRemoved.length} branches`;
      throw new RequestError("selection_changed", `${found} are not needed now. Nothing was removed.`, {
        hint: "Read GET /worktrees/cleanup again.",
      });
    };
    return cleanReportToJson(await removeWorktrees(engine, { home, force, confirm, ...compact({ job }) }));
  },
};

/** Finds the job and the fixes that a request names. */
async function fixesFor(
  { engine, config }: RequestContext,
  { job: word, rule: names }: { readonly job: string; readonly rule?: readonly string[] | undefined },
) {
  const job = await requireJob(engine, word);
  requireHandler(job);
  const { fixes } = await config();
  const unknown = names?.find((name) => fixes.every((one) => one.name !== name));
  if (unknown !== undefined)
    throw new RequestError("request_invalid", `redrive.yml has no fix ${unknown}.`, {
      field: "body.rule",
      hint: "List the fixes: GET /fixes",
    });
  const rules: readonly FixRule[] = fixes.filter(({ name }) => names?.includes(name) ?? true);
  return { job, rules };
}
