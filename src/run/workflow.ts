/** `redrive run`: runs the phases setup, map, reduce and merge, starting where the last run of the job stopped. */
import { mkdirSync } from "node:fs";
import { basename } from "node:path";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { runExclusively } from "../lease/holder.ts";
import { slugOf } from "../queue/find-job.ts";
import { type JobSummary, summarise } from "../queue/job-summary.ts";
import { redriveOnResume } from "../redrive/send.ts";
import type { Feed } from "../runner/run-options.ts";
import { systemClock } from "../std/clock.ts";
import { PRIVATE_FOLDER } from "../std/files.ts";
import { compact, type Json } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { messageOf } from "../std/thrown.ts";
import { runSteps } from "../workflow/run-steps.ts";
import {
  type Phase,
  plain,
  type WorkflowProgress,
  type WorkflowSpec,
  workflowProgressOf,
} from "../workflow/workflow-spec.ts";
import type { Finish } from "../workspace/workspace.ts";
import type { MapResult } from "./map.ts";
import { addOneByOne, SettledSignal } from "./one-by-one.ts";
import { type OnPhaseWait, waitThroughOutages } from "./phase-outages.ts";
import { requirePrograms } from "./require-programs.ts";
import { type AskMerge, controlled, type RunDeps, redriving, runJob, withJobRuntime } from "./run-job.ts";
import { verifyStart } from "./verify.ts";
import { agentHandler, type OnAgentStep } from "./workflow-agent.ts";
import { attemptSeconds, selectWorkflowItems, writeResults } from "./workflow-items.ts";
import {
  capturedSince,
  checkStart,
  closeRuntime,
  jobVariables,
  openWorkflowRuntime,
  stepContextOf,
  type WorkflowRuntime,
} from "./workflow-runtime.ts";

export interface WorkflowRunOptions {
  /** Whether to retry the eligible letters too, like `resume`. Default false. */
  readonly withLetters?: boolean;
  readonly slots?: number;
  readonly onJob?: (job: Job) => void;
  readonly onNotice?: (notice: string) => void;
  /** Called when a step of setup, reduce or merge begins. */
  readonly onPhaseStep?: (phase: Phase, index: number, total: number, label: string) => void;
  /** Called when setup, reduce or merge starts to wait for a limit or an outage to end. */
  readonly onPhaseWait?: OnPhaseWait;
  readonly onAgentStep?: OnAgentStep;
  /** Called after the job has completed, if it asks before it merges. Default: the commits stay on their branch. */
  readonly askMerge?: AskMerge;
}

export interface WorkflowResult extends MapResult {
  readonly finish?: Finish;
}

/** Creates the job of a workflow and runs it. */
export async function startWorkflow(
  deps: RunDeps,
  spec: WorkflowSpec,
  options: WorkflowRunOptions,
): Promise<WorkflowResult> {
  await checkStart(spec);
  const id = `${slugOf(spec.workflow.name)}-${randomName(8)}`;
  const job = await deps.engine.createJob({ id, name: id, kind: "workflow", spec: plain(spec) });
  await deps.engine.changeJob(id, { event: { type: "phase_started", data: { phase: "setup" } } });
  return aloneAtJob(deps, id, () => runWorkflow(deps, job, options));
}

/** Runs the work, or throws `job_running` if another process is running the job. */
export function aloneAtJob<T>({ engine, clock }: RunDeps, jobId: string, work: () => Promise<T>): Promise<T> {
  return runExclusively({ engine, clock: clock ?? systemClock }, jobId, work);
}

export async function runWorkflow(
  deps: RunDeps,
  begun: Job,
  options: WorkflowRunOptions,
): Promise<WorkflowResult> {
  options.onJob?.(begun);
  try {
    return await withJobRuntime(begun, { ...deps, ...onNoticeOf(options) }, async (jobRuntime) => {
      mkdirSync(jobRuntime.logs.folder, { recursive: true, mode: PRIVATE_FOLDER });
      const runtime = await openWorkflowRuntime(begun, jobRuntime);
      for (const note of runtime.workspace.notes) options.onNotice?.(note);
      try {
        return await runPhases({ deps: controlled(deps, jobRuntime), runtime, options, job: begun });
      } finally {
        await closeRuntime(runtime);
      }
    });
  } catch (error) {
    const reason = messageOf(error);
    const change = { status: "failed", event: { type: "job_failed", data: { reason } } } as const;
    // An error while recording the failure must not hide the failure itself.
    await deps.engine.changeJob(begun.id, change).catch(() => undefined);
    throw error;
  }
}

function onNoticeOf({ onNotice }: WorkflowRunOptions): Pick<WorkflowRunOptions, "onNotice"> {
  return onNotice === undefined ? {} : { onNotice };
}

interface Run {
  readonly deps: RunDeps;
  readonly runtime: WorkflowRuntime;
  readonly options: WorkflowRunOptions;
  job: Job;
}

async function runPhases(run: Run): Promise<WorkflowResult> {
  const { workspace } = run.runtime;
  if (phaseOf(run) === "setup") {
    if (!(await runPhase(run, "setup"))) return { summary: await endRun(run, "interrupted") };
    await enterPhase(run, "map");
  }
  if (phaseOf(run) === "map") {
    const ended = await runMap(run);
    if (ended !== null) return ended;
    await workspace.refresh();
    const { done } = await run.deps.engine.count(run.job.id);
    // Reduce is skipped if no item has succeeded since it last ran completely.
    const isReduced = workflowProgressOf(run.job).succeededAtEnd === done;
    await enterPhase(run, isReduced ? "ended" : "reduce", { succeededAtReduce: done });
  }
  if (phaseOf(run) === "reduce") {
    if (!(await runPhase(run, "reduce"))) return { summary: await endRun(run, "interrupted") };
    await enterPhase(run, "merge");
  }
  if (phaseOf(run) === "merge" && !(await runPhase(run, "merge")))
    return { summary: await endRun(run, "interrupted") };
  const finish = await workspace.finish();
  await tidy(run);
  if (phaseOf(run) !== "ended") await enterPhase(run, "ended");
  const summary = await endRun(run, "completed");
  return { summary, finish: await mergeIfAgreed(run, finish, summary) };
}

async function endRun(run: Run, status: "completed" | "interrupted"): Promise<JobSummary> {
  const { engine } = run.deps;
  run.job = await engine.changeJob(run.job.id, { status, event: { type: `job_${status}` } });
  return summarise(engine, run.job);
}

/** The job has already completed. If the user declines, the commits stay on their branch. */
async function mergeIfAgreed(run: Run, finish: Finish, summary: JobSummary): Promise<Finish> {
  const { askMerge } = run.options;
  if (finish.question === undefined || !(await askMerge?.(finish.question, summary))) return finish;
  const merged = await run.runtime.workspace.finish("merge");
  await tidy(run);
  return merged;
}

/** The commits are already merged, so an error during cleanup does not fail the job. */
async function tidy({ runtime, options }: Run): Promise<void> {
  try {
    await runtime.workspace.tidy();
  } catch (error) {
    if (!(error instanceof RedriveError)) throw error;
    const notice = `Some files could not be cleaned up: ${error.message} Try again with \`redrive worktrees clean\`.`;
    options.onNotice?.(notice);
  }
}

function phaseOf(run: Run): Phase {
  return workflowProgressOf(run.job).phase;
}

/** Returns true when the phase is done, false when the run was stopped. A failed step fails the job, which can be resumed. */
async function runPhase(run: Run, phase: "setup" | "reduce" | "merge"): Promise<boolean> {
  const { runtime, deps, options } = run;
  const { logs, scratch, clock } = runtime.jobRuntime;
  const { policy, phaseTimeoutMs, [phase]: steps } = runtime.spec.workflow;
  const variables: Record<string, Json> = {
    ...jobVariables({ ...runtime, job: run.job }),
    ...(await mapVariables(run, phase)),
  };
  const before = new Set(Object.keys(variables));
  const context = stepContextOf(runtime, {
    checkout: runtime.workspace,
    variables,
    logPath: logs.phase(phase),
    scratch: `${scratch}/${phase}`,
    signal: deps.stop,
    agentId: phase,
    attempt: 1,
    onStep: (index, total, label) => options.onPhaseStep?.(phase, index, total, label),
  });
  const wait = { policy, clock, stop: deps.stop, onWait: options.onPhaseWait };
  const end = await waitThroughOutages(wait, () =>
    runSteps(steps, context, {
      timeoutMs: phaseTimeoutMs[phase],
      from: workflowProgressOf(run.job).next,
      onDone: async (index) => {
        // The next step may merge the branch itself, including the conflicts that this step has resolved.
        if (phase === "merge") await runtime.workspace.advance?.();
        const captured = runtime.sealer.seal(capturedSince(before, variables));
        const all = { ...workflowProgressOf(run.job).captured, ...captured };
        await saveProgress(run, { next: index + 1, captured: all });
      },
    }),
  );
  if (end.kind === "stopped") return false;
  if (end.kind === "failed") {
    const { errorMessage, log } = end.failure;
    const message = `The ${phase} phase failed at step ${end.stepIndex + 1} of ${steps.length}: ${errorMessage}`;
    const output = log === undefined ? "" : `Its output is in ${log}. `;
    const hint = `${output}When the cause is fixed, \`redrive resume\` continues at this step.`;
    throw new RedriveError("phase_failed", message, { hint });
  }
  await runtime.workspace.commitPhase();
  return true;
}

/** Returns null when all items have ended and the next phase may begin. */
async function runMap(run: Run): Promise<WorkflowResult | null> {
  const { deps, options } = run;
  const verified = await verifyBase(run);
  if (verified === "stopped") return { summary: await endRun(run, "interrupted") };
  const runtime = { ...run.runtime, job: run.job }; // now with the variables that setup captured
  requirePrograms(runtime.spec, ["map", "reduce", "merge"]);
  const work = await agentHandler(runtime, {
    close: async () => undefined,
    onStep: options.onAgentStep,
    verified,
  });
  const settled = new SettledSignal();
  const onSettled: typeof work.settled = (...given) => {
    work.settled?.(...given);
    settled.notify();
  };
  const result = await runJob(deps, {
    job: run.job,
    work: { ...work, settled: onSettled },
    isPhase: true,
    feed: mapFeed(run, settled),
    onNotice: options.onNotice,
    slots: options.slots,
  });
  run.job = (await deps.engine.findJob(run.job.id)) ?? run.job;
  const { dead } = await deps.engine.count(run.job.id);
  if (result.end === "finished" && runtime.spec.workflow.map.isSequential && dead > 0)
    return { summary: await endRun(run, "interrupted"), stopReason: UNFINISHED };
  if (result.end === "finished") return null;
  return compact({ summary: await summarise(deps.engine, run.job), stopReason: result.reason });
}

/**
 * Returns the commit that has just been verified, if any. Throws if `verify` fails, because then no item
 * could pass.
 */
async function verifyBase(run: Run): Promise<string | "stopped" | undefined> {
  const { runtime, deps } = run;
  if (runtime.spec.workflow.verify === undefined || workflowProgressOf(run.job).verifiedBase)
    return undefined;
  const verifiedBase = await verifyStart({ ...runtime, job: run.job }, deps.stop);
  if (verifiedBase !== "stopped") await saveProgress(run, { verifiedBase });
  return verifiedBase;
}

const UNFINISHED =
  "the steps have failed, so their work is not merged. Correct the cause, or discard the letter";

const BATCH_MAX = 500;

/** Yields unfinished redrives first, then letters, then items that were not added yet. */
function mapFeed(run: Run, settled: SettledSignal): Feed {
  const { deps, options } = run;
  const runtime = { ...run.runtime, job: run.job };
  return async function* (storeRetry, signal) {
    yield* redriveOnResume(deps.engine, run.job.id, { ...redriving(deps, options), storeRetry, signal });
    if (run.job.intakeComplete) return;
    const selected = await selectWorkflowItems(runtime, deps.stop).catch((error: unknown) => {
      if (deps.stop.aborted) return null; // a killed input command has not failed
      throw error;
    });
    if (selected === null) return;
    const { items } = selected;
    if (runtime.spec.workflow.map.isSequential) {
      yield* addOneByOne({ engine: deps.engine, jobId: run.job.id, items, settled, storeRetry, signal });
      if ((await deps.engine.count(run.job.id)).total < items.length) return;
    } else
      for (let from = 0; from < items.length; from += BATCH_MAX) {
        const batch = items.slice(from, from + BATCH_MAX);
        yield (await storeRetry.run(() => deps.engine.add(run.job.id, batch))).added;
      }
    await storeRetry.run(() => deps.engine.changeJob(run.job.id, { intakeComplete: true }));
  };
}

/** Returns `${map.*}` for the phases after map. */
async function mapVariables(run: Run, phase: Phase): Promise<Record<string, Json>> {
  if (phase === "setup") return {};
  const { deps, runtime, job } = run;
  const { total, done, dead, skipped } = await deps.engine.count(job.id);
  const { file, results } = await writeResults(deps.engine, job, runtime.jobRuntime.logs.folder);
  const rate = (count: number) => (total === 0 ? 0 : count / total);
  const { workflow } = runtime.spec;
  // Reading all attempts is slow for many items, so it is skipped unless the workflow uses the durations.
  const seconds = READS_DURATIONS.test(JSON.stringify([workflow.reduce, workflow.merge, workflow.env]))
    ? await attemptSeconds(deps.engine, job)
    : 0;
  return {
    map: {
      ...{ total, successful: done, failed: dead, skipped, results, results_file: file },
      ...{ success_rate: rate(done), failure_rate: rate(dead) },
      ...{ total_duration_secs: seconds, average_duration_secs: total === 0 ? 0 : seconds / total },
    },
    ...(phase === "merge" && { merge: mergeVariables(run) }),
  };
}

const READS_DURATIONS = /_duration_secs/;

/** Returns `${merge.*}`: the branch with the job's work, and the branch that it is merged into. */
function mergeVariables({ runtime: { workspace }, job }: Run): Record<string, Json> {
  const { source, target } = workspace.branches ?? {};
  return {
    source_branch: source ?? "",
    target_branch: target ?? "",
    worktree: basename(workspace.root),
    session_id: job.id,
  };
}

/** Records the phase change. After setup, its captures become available as `${setup.x}`. */
async function enterPhase(run: Run, phase: Phase, more: Partial<WorkflowProgress> = {}): Promise<void> {
  const progress = workflowProgressOf(run.job);
  const { succeededAtReduce } = { ...progress, ...more };
  const record = (type: "phase_completed" | "phase_started", of: Phase) =>
    run.deps.engine.changeJob(run.job.id, { event: { type, data: { phase: of } } });
  await record("phase_completed", progress.phase);
  await saveProgress(run, {
    phase,
    next: 0,
    ...(progress.phase === "setup" && { setup: progress.captured }),
    ...more,
    ...(phase === "ended" && succeededAtReduce !== undefined && { succeededAtEnd: succeededAtReduce }),
  });
  if (phase !== "ended") await record("phase_started", phase);
}

async function saveProgress(run: Run, change: Partial<WorkflowProgress>): Promise<void> {
  const progress = plain({ ...workflowProgressOf(run.job), ...change });
  run.job = await run.deps.engine.changeJob(run.job.id, { progress });
}
