/**
 * Runs a job's queue: gives the runner the job's handler and the feed, and records how the job ended. `map`, `run`, `resume`
 * and `dlq retry` all use it.
 */

import { hostname } from "node:os";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobStatus } from "../item/job.ts";
import { hasOtherRunner } from "../queue/job-summary.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import { recallCancelled } from "../redrive/operation.ts";
import type { RedriveOnResume } from "../redrive/resume.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { Feed, RunObserver, RunResult } from "../runner/run-options.ts";
import { runQueue } from "../runner/runner.ts";
import { type Service, type StartService, startServices } from "../service/service.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import type { GroupRule } from "../triage/grouping.ts";
import type { Finish } from "../workspace/workspace.ts";
import { type AskMerge, type JobHandler, openJobHandler, withJobRuntime } from "./job-runtime.ts";

/** What every run needs. */
export interface RunDeps {
  readonly engine: Engine;
  /** The folder for logs. */
  readonly home: string;
  /** Aborted to stop: running attempts are ended and released. */
  readonly stop: AbortSignal;
  /** Aborted to drain: nothing more is started, and running attempts finish. */
  readonly drain?: AbortSignal;
  readonly observer?: RunObserver;
  /** Whether the observer prints the output of successful commands. Default: output goes only to logs. */
  readonly isOutputWanted?: boolean;
  /** How long to wait for a store that cannot be written. */
  readonly storeWaitMs?: number;
  readonly clock?: Clock;
  /** The author of this run's operations. Default `redrive`. */
  readonly author?: string;
  /** From how many redrives an item may come back before it is poison. Default 5. */
  readonly poisonAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
  /** Fixes that are applied when the queue is empty; changed letters are retried. Default: none. */
  readonly fixes?: readonly FixRule[];
  /** Background services that run with the job. */
  readonly services?: readonly StartService[];
}

export interface RunJobOptions {
  readonly job: Job;
  /** How many items run at a time. Default: the job's own setting. */
  readonly slots?: number;
  /** Run only the letters of this redrive. */
  readonly operationId?: string;
  /** How often each item is tried. Default: as the policy says. */
  readonly maxAttempts?: number;
  readonly feed?: Feed;
  /** A handler that is open already. Default: the job's own, which is opened and closed here. */
  readonly work?: JobHandler;
  /** Only one phase of the job runs here: neither its success nor its failure is recorded. */
  readonly isPhase?: boolean;
  /** Called with notices for a person. */
  readonly onNotice?: (notice: string) => void;
  /** Called at the end of a redrive if the job asks before it merges. */
  readonly askMerge?: AskMerge;
}

export interface JobRunResult extends RunResult {
  /** The result of merging a redrive's commits. */
  readonly finish?: Finish;
}

/**
 * Runs the job's queue to its end and records how it ended. An error fails the job and is thrown on. A redrive does not
 * change the job's status: its operation has its own.
 */
export async function runJob(deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const { job, isPhase = false } = options;
  const isRedrive = options.operationId !== undefined;
  try {
    const result = await recordingErrors(deps.engine, job.id, () => runJobQueue(deps, options));
    await recallCancelled(deps.engine, job.id);
    const isWritten = !isRedrive && (!isPhase || result.end !== "finished");
    if (isWritten) await writeEnd(deps.engine, job, END_OF[result.end], result.reason);
    return result;
  } catch (error) {
    if (!isRedrive && !isPhase) await writeFault(deps.engine, job, error);
    throw error;
  }
}

/** What a feed needs to redrive letters when a job is resumed. */
export function redriving(
  { clock = systemClock, author = "redrive" }: RunDeps,
  { withLetters = false, onNotice }: { withLetters?: boolean; onNotice?: (notice: string) => void },
): Pick<RedriveOnResume, "clock" | "author" | "withLetters" | "onNotice"> {
  return { clock, author, withLetters, ...(onNotice && { onNotice }) };
}

async function runJobQueue(deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const clock = deps.clock ?? systemClock;
  const { job, work, onNotice } = options;
  if (work !== undefined) return runHandler(work, deps, options);
  return withJobRuntime(job, { ...deps, clock, ...(onNotice && { onNotice }) }, async (jobRuntime) =>
    runHandler(await openJobHandler(job, jobRuntime), deps, options),
  );
}

async function runHandler(work: JobHandler, deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const { job, slots, operationId, feed, onNotice, askMerge } = options;
  const { maxAttempts = work.policy.maxAttempts } = options;
  const services = servicesOf(deps, options);
  const run = (fed: Feed | undefined) =>
    runQueue({
      engine: deps.engine,
      queue: job.id,
      policy: { ...work.policy, maxAttempts },
      handler: work.handler,
      slots: slots ?? work.slots,
      stop: deps.stop,
      ...(deps.drain && { drain: deps.drain }),
      clock: deps.clock ?? systemClock,
      observer: observersOf([work, services], deps.observer),
      ...(work.askHandler && { askHandler: work.askHandler }),
      ...(work.settings && { settings: work.settings }),
      ...(operationId !== undefined && { operationId }),
      ...(fed && { feed: fed }),
      ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
      ...(deps.poisonAfter !== undefined && { poisonAfter: deps.poisonAfter }),
      ...(deps.groupRules && { groupRules: deps.groupRules }),
      ...(deps.classRules && { classRules: deps.classRules }),
    });
  try {
    let result = await run(feed);
    // Letters that fixes changed are run like the rest, until no letter matches anymore.
    for (let fixed = await fixedLetters(result, deps, options); fixed; ) {
      result = await run(fixed);
      fixed = await fixedLetters(result, deps, options);
    }
    if (operationId !== undefined && work.finish !== undefined) {
      const status = await statusBeside(deps.engine, (await deps.engine.findJob(job.id)) ?? job);
      const finish = await work.finish({ end: result.end, status, ...(askMerge && { askMerge }) });
      if (finish.note !== undefined) onNotice?.(finish.note);
      return { ...result, finish };
    }
    return result;
  } finally {
    await services.stop();
    await work.close();
  }
}

/** The status of a job whose redrive runs in this process, which does not count as running the job. */
async function statusBeside(engine: Engine, { id, status }: Job): Promise<JobStatus> {
  if (status !== "running") return status;
  return (await hasOtherRunner(engine, id)) ? "running" : "interrupted";
}

/** Null if there is nothing to fix, or if this is a redrive or a run that did not finish. */
async function fixedLetters(
  { end }: RunResult,
  deps: RunDeps,
  { job, operationId, onNotice }: RunJobOptions,
): Promise<Feed | null> {
  const rules = deps.fixes ?? [];
  if (rules.length === 0 || end !== "finished" || operationId !== undefined) return null;
  const { autoFix } = await import("../redrive/auto-fix.ts");
  return autoFix(deps, { job, rules, ...(onNotice && { onNotice }) });
}

/** Without a listener, notices are dropped. */
function servicesOf(deps: RunDeps, { job, onNotice = () => undefined }: RunJobOptions): Service {
  const { engine, home, clock = systemClock, services = [] } = deps;
  return startServices(services, job, { engine, home, clock, onNotice });
}

/** The handler is notified first, then the services, then the caller's observer. */
function observersOf(listeners: readonly RunObserver[], observer: RunObserver = {}): RunObserver {
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      for (const listener of listeners) listener.settled?.(item, settlement, outcome);
      observer.settled?.(item, settlement, outcome);
    },
  };
}

interface End {
  readonly status: JobStatus;
  readonly event: EventType;
}

const END_OF: Readonly<Record<RunResult["end"], End>> = {
  finished: { status: "completed", event: "job_completed" },
  stopped: { status: "stopped", event: "job_stopped" },
  interrupted: { status: "interrupted", event: "job_interrupted" },
};

/** Records the end of the job unless another runner is still working on it. */
async function writeEnd(engine: Engine, job: Job, end: End, reason?: string): Promise<void> {
  const isItsOwn = end.status === "failed" || end.status === "stopped"; // true whatever other runners do
  if (!isItsOwn && (await hasOtherRunner(engine, job.id))) return;
  const event = { type: end.event, ...(reason !== undefined && { data: { reason } }) };
  await engine.changeJob(job.id, { status: end.status, event });
}

/** The error itself matters more than a failure to record it. */
async function writeFault(engine: Engine, job: Job, fault: unknown): Promise<void> {
  const reason = fault instanceof Error ? fault.message : String(fault);
  await writeEnd(engine, job, { status: "failed", event: "job_failed" }, reason).catch(() => undefined);
}

/**
 * Runs the action and records unexpected errors in the error log of the queue. A `WorkError` is reported to the user
 * instead.
 */
export async function recordingErrors<T>(
  engine: Engine,
  queue: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof WorkError)) await recordError(engine, queue, error).catch(() => undefined);
    throw error;
  }
}

async function recordError(engine: Engine, queue: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await engine.changeJob(queue, {
    event: { type: "runner_failed", data: { message, machine: hostname() } },
  });
}
