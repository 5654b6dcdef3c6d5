/** `redrive resume`: continues a job that was interrupted or stopped, or that has letters to retry. */
import type { Limits } from "../agent/budget.ts";
import type { Engine, JobChange } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { ENDING_KINDS, isStanding, type Job } from "../item/job.ts";
import { commandText, folderOf, isOfFolder, refuseStanding, requireJob } from "../queue/find-job.ts";
import { countEligible, statusOf } from "../queue/job-summary.ts";
import { redriveOnResume } from "../redrive/send.ts";
import type { Feed } from "../runner/run-options.ts";
import { isDismissed } from "../service/delete-job.ts";
import { readText } from "../std/files.ts";
import type { JsonObject } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import {
  digestOf,
  plain,
  type WorkflowSpec,
  workflowProgressOf,
  workflowSpecOf,
} from "../workflow/workflow-spec.ts";
import { inputFeed, runMap } from "./map.ts";
import { isFunctionMap, specOf } from "./map-spec.ts";
import { requireInstalled } from "./require-programs.ts";
import { type RunDeps, redriving, requireHandler } from "./run-job.ts";
import type { WorkflowResult, WorkflowRunOptions } from "./workflow.ts";

/** The job to resume, and how to resume it. */
export interface ResumeOptions extends Omit<WorkflowRunOptions, "withLetters"> {
  /** Id or name. Default: the latest unfinished job of this folder, or of its git repository. */
  readonly job?: string;
  /** The working directory of the user. */
  readonly cwd?: string;
  /** Whether to retry the eligible letters, too. */
  readonly withLetters: boolean;
  /** Whether to accept a changed workflow file and continue with it. */
  readonly acceptChanges?: boolean;
  /** The new budget of the whole job. Default: the job's own. Only for workflows. */
  readonly budget?: Limits;
}

/** Resumes a job and runs it to its end. */
export async function resumeJob(deps: RunDeps, options: ResumeOptions): Promise<WorkflowResult> {
  const { engine } = deps;
  const found = await (options.job === undefined
    ? latestUnfinished(engine, options)
    : requireJob(engine, options.job));
  requireHandler(found);
  if (isStanding(found)) refuseStanding(found);
  if (options.withLetters) await noteUneligible(engine, found, options);
  if (found.kind === "workflow") {
    const { aloneAtJob } = await import("./workflow.ts");
    return aloneAtJob(deps, found.id, () => resumeWorkflow(deps, found.id, options));
  }
  if (options.budget) throw new RedriveError("usage", `${found.id} is not a workflow, so it has no budget.`);
  if (await hasWork(engine, found, options)) requireInstalled(found);
  const job = await engine.changeJob(found.id, restart(options));
  const { onJob, onNotice, slots } = options;
  onJob?.(job);
  return runMap(deps, job, { feed: mapFeed(deps, job, options), onNotice, slots });
}

async function hasWork(engine: Engine, job: Job, { withLetters }: ResumeOptions): Promise<boolean> {
  const { ready, leased } = await engine.count(job.id);
  if (ready + leased > 0 || !job.intakeComplete) return true;
  return withLetters && (await countEligible(engine, job)) > 0;
}

/** Reports letters that a resume does not retry, and how to handle them. */
async function noteUneligible(engine: Engine, job: Job, { onNotice }: ResumeOptions): Promise<void> {
  const { dead } = await engine.count(job.id);
  if (dead === 0 || (await countEligible(engine, job)) > 0) return;
  const subject =
    dead === 1 ? "1 letter needs manual review and is" : `${dead} letters need manual review and are`;
  const advice = `Correct the data (redrive dlq edit ITEM) and resume, or repair the cause and run: redrive dlq retry ${job.id} --force`;
  onNotice?.(`${subject} not retried. ${advice}`);
}

function restart({ withLetters }: ResumeOptions): JobChange {
  const event = { type: "job_resumed", data: { with_letters: withLetters } } as const;
  return { status: "running", restarted: true, event };
}

/** Reads the job again, because it may have changed before this process became its only runner. */
async function resumeWorkflow(deps: RunDeps, jobId: string, options: ResumeOptions): Promise<WorkflowResult> {
  const { engine } = deps;
  const left = await requireJob(engine, jobId);
  const changed = await workflowSpecNow(left, options);
  const { budget } = options;
  const spec = budget ? plain({ ...((changed ?? left.spec) as unknown as WorkflowSpec), budget }) : changed;
  const progress = await progressNow(engine, left, { ...options, isChanged: changed !== null });
  const job = await engine.changeJob(jobId, { ...restart(options), progress, ...(spec && { spec }) });
  const { runWorkflow } = await import("./workflow.ts");
  return runWorkflow(deps, job, options);
}

/** Yields unfinished redrives first, then letters, then the rest of the input. */
function mapFeed(deps: RunDeps, job: Job, options: ResumeOptions): Feed {
  return async function* (storeRetry, signal) {
    yield* redriveOnResume(deps.engine, job.id, { ...redriving(deps, options), storeRetry, signal });
    if (job.intakeComplete) return;
    if (specOf(job).input.path !== "-") yield* inputFeed(deps, job, options)(storeRetry, signal);
    else {
      const again = `Run the map again with --name ${job.name} to add the rest.`;
      options.onNotice?.(`Standard input was not read completely. ${again}`);
    }
  };
}

/** Returns the current workflow of the file if it has changed and the user accepts it, else null. */
async function workflowSpecNow(job: Job, { acceptChanges }: ResumeOptions): Promise<JsonObject | null> {
  const spec = workflowSpecOf(job);
  const text = tryTo(() => readText(spec.file)); // a missing file counts as unchanged: the job has its own copy
  if (text === undefined || digestOf(text) === spec.digest) return null;
  if (!acceptChanges) {
    const message = `The workflow ${spec.file} has changed since the job ${job.id} was started.`;
    const hint = "Add --accept-changes to continue with the new one, or start a new job with `redrive run`.";
    throw new RedriveError("job_changed", message, { hint });
  }
  const { requireWorkflow } = await import("../workflow/read-workflow.ts");
  const workflow = requireWorkflow(text, spec.file, {
    variables: Object.keys(spec.variables),
    profile: spec.profile,
    environment: (name) => process.env[name],
  });
  return plain({ ...spec, workflow, digest: digestOf(text) });
}

/** A job that has passed its map phase returns to it when items are left, or when reduce has not processed all successes. */
async function progressNow(
  engine: Engine,
  job: Job,
  { withLetters, isChanged }: { readonly withLetters: boolean; readonly isChanged: boolean },
): Promise<JsonObject> {
  const { succeededAtEnd, ...rest } = workflowProgressOf(job);
  // A changed workflow has not been reduced yet.
  const progress = isChanged || succeededAtEnd === undefined ? rest : { ...rest, succeededAtEnd };
  if (progress.phase === "setup" || progress.phase === "map") return plain(progress);
  const { ready, leased, done } = await engine.count(job.id);
  const isReduceBehind = progress.succeededAtReduce !== undefined && progress.succeededAtReduce !== done;
  const isMapBehind =
    ready + leased > 0 || isReduceBehind || (withLetters && (await countEligible(engine, job)) > 0);
  return plain(isMapBehind ? { ...progress, phase: "map", next: 0 } : progress);
}

const LOOK_AT_MAX = 200;

/** Considers only jobs of this folder, so that a short command never runs another project's work. */
async function latestUnfinished(engine: Engine, { cwd, onNotice }: ResumeOptions): Promise<Job> {
  let elsewhere: Job | undefined;
  for (const job of await engine.listJobs({ limit: LOOK_AT_MAX, kinds: ENDING_KINDS })) {
    if (!(await isUnfinished(engine, job))) continue;
    if (cwd === undefined || isOfFolder(job, cwd)) {
      onNotice?.(`Resuming ${job.id}: ${commandText(job)} (in ${folderOf(job) ?? "no folder"})`);
      return job;
    }
    elsewhere ??= job;
  }
  const others =
    elsewhere && `The latest one in another folder (${folderOf(elsewhere)}): redrive resume ${elsewhere.id}`;
  throw new RedriveError("job_not_found", "There is no interrupted job in this folder.", {
    hint: others ?? "`redrive jobs` lists all jobs; `redrive resume JOB` resumes any of them.",
  });
}

async function isUnfinished(engine: Engine, job: Job): Promise<boolean> {
  if (job.kind === "imported" || job.kind === "deleting" || isDismissed(job) || isFunctionMap(job))
    return false;
  const status = await statusOf(engine, job);
  return status === "interrupted" || status === "stopped" || status === "failed";
}
