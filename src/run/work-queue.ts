/** `redrive worker`: processes a named queue with the user's command, or helps with a job that another process runs. */
import { existsSync } from "node:fs";
import type { CommandSpec } from "../attempt/command.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { refuseStanding } from "../queue/find-job.ts";
import { hasOtherRunner } from "../queue/job-summary.ts";
import { drainedBy, Worker } from "../queue/worker.ts";
import { type Feed, type RunResult, runnerSettings } from "../runner/run-options.ts";
import { systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import { workflowProgressOf, workflowSpecOf } from "../workflow/workflow-spec.ts";
import { specOf } from "./map-spec.ts";
import {
  commandQueueOf,
  observing,
  openCommand,
  type RunDeps,
  recordingErrors,
  requireHandler,
  runJob,
  servicesOf,
  withJobRuntime,
} from "./run-job.ts";

/** The command and options of a worker. */
interface QueueCommand extends CommandSpec {
  readonly slots: number;
  /** The rate limit of this worker only. */
  readonly rate?: Rate;
  readonly untilEmpty: boolean;
  readonly name?: string;
  readonly onNotice: (notice: string) => void;
}

export async function workQueue(deps: RunDeps, queue: Job, plan: QueueCommand): Promise<RunResult> {
  const { engine, clock = systemClock, stop: signal } = deps;
  const { slots: concurrency, untilEmpty, rate, name, onNotice } = plan;
  const work = () =>
    withJobRuntime(queue, { ...deps, onNotice }, async (jobRuntime) => {
      const services = servicesOf(deps, queue, onNotice);
      const {
        handle: handler,
        askHandler,
        close,
        writeLogs: beforeSettle,
      } = openCommand(queue, plan, jobRuntime);
      try {
        const worker = new Worker(engine, queue.id, {
          ...runnerSettings(deps),
          ...compact({ rate, name }),
          ...{ handler, askHandler, concurrency, untilEmpty, signal, clock },
          observer: observing(deps.observer, services),
          commandQueue: commandQueueOf(jobRuntime),
          beforeSettle,
          startMarksFolder: jobRuntime.logs.runningFolder,
        });
        return await drainedBy(deps.drain, worker);
      } finally {
        await services.stop();
        await close();
      }
    });
  return recordingErrors(engine, queue.id, work);
}

/**
 * Runs items of a job alongside the process that started it, with the job's own command or steps, until all
 * are done.
 */
export async function helpJob(
  deps: RunDeps,
  job: Job,
  { slots, onNotice, cwd }: HelpOptions,
): Promise<RunResult> {
  requireHelpable(job);
  const begun = await untilItems(deps, job);
  if (begun === null) return { end: "interrupted" };
  if (isShared(begun)) return helpFromClone(deps, begun, { slots, onNotice, cwd });
  requireFolder(begun);
  const feed = untilTakenIn(deps, begun);
  const result = await runJob(deps, { job: begun, isPhase: true, feed, onNotice, slots });
  if (result.end === "finished") await endMap(deps.engine, begun.id);
  return result;
}

interface HelpOptions {
  readonly slots?: number | undefined;
  readonly onNotice: (notice: string) => void;
  /** The folder of the worker. For a job with a remote, this is the worker's own clone. */
  readonly cwd: string;
}

/** Whether the job's branch is on a remote, so that its items can run in other clones of the repository. */
function isShared(job: Job): boolean {
  if (job.kind !== "workflow") return false;
  const { isolation, remote } = workflowSpecOf(job).workflow.map;
  return isolation === "worktree" && remote !== undefined;
}

/** Runs items in worktrees of this clone, and merges them into the job's branch on the remote. */
async function helpFromClone(
  deps: RunDeps,
  job: Job,
  { slots, onNotice, cwd }: HelpOptions,
): Promise<RunResult> {
  const { remote = "" } = workflowSpecOf(job).workflow.map;
  const { requireClone } = await import("../workspace/shared-branch.ts");
  await requireClone(cwd, remote, job.id);
  const here: Job = { ...job, spec: { ...job.spec, cwd } };
  const feed = untilTakenIn(deps, here);
  return runJob(deps, { job: here, isPhase: true, feed, onNotice, slots });
}

/** The last runner to finish records that a map has completed, because earlier ones leave it open. */
async function endMap(engine: Engine, jobId: string): Promise<void> {
  const job = await engine.findJob(jobId);
  if (job?.kind !== "map" || job.status !== "running" || !job.intakeComplete) return;
  if (await hasOtherRunner(engine, jobId)) return;
  await engine.changeJob(jobId, { status: "completed", event: { type: "job_completed" } });
}

/** Rejects jobs whose items need worktrees of one clone. */
export function requireHelpable(job: Job): void {
  if (job.kind === "queue" || job.kind === "target") refuseStanding(job);
  requireHandler(job);
  if (job.kind !== "workflow" || isShared(job)) return;
  const { isolation, isSequential } = workflowSpecOf(job).workflow.map;
  if (isolation === "none" && !isSequential) return;
  const message = `The agents of ${job.id} work in git worktrees of one repository, so no other process can take part.`;
  const hint =
    "Several processes can work on maps, and on workflows with `remote: NAME` or `isolation: none` in `map`.";
  throw new RedriveError("usage", message, { hint });
}

function requireFolder(job: Job): void {
  const { cwd } = job.kind === "workflow" ? workflowSpecOf(job) : specOf(job);
  if (existsSync(cwd)) return;
  const message = `The job ${job.id} works in ${cwd}, which does not exist on this machine.`;
  const hint = "Create or mount the folder: the command runs in the same folder on every machine.";
  throw new RedriveError("usage", message, { hint });
}

const LOOK_MS = 500;

/** Waits until setup has ended, because agents need the variables that it captures. */
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

/**
 * The job counts as abandoned after this many checks without another runner, because a starting runner
 * registers with a delay.
 */
const ALONE_LOOKS_MAX = 4;

/** Keeps the run alive while the job's input is being read, although the queue may be empty. */
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
