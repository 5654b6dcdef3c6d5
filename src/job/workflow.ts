/** `redrive run`: setup, map, reduce, merge, each begun where the last run of the job left off. */
import { mkdirSync } from "node:fs";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { NewItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { systemClock } from "../kit/clock.ts";
import type { Json } from "../kit/json.ts";
import { PRIVATE_FOLDER } from "../kit/private-files.ts";
import { randomName } from "../kit/random.ts";
import { aloneAt } from "../lease/presence.ts";
import { redriveOnResume } from "../redrive/resume.ts";
import type { Feed } from "../runner/runner.ts";
import type { Step } from "../workflow/model.ts";
import { runSteps } from "../workflow/run-steps.ts";
import type { MapResult } from "./map.ts";
import { writeResults } from "./map-results.ts";
import { requirePrograms } from "./require-command.ts";
import { type RunDeps, redriving, runJob } from "./run-job.ts";
import type { AskMerge, Finish } from "./site.ts";
import { slugOf } from "./slug.ts";
import { type JobSummary, summarise } from "./summary.ts";
import { inWorkshop } from "./work.ts";
import { selectWorkflowItems } from "./workflow-items.ts";
import {
  capturedSince,
  checkStart,
  jobVariables,
  openWorkflowKit,
  type WorkflowKit,
  worldOf,
} from "./workflow-kit.ts";
import {
  type Phase,
  plain,
  type WorkflowProgress,
  type WorkflowSpec,
  workflowProgressOf,
} from "./workflow-spec.ts";
import { agentWork, type OnAgentStep } from "./workflow-work.ts";

export interface WorkflowRunOptions {
  /** Redrive the eligible letters too: on resume. */
  readonly withLetters?: boolean;
  readonly slots?: number;
  readonly onJob?: (job: Job) => void;
  readonly onNotice?: (notice: string) => void;
  /** Told which step of setup, reduce or merge begins. */
  readonly onPhaseStep?: (phase: Phase, index: number, total: number, label: string) => void;
  readonly onAgentStep?: OnAgentStep;
  /** Asked once the job has completed, when it is to ask before it merges. Default: the work is left in its branch. */
  readonly askMerge?: AskMerge;
}

export interface WorkflowResult extends MapResult {
  readonly finish?: Finish;
}

/** Makes the job of a workflow and runs it. */
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

/** The phases of a job are for one process at a time. */
export function aloneAtJob<T>({ engine, clock }: RunDeps, jobId: string, work: () => Promise<T>): Promise<T> {
  return aloneAt({ engine, clock: clock ?? systemClock }, jobId, work);
}

/** Goes through the phases that are left. */
export async function runWorkflow(
  deps: RunDeps,
  begun: Job,
  options: WorkflowRunOptions,
): Promise<WorkflowResult> {
  options.onJob?.(begun);
  const clock = deps.clock ?? systemClock;
  try {
    return await inWorkshop(begun, { ...deps, clock }, async (workshop) => {
      mkdirSync(workshop.logs.folder, { recursive: true, mode: PRIVATE_FOLDER });
      const kit = await openWorkflowKit(begun, workshop);
      for (const note of kit.site.notes) options.onNotice?.(note);
      try {
        return await runPhases({ deps, kit, options, job: begun });
      } finally {
        await kit.site.close();
      }
    });
  } catch (error) {
    await writeFailure(deps.engine, begun, error);
    throw error;
  }
}

interface Run {
  readonly deps: RunDeps;
  readonly kit: WorkflowKit;
  readonly options: WorkflowRunOptions;
  job: Job;
}

async function runPhases(run: Run): Promise<WorkflowResult> {
  const { workflow } = run.kit.spec;
  if (phaseOf(run) === "setup") {
    if (!(await runPhase(run, "setup", workflow.setup))) return interrupted(run);
    await run.kit.site.commitPhase();
    await enterPhase(run, "map");
  }
  if (phaseOf(run) === "map") {
    const ended = await runMap(run);
    if (ended !== null) return ended;
    await run.kit.site.refresh();
    await leaveMap(run);
  }
  if (phaseOf(run) === "reduce") {
    if (!(await runPhase(run, "reduce", workflow.reduce))) return interrupted(run);
    await run.kit.site.commitPhase();
    await enterPhase(run, "merge");
  }
  if (phaseOf(run) === "merge") {
    if (!(await runPhase(run, "merge", workflow.merge))) return interrupted(run);
    await run.kit.site.commitPhase();
  }
  const finish = await run.kit.site.finish();
  await tidy(run);
  if (phaseOf(run) !== "ended") await enterPhase(run, "ended");
  run.job = await run.deps.engine.changeJob(run.job.id, {
    status: "completed",
    event: { type: "job_completed" },
  });
  const summary = await summarise(run.deps.engine, run.job);
  return { summary, finish: await mergeIfAgreed(run, finish, summary) };
}

/** Reduce is paid for once: without a new success since the last complete pass there is nothing new to reduce. */
async function leaveMap(run: Run): Promise<void> {
  const { done } = await run.deps.engine.count(run.job.id);
  const isReduced = workflowProgressOf(run.job).succeededAtEnd === done;
  await enterPhase(run, isReduced ? "ended" : "reduce", { succeededAtReduce: done });
}

/** The job has completed by then: an answer that never comes leaves its work in its branch. */
async function mergeIfAgreed(run: Run, finish: Finish, summary: JobSummary): Promise<Finish> {
  const { askMerge } = run.options;
  if (finish.question === undefined || !(await askMerge?.(finish.question, summary))) return finish;
  const merged = await run.kit.site.finish("merge");
  await tidy(run);
  return merged;
}

/** The work is where it belongs by now: rubbish that stays is no failure of the job. */
async function tidy({ kit, options }: Run): Promise<void> {
  try {
    await kit.site.tidy();
  } catch (error) {
    if (!(error instanceof WorkError)) throw error;
    options.onNotice?.(
      `Not everything could be tidied up: ${error.message} \`redrive worktrees clean\` tries again.`,
    );
  }
}

function phaseOf(run: Run): Phase {
  return workflowProgressOf(run.job).phase;
}

/** True when it is done, false when the runner stopped. A failed step ends the job and can be gone on with. */
async function runPhase(
  run: Run,
  phase: "setup" | "reduce" | "merge",
  steps: readonly Step[],
): Promise<boolean> {
  const { kit, deps, options } = run;
  const variables: Record<string, Json> = {
    ...jobVariables({ ...kit, job: run.job }),
    ...(await mapVariables(run, phase)),
  };
  const before = new Set(Object.keys(variables));
  const world = worldOf(kit, {
    root: kit.site.root,
    ...(kit.site.head && { head: kit.site.head }),
    variables,
    logPath: kit.workshop.logs.phase(phase),
    scratch: `${kit.workshop.scratch}/${phase}`,
    signal: deps.stop,
    agentId: phase,
    attempt: 1,
    onStep: (index, total, label) => options.onPhaseStep?.(phase, index, total, label),
  });
  const timeoutMs = kit.spec.workflow.phaseTimeoutMs[phase];
  const end = await runSteps(steps, world, {
    ...(timeoutMs !== undefined && { timeoutMs }),
    from: workflowProgressOf(run.job).next,
    onDone: async (index) => {
      const captured = kit.sealer.seal(capturedSince(before, variables));
      await saveProgress(run, {
        next: index + 1,
        captured: { ...workflowProgressOf(run.job).captured, ...captured },
      });
    },
  });
  if (end.kind === "failed")
    throw phaseFailed(phase, end.stepIndex, steps.length, end.failure.errorMessage, end.failure.log);
  return end.kind === "done";
}

function phaseFailed(phase: Phase, index: number, total: number, message: string, log?: string): WorkError {
  return new WorkError(
    "phase_failed",
    `The ${phase} phase failed at step ${index + 1} of ${total}: ${message}`,
    {
      hint: `${log === undefined ? "" : `Its output is in ${log}. `}When the cause is mended, \`redrive resume\` goes on at this step.`,
    },
  );
}

/** Null when the items have come to an end and the next phase may begin. */
async function runMap(run: Run): Promise<WorkflowResult | null> {
  const { deps, options } = run;
  const kit = { ...run.kit, job: run.job }; // with what setup has captured
  requirePrograms(kit.spec, ["map", "reduce", "merge"]);
  const work = await agentWork(kit, {
    close: async () => undefined,
    ...(options.onAgentStep && { onStep: options.onAgentStep }),
  });
  const result = await runJob(deps, {
    job: run.job,
    work,
    isPhase: true,
    feed: mapFeed(run),
    ...(options.onNotice && { onNotice: options.onNotice }),
    ...(options.slots !== undefined && { slots: options.slots }),
  });
  run.job = await reread(deps.engine, run.job);
  if (result.end === "finished") return null;
  return {
    summary: await summarise(deps.engine, run.job),
    ...(result.reason !== undefined && { stopReason: result.reason }),
  };
}

const BATCH_MAX = 500;

/** First what was begun and not finished, then the letters, then the items that are not there yet. */
function mapFeed(run: Run): Feed {
  const { deps, options } = run;
  const kit = { ...run.kit, job: run.job };
  return async function* (patience, signal) {
    yield* redriveOnResume(deps.engine, run.job.id, { ...redriving(deps, options), patience, signal });
    if (run.job.intakeComplete) return;
    const items = await itemsUnlessStopped(kit, deps.stop);
    if (items === null) return;
    for (let from = 0; from < items.length; from += BATCH_MAX) {
      const batch = items.slice(from, from + BATCH_MAX);
      yield (await patience.through(() => deps.engine.add(run.job.id, batch))).added;
    }
    await patience.through(() => deps.engine.changeJob(run.job.id, { intakeComplete: true }));
  };
}

/** Null when the runner stops: a command that it ended has not failed. */
async function itemsUnlessStopped(kit: WorkflowKit, stop: AbortSignal): Promise<readonly NewItem[] | null> {
  try {
    return (await selectWorkflowItems(kit, stop)).items;
  } catch (error) {
    if (stop.aborted) return null;
    throw error;
  }
}

/** `${map.*}` for the phases after the map. */
async function mapVariables(run: Run, phase: Phase): Promise<Record<string, Json>> {
  if (phase === "setup") return {};
  const { deps, kit, job } = run;
  const counts = await deps.engine.count(job.id);
  const { file, results } = await writeResults(deps.engine, job, kit.workshop.logs.folder);
  return {
    map: {
      total: counts.total,
      successful: counts.done,
      failed: counts.dead,
      skipped: counts.skipped,
      results,
      results_file: file,
    },
  };
}

/** What setup has captured is `${setup.x}` from then on. */
async function enterPhase(run: Run, phase: Phase, more: Partial<WorkflowProgress> = {}): Promise<void> {
  const progress = workflowProgressOf(run.job);
  const setup = progress.phase === "setup" ? { setup: progress.captured } : {};
  const { succeededAtReduce } = { ...progress, ...more };
  const end =
    phase === "ended" && succeededAtReduce !== undefined ? { succeededAtEnd: succeededAtReduce } : {};
  await run.deps.engine.changeJob(run.job.id, {
    event: { type: "phase_completed", data: { phase: progress.phase } },
  });
  await saveProgress(run, { phase, next: 0, ...setup, ...more, ...end });
  if (phase === "ended") return;
  await run.deps.engine.changeJob(run.job.id, { event: { type: "phase_started", data: { phase } } });
}

async function saveProgress(run: Run, change: Partial<WorkflowProgress>): Promise<void> {
  const progress = plain({ ...workflowProgressOf(run.job), ...change });
  run.job = await run.deps.engine.changeJob(run.job.id, { progress });
}

async function interrupted(run: Run): Promise<WorkflowResult> {
  const event = { type: "job_interrupted" } as const;
  run.job = await run.deps.engine.changeJob(run.job.id, { status: "interrupted", event });
  return { summary: await summarise(run.deps.engine, run.job) };
}

async function reread(engine: Engine, job: Job): Promise<Job> {
  return (await engine.findJob(job.id)) ?? job;
}

/** The failure itself matters more than that it could not be written down. */
async function writeFailure(engine: Engine, job: Job, error: unknown): Promise<void> {
  const reason = error instanceof Error ? error.message : String(error);
  const change = { status: "failed", event: { type: "job_failed", data: { reason } } } as const;
  await engine.changeJob(job.id, change).catch(() => undefined);
}
