/** `redrive resume`: goes on with a job that was interrupted, stopped or has letters worth another try. */
import { readFileSync } from "node:fs";
import type { Engine, JobChange } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { ENDING_KINDS, isStanding, type Job } from "../item/job.ts";
import type { JsonObject } from "../kit/json.ts";
import { redriveOnResume } from "../redrive/resume.ts";
import type { Feed } from "../runner/runner.ts";
import { isDismissed } from "./dismiss-job.ts";
import { requireJob } from "./find-job.ts";
import { commandText, folderOf, isOfFolder } from "./job-text.ts";
import { inputFault, inputFeed } from "./map.ts";
import { specOf } from "./map-spec.ts";
import { type RunDeps, redriving, runJob } from "./run-job.ts";
import { countEligible, statusOf, summarise } from "./summary.ts";
import { refuseStanding, requireWork } from "./work.ts";
import type { WorkflowResult, WorkflowRunOptions } from "./workflow.ts";
import { digestOf, plain, workflowProgressOf, workflowSpecOf } from "./workflow-spec.ts";

/** Which job goes on, and how. */
export interface ResumeOptions extends Omit<WorkflowRunOptions, "withLetters"> {
  /** Id or name. Default: the latest job of this folder, or of its git repository, that did not come to its end. */
  readonly job?: string;
  /** Where the user is. */
  readonly cwd?: string;
  /** Redrive the eligible letters too. */
  readonly withLetters: boolean;
  /** Go on although the workflow's file has changed, with what it says now. */
  readonly acceptChanges?: boolean;
}

/** Goes on with a job and runs it to its end. */
export async function resumeJob(deps: RunDeps, options: ResumeOptions): Promise<WorkflowResult> {
  const { engine } = deps;
  const found =
    options.job === undefined
      ? await latestUnfinished(engine, options)
      : await requireJob(engine, options.job);
  requireWork(found);
  if (isStanding(found)) refuseStanding(found);
  if (options.withLetters) await noteUneligible(engine, found, options);
  if (found.kind === "workflow") {
    const { aloneAtJob } = await import("./workflow.ts");
    return aloneAtJob(deps, found.id, () => resumeWorkflow(deps, found.id, options));
  }
  return resumeMap(deps, await engine.changeJob(found.id, restart(options)), options);
}

/** Letters that no resume will run are named at once, with what a person can do. */
async function noteUneligible(engine: Engine, job: Job, { onNotice }: ResumeOptions): Promise<void> {
  const { dead } = await engine.count(job.id);
  if (dead === 0 || (await countEligible(engine, job)) > 0) return;
  const subject = dead === 1 ? "1 letter needs a person" : `${dead} letters need a person`;
  onNotice?.(
    `${subject} and ${dead === 1 ? "is" : "are"} not run again. Correct the data (redrive dlq edit ITEM) or the cause, then: redrive dlq retry ${job.id} --force`,
  );
}

function restart({ withLetters }: ResumeOptions): JobChange {
  const event = { type: "job_resumed", data: { with_letters: withLetters } } as const;
  return { status: "running", restarted: true, event };
}

/** As the last process left it: this one has it to itself by now. */
async function resumeWorkflow(deps: RunDeps, jobId: string, options: ResumeOptions): Promise<WorkflowResult> {
  const { engine } = deps;
  const left = await requireJob(engine, jobId);
  const spec = await workflowSpecNow(left, options);
  const progress = await progressNow(engine, left, { ...options, isChanged: spec !== null });
  const job = await engine.changeJob(jobId, { ...restart(options), progress, ...(spec && { spec }) });
  const { runWorkflow } = await import("./workflow.ts");
  return runWorkflow(deps, job, options);
}

async function resumeMap(deps: RunDeps, job: Job, options: ResumeOptions): Promise<WorkflowResult> {
  options.onJob?.(job);
  const result = await runJob(deps, {
    job,
    feed: mapFeed(deps, job, options),
    ...(options.onNotice && { onNotice: options.onNotice }),
    ...(options.slots !== undefined && { slots: options.slots }),
  }).catch(async (error: unknown) => {
    throw await inputFault(deps.engine, job, error);
  });
  const summary = await summarise(deps.engine, await requireJob(deps.engine, job.id));
  return { summary, ...(result.reason !== undefined && { stopReason: result.reason }) };
}

/** First what was begun and not finished, then the letters, then the rest of the input. */
function mapFeed(deps: RunDeps, job: Job, options: ResumeOptions): Feed {
  return async function* (patience, signal) {
    yield* redriveOnResume(deps.engine, job.id, { ...redriving(deps, options), patience, signal });
    if (job.intakeComplete) return;
    if (specOf(job).input.path !== "-") yield* inputFeed(deps, job, options)(patience, signal);
    else
      options.onNotice?.(
        `Standard input was not read to its end. Run the map again with --name ${job.name} to add the rest.`,
      );
  };
}

/** The workflow as its file says it now, when that is another than before and the user accepts it; else null. */
async function workflowSpecNow(job: Job, { acceptChanges }: ResumeOptions): Promise<JsonObject | null> {
  const spec = workflowSpecOf(job);
  const text = readText(spec.file);
  if (text === null || digestOf(text) === spec.digest) return null;
  if (!acceptChanges) {
    throw new WorkError(
      "job_changed",
      `The workflow ${spec.file} has changed since the job ${job.id} was started.`,
      {
        hint: "Give --accept-changes to go on with the new one, or start it anew with `redrive run`.",
      },
    );
  }
  const { requireWorkflow } = await import("../workflow/schema.ts");
  return plain({
    ...spec,
    workflow: requireWorkflow(text, spec.file, { variables: Object.keys(spec.variables) }),
    digest: digestOf(text),
  });
}

/** A file that is gone has not changed: the job has its own copy. */
function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** A job that is past its items goes back to them when there are items to do, or when reduce has not seen all successes. */
async function progressNow(
  engine: Engine,
  job: Job,
  { withLetters, isChanged }: Pick<ResumeOptions, "withLetters"> & { readonly isChanged: boolean },
): Promise<JsonObject> {
  const { succeededAtEnd, ...rest } = workflowProgressOf(job);
  // Another workflow has not reduced anything yet.
  const progress = isChanged || succeededAtEnd === undefined ? rest : { ...rest, succeededAtEnd };
  if (progress.phase === "setup" || progress.phase === "map") return plain(progress);
  const { ready, leased, done } = await engine.count(job.id);
  const isReduceBehind = progress.succeededAtReduce !== undefined && progress.succeededAtReduce !== done;
  const hasWork =
    ready + leased > 0 || isReduceBehind || (withLetters && (await countEligible(engine, job)) > 0);
  return plain(hasWork ? { ...progress, phase: "map", next: 0 } : progress);
}

const LOOK_AT_MAX = 200;

/** Of this folder only: nobody wants to run the work of another project by a short command. */
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
    elsewhere && `The latest of another folder (${folderOf(elsewhere)}): redrive resume ${elsewhere.id}`;
  throw new WorkError("job_not_found", "There is no interrupted job of this folder.", {
    hint: others ?? "`redrive jobs` lists all; `redrive resume JOB` resumes any of them.",
  });
}

async function isUnfinished(engine: Engine, job: Job): Promise<boolean> {
  if (job.kind === "imported" || job.kind === "deleting" || isDismissed(job)) return false;
  const status = await statusOf(engine, job);
  return status === "interrupted" || status === "stopped" || status === "failed";
}
