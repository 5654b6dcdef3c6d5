/**
 * `redrive worker`: processes a named queue with the user's command, or helps with a job that another process runs. Both use
 * the same runner; this file gives them their command, log folder and services.
 */
import { existsSync } from "node:fs";
import { commandHandler, logsLostNotice } from "../attempt/command.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { refuseStanding } from "../queue/find-job.ts";
import { hasOtherRunner } from "../queue/job-summary.ts";
import { drainedBy, Worker } from "../queue/worker.ts";
import type { Feed, RunObserver, RunResult } from "../runner/run-options.ts";
import { startServices } from "../service/service.ts";
import { systemClock } from "../std/clock.ts";
import { workflowProgressOf, workflowSpecOf } from "../workflow/workflow-spec.ts";
import { requireHandler, withJobRuntime } from "./job-runtime.ts";
import { specOf } from "./map-spec.ts";
import { type RunDeps, recordingErrors, runJob } from "./run-job.ts";

/** What a worker does with the items of a queue. */
export interface QueueCommand {
  /** The command and its arguments, with variables. */
  readonly command: readonly string[];
  /** Items may begin with "-" where the command could read them as options. */
  readonly allowOptions: boolean;
  readonly cwd: string;
  /** How many run at a time. */
  readonly slots: number;
  readonly timeoutMs?: number;
  /** The time between the signals TERM and KILL. */
  readonly graceMs: number;
  /** A rate limit of this worker alone. */
  readonly rate?: Rate;
  /** Ends when the queue is empty. */
  readonly untilEmpty: boolean;
  /** The author of its notes. */
  readonly name?: string;
  /** Copies the files that the command names as evidence into the home. */
  readonly keepEvidence: boolean;
  /** A shell command that decides about items without attempts left. Default: as the queue's settings say. */
  readonly failureCommand?: string;
  readonly onNotice: (notice: string) => void;
}

/** Processes a queue until it is stopped, or until it is empty if `untilEmpty` is set. */
export async function workQueue(deps: RunDeps, queue: Job, plan: QueueCommand): Promise<RunResult> {
  return recordingErrors(deps.engine, queue.id, () => workWithCommand(deps, queue, plan));
}

async function workWithCommand(deps: RunDeps, queue: Job, plan: QueueCommand): Promise<RunResult> {
  const { engine, home, clock = systemClock, services: openers = [], observer = {} } = deps;
  return withJobRuntime(queue, { engine, home, clock, stop: deps.stop }, async (jobRuntime) => {
    const { launcher, logs, evidence, scratch } = jobRuntime;
    const services = startServices(openers, queue, { engine, home, clock, onNotice: plan.onNotice });
    const command = commandHandler({
      launcher,
      command: plan.command,
      allowOptions: plan.allowOptions,
      cwd: plan.cwd,
      jobId: queue.id,
      graceMs: plan.graceMs,
      ...(plan.timeoutMs !== undefined && { timeoutMs: plan.timeoutMs }),
      scratch: (slot) => `${scratch}/${slot}`,
      logPath: logs.log,
      ...(plan.keepEvidence && { evidenceFolder: evidence }),
      ...(plan.failureCommand !== undefined && { failureCommand: plan.failureCommand }),
      stop: deps.stop,
      now: clock.now,
      isOutputWanted: deps.isOutputWanted ?? false,
      onLogsLost: (count) => plan.onNotice(logsLostNotice(count)),
    });
    const settled: NonNullable<RunObserver["settled"]> = (item, settlement, outcome) => {
      services.settled(item, settlement);
      observer.settled?.(item, settlement, outcome);
    };
    try {
      const worker = new Worker(engine, queue.id, {
        handler: command.handle,
        concurrency: plan.slots,
        untilEmpty: plan.untilEmpty,
        signal: deps.stop,
        clock,
        observer: { ...observer, settled },
        ...(command.askHandler && { askHandler: command.askHandler }),
        ...(plan.rate && { rate: plan.rate }),
        ...(plan.name !== undefined && { name: plan.name }),
        ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
        ...(deps.poisonAfter !== undefined && { poisonAfter: deps.poisonAfter }),
        ...(deps.groupRules && { groupRules: deps.groupRules }),
        ...(deps.classRules && { classRules: deps.classRules }),
      });
      return await drainedBy(deps.drain, worker);
    } finally {
      await services.stop();
      await command.close();
    }
  });
}

export interface HelpOptions {
  /** How many items run at a time. Default: the job's own setting. */
  readonly slots?: number;
  readonly onNotice: (notice: string) => void;
}

/** Runs items of a job that another process also runs, with the job's own command or steps, until all are done. */
export async function helpJob(deps: RunDeps, job: Job, options: HelpOptions): Promise<RunResult> {
  requireHelpable(job);
  const begun = await untilItems(deps, job);
  if (begun === null) return { end: "interrupted" };
  requireFolder(begun);
  const result = await runJob(deps, {
    job: begun,
    isPhase: true,
    feed: untilTakenIn(deps, begun),
    onNotice: options.onNotice,
    ...(options.slots !== undefined && { slots: options.slots }),
  });
  if (result.end === "finished") await endMap(deps.engine, begun.id);
  return result;
}

/** The last runner records that a map has completed: a runner that ended earlier left it open. */
async function endMap(engine: Engine, jobId: string): Promise<void> {
  const job = await engine.findJob(jobId);
  if (job?.kind !== "map" || job.status !== "running" || !job.intakeComplete) return;
  if (await hasOtherRunner(engine, jobId)) return;
  await engine.changeJob(jobId, { status: "completed", event: { type: "job_completed" } });
}

/** Worktrees exist only on the machine that merges them; items without one can run anywhere. */
export function requireHelpable(job: Job): void {
  if (job.kind === "queue" || job.kind === "target") refuseStanding(job);
  requireHandler(job);
  if (job.kind !== "workflow" || workflowSpecOf(job).workflow.map.isolation === "none") return;
  throw new WorkError(
    "usage",
    `The agents of ${job.id} work in git worktrees of one repository: no other process can help with them.`,
    { hint: "Only maps, and workflows with `isolation: none` in `map`, can be worked by several processes." },
  );
}

function requireFolder(job: Job): void {
  const { cwd } = job.kind === "workflow" ? workflowSpecOf(job) : specOf(job);
  if (existsSync(cwd)) return;
  throw new WorkError(
    "usage",
    `The job ${job.id} works in ${cwd}, and there is no such folder on this machine.`,
    {
      hint: "Make it, or mount it: the command runs in the same folder on every machine.",
    },
  );
}

const LOOK_MS = 500;

/** Agents need what setup captures, so a workflow that is still in setup is waited for. */
async function untilItems(
  { engine, clock = systemClock, stop, drain }: RunDeps,
  job: Job,
): Promise<Job | null> {
  for (let now: Job = job; ; now = (await engine.findJob(job.id)) ?? now) {
    if (now.kind !== "workflow" || workflowProgressOf(now).phase !== "setup") return now;
    if (stop.aborted || drain?.aborted || now.status !== "running") return null;
    await clock.sleep(LOOK_MS, stop);
  }
}

/** After so many checks without another runner the job counts as abandoned; a runner that starts is not visible at once. */
const ALONE_LOOKS_MAX = 4;

/** While the job's input is being read, an empty queue is not the end. */
function untilTakenIn({ engine, clock = systemClock, drain }: RunDeps, job: Job): Feed {
  return async function* (storeRetry, signal) {
    for (let alone = 0; alone < ALONE_LOOKS_MAX && !signal.aborted && !drain?.aborted; ) {
      const now = await storeRetry.run(() => engine.findJob(job.id));
      if (now === null || now.intakeComplete || now.status !== "running") return;
      alone = (await storeRetry.run(() => hasOtherRunner(engine, job.id))) ? 0 : alone + 1;
      yield 0;
      await clock.sleep(LOOK_MS, signal);
    }
  };
}
