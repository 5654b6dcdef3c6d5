/** `redrive attach`: opens a shell where the steps of an item run, with their environment. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { itemEnvironment } from "../../attempt/run-process.ts";
import type { Engine } from "../../engine.ts";
import type { Item } from "../../item/item.ts";
import type { Job } from "../../item/job.ts";
import { isStanding } from "../../item/job.ts";
import { requireItem } from "../../queue/find-item.ts";
import { folderOf, refuseStanding, requireJob } from "../../queue/find-job.ts";
import { listJobWorktrees } from "../../service/clean-worktrees.ts";
import { environmentOf } from "../../workflow/variables.ts";
import { workflowSpecOf } from "../../workflow/workflow-spec.ts";
import { argument, command } from "../command.ts";
import type { Context } from "../context.ts";
import { EXIT, userError } from "../exit-code.ts";

const attach = command({
  summary: "Open a shell in the worktree of an item, with the environment of its steps.",
  description: "Without a worktree (isolation: none, or a map) the shell opens in the folder of the job.",
  examples: ["redrive attach nightly order-7"],
  arguments: {
    jobName: argument("<job>", "id or name"),
    itemName: argument("<item>", "an item id or a unique prefix"),
  },
  run: async (context, { jobName, itemName }) => {
    const { job, item, folder } = await context.withStore(async (engine) => {
      const job = await requireJob(engine, jobName);
      if (isStanding(job)) refuseStanding(job);
      const item = await requireItem(engine, itemName, job.id);
      return { job, item, folder: await folderOfItem(engine, context, job, item) };
    });
    if (item.state === "leased")
      context.note(`${item.itemId} is running; its steps work in the same folder.`);
    context.note(`${folder} (exit ends the shell)`);
    return runShell(context, folder, environmentFor(job, item));
  },
});

export const commands = { attach };

/** The worktree of the latest attempt, either running or kept for a letter. */
async function folderOfItem(engine: Engine, { home }: Context, job: Job, item: Item): Promise<string> {
  const isIsolated = job.kind === "workflow" && workflowSpecOf(job).workflow.map.isolation === "worktree";
  const plain = folderOf(job);
  if (!isIsolated && plain !== undefined && existsSync(plain)) return plain;
  const entries = isIsolated ? await listJobWorktrees(engine, home, job.id) : [];
  const own = entries.filter(({ itemId, path }) => itemId === item.itemId && existsSync(path));
  const latest = own.sort((a, b) => (a.attempt ?? 0) - (b.attempt ?? 0)).at(-1);
  if (latest !== undefined) return latest.path;
  const hint =
    "Items that run have one here, and letters with keep_worktrees: failed. To list them: redrive worktrees list";
  throw userError("item_not_found", `${item.itemId} has no worktree on this machine.`, hint);
}

function environmentFor(job: Job, item: Item): Record<string, string> {
  const { itemId, data, attempts } = item;
  const known = { item: data, itemId, attempt: attempts, jobId: job.id, failureFile: "" };
  const { REDRIVE_FAILURE_FILE: _, ...own } = itemEnvironment(known);
  return { ...(job.kind === "workflow" && environmentOf(workflowSpecOf(job))), ...own };
}

/** Ctrl-C is meant for the shell and its commands, so it must not end this process. */
function runShell({ terminal }: Context, cwd: string, own: Record<string, string>): Promise<number> {
  const env = { ...terminal.env, ...own };
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  return new Promise<number>((resolve, reject) => {
    const shell = terminal.env.SHELL || "sh";
    const child = spawn(shell, [], { cwd, env, stdio: "inherit" });
    child.once("error", (error) =>
      reject(userError("command_not_found", `The shell ${shell} cannot be started.`, "Set SHELL.", error)),
    );
    child.once("exit", (code) => resolve(code ?? EXIT.failed));
  }).finally(() => process.off("SIGINT", ignore));
}
