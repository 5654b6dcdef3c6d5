/** Runs a job's queue with the handler of its kind, and records how it ended. `map`, `run`, `resume` and `dlq retry` use it. */

import { rmSync } from "node:fs";
import { hostname } from "node:os";
import type { Prices } from "../agent/prices.ts";
import { type CommandSpec, commandHandler } from "../attempt/command.ts";
import type { Launcher } from "../attempt/launch.ts";
import { openLauncher } from "../attempt/launcher.ts";
import { endOrphans } from "../attempt/process-tree.ts";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobStatus } from "../item/job.ts";
import { refuseStanding } from "../queue/find-job.ts";
import { JobControl, withControl } from "../queue/job-control.ts";
import { hasLetters, hasOtherRunner, isNamedByLetter, type JobSummary } from "../queue/job-summary.ts";
import type { FixRule } from "../redrive/fix.ts";
import { recallCancelled } from "../redrive/operation.ts";
import type { Policy } from "../retry/policy.ts";
import {
  type Feed,
  type RunnerSettings,
  type RunObserver,
  type RunOptions,
  type RunResult,
  runnerSettings,
} from "../runner/run-options.ts";
import { runQueue } from "../runner/runner.ts";
import { STORE_WAIT_MS, StoreRetry } from "../runner/store-retry.ts";
import { type StartService, startServices } from "../service/service.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { makeFolder } from "../std/files.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { messageOf } from "../std/thrown.ts";
import { evidenceFolder, type JobLogs, jobLogs } from "../store/home.ts";
import type { Finish, KeptCheckout } from "../workspace/workspace.ts";
import { recoverAgentRuns } from "./agent-runs.ts";
import { isFunctionMap, specOf } from "./map-spec.ts";

/** Dependencies and settings of every run. */
export interface RunDeps extends RunnerSettings {
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
  readonly clock?: Clock;
  /** The author of this run's operations. Default `redrive`. */
  readonly author?: string;
  /** Fixes that are applied when the queue is empty; changed letters are retried. Default: none. */
  readonly fixes?: readonly FixRule[];
  /** Background services that run with the job. */
  readonly services?: readonly StartService[];
  /** Prices for agents that report tokens but no cost. */
  readonly prices?: Prices;
  /** Requests concerning single items. Default: those that the store has for the job. */
  readonly control?: JobControl;
  /** How long a stop waits for handlers that ignore their signal. Default: until they end. */
  readonly abandonAfterMs?: number | undefined;
}

/** Dependencies of a run that can also be stopped by a request in the store. */
export function controlled(deps: RunDeps, { control }: Pick<JobRuntime, "control">): RunDeps {
  return { ...deps, stop: control.stop, control };
}

type HandlerOptions =
  | "handler"
  | "policy"
  | "slots"
  | "waitingMax"
  | "askHandler"
  | "settings"
  | "commandQueue";

export interface JobHandler extends Pick<RunOptions, HandlerOptions | "beforeSettle"> {
  readonly stopReason?: RunOptions["stopReason"];
  /** Called at the end of a redrive. Merges its commits, or returns why they are not merged. */
  readonly finish?: ((redrive: RedriveEnd) => Promise<Finish>) | undefined;
  /** Called after the settlement is stored, before any other observer. */
  readonly settled?: NonNullable<RunObserver["settled"]>;
  close(): Promise<void>;
}

export interface RedriveEnd {
  readonly end: RunResult["end"];
  readonly status: JobStatus;
  /** Called if the job asks before it merges. Default: the commits stay on their branch. */
  readonly askMerge?: AskMerge | undefined;
}

/** Resolves to true if the person agrees. `summary` is shown first; a redrive has none. */
export type AskMerge = (question: string, summary?: JobSummary) => Promise<boolean>;

/** Resources and callbacks for all job handlers of a run. */
export interface JobRuntime {
  readonly home: string;
  readonly launcher: Launcher;
  readonly logs: JobLogs;
  readonly evidence: string;
  /** A folder for this run only, removed at its end. */
  readonly scratch: string;
  readonly clock: Clock;
  /** Whether the output of successful commands is printed, so that all of it must be kept. Default false. */
  readonly isOutputWanted?: boolean | undefined;
  readonly prices?: Prices | undefined;
  readonly onNotice?: ((notice: string) => void) | undefined;
  readonly stop: AbortSignal;
  /** Whether a letter still refers to the kept worktree. */
  readonly isKeptForLetter: (kept: KeptCheckout) => Promise<boolean>;
  readonly engine: Engine;
  readonly control: JobControl;
  readonly hasLetters: () => Promise<boolean>;
  readonly recordEvent: (type: EventType, data: JsonObject) => Promise<void>;
  readonly hasOtherRunner: () => Promise<boolean>;
}

/** Opens the launcher and a folder for running attempts, and removes both when the action has ended. */
export async function withJobRuntime<T>(
  job: Job,
  deps: RunDeps & Pick<JobRuntime, "onNotice">,
  action: (jobRuntime: JobRuntime) => Promise<T>,
): Promise<T> {
  const { engine, home, clock = systemClock, stop, isOutputWanted, prices, onNotice } = deps;
  const logs = jobLogs(home, job.id);
  const scratch = `${logs.runningFolder}/${process.pid}-${randomName(6)}`;
  makeFolder(scratch, 0o700);
  await endOrphans();
  const storeRetry = storeRetryOf(deps);
  const recovery = { engine, queue: job.id, now: clock.now };
  await storeRetry.run(() => recoverAgentRuns(recovery, logs.runningFolder, prices));
  const control = new JobControl({ engine, queue: job.id, clock, stop, storeRetry });
  const launcher = openLauncher();
  const evidence = evidenceFolder(home, engine.url);
  try {
    await control.start();
    return await action({
      control,
      ...{ engine, home, launcher, logs, evidence, scratch, clock, isOutputWanted, prices, onNotice },
      stop: control.stop,
      isKeptForLetter: (kept) => isNamedByLetter(engine, job.id, kept),
      recordEvent: async (type, data) => void (await engine.changeJob(job.id, { event: { type, data } })),
      hasLetters: () => hasLetters(engine, job.id),
      hasOtherRunner: () => hasOtherRunner(engine, job.id),
    });
  } finally {
    await control.close();
    await launcher.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

export function openCommand(job: Job, spec: CommandSpec, jobRuntime: JobRuntime) {
  const { logs, evidence, scratch, clock } = jobRuntime;
  return commandHandler({
    ...jobRuntime,
    ...spec,
    jobId: job.id,
    scratch: (slot) => `${scratch}/${slot}`,
    logPath: logs.log,
    evidenceFolder: spec.keepEvidence ? evidence : undefined,
    now: clock.now,
  });
}

export function commandQueueOf({ launcher }: JobRuntime): RunOptions["commandQueue"] {
  return launcher.canQueue ? launcher : undefined;
}

/** Throws for imported letters, which need a workflow given by the user, and for maps over a function of a program. */
export function requireHandler(job: Job): void {
  if (isFunctionMap(job))
    throw new RedriveError("usage", `The items of ${job.id} are processed by a function in a program.`, {
      hint: `Run the program again: redrive.map("${job.name}", …) finishes the items, and letters.retry() retries the letters.`,
    });
  if (job.kind === "imported") {
    const message = `The letters of ${job.id} were imported, so there is no command or workflow to run them with.`;
    const hint = `Give a workflow: redrive dlq retry ${job.id} --workflow FILE. Or create a queue or target named ${job.id}, or run a workflow of that name once.`;
    throw new RedriveError("usage", message, { hint });
  }
  if (job.kind !== "deleting") return;
  throw new RedriveError("illegal_move", `The job ${job.id} is being deleted.`, {
    hint: `To finish the deletion: redrive jobs delete ${job.id}`,
  });
}

async function openJobHandler(job: Job, jobRuntime: JobRuntime): Promise<JobHandler> {
  requireHandler(job);
  if (job.kind === "workflow")
    return (await import("./workflow-agent.ts")).openWorkflowHandler(job, jobRuntime);
  if (job.kind !== "map") return refuseStanding(job);
  const spec = specOf(job);
  const { handle, askHandler, close, writeLogs: beforeSettle } = openCommand(job, spec, jobRuntime);
  const commandQueue = commandQueueOf(jobRuntime);
  const { policy, jobs: slots } = spec;
  return { handler: handle, policy, slots, askHandler, commandQueue, beforeSettle, close };
}

export interface RunJobOptions {
  readonly job: Job;
  /** How many items run at a time. Default: the job's own setting. */
  readonly slots?: number | undefined;
  /** Runs only the letters of this redrive. */
  readonly operationId?: string;
  /** How often each item is tried. Default: the policy's setting. */
  readonly maxAttempts?: number | undefined;
  readonly feed?: Feed;
  /** A handler that is already open. Default: the job's own handler, which is opened and closed here. */
  readonly work?: JobHandler | undefined;
  /** True if only one phase of the job runs. Success or failure of the job is then not recorded. */
  readonly isPhase?: boolean;
  readonly onNotice?: ((notice: string) => void) | undefined;
  /** Called at the end of a redrive if the job asks before it merges. */
  readonly askMerge?: AskMerge | undefined;
}

/**
 * Runs the job's queue to its end and records the result. A redrive does not change the job's status; its
 * operation has its own status.
 */
export async function runJob(
  deps: RunDeps,
  options: RunJobOptions,
): Promise<RunResult & { readonly finish?: Finish }> {
  const { job, work, onNotice, isPhase = false } = options;
  const isRedrive = options.operationId !== undefined;
  const storeRetry = storeRetryOf(deps);
  try {
    const result = await recordingErrors(deps.engine, job.id, () =>
      work !== undefined
        ? withControl({ queue: job.id, storeRetry }, deps, (own) => runHandler(work, own, options))
        : withJobRuntime(job, { ...deps, onNotice }, async (jobRuntime) =>
            runHandler(await openJobHandler(job, jobRuntime), controlled(deps, jobRuntime), options),
          ),
    );
    await storeRetry.run(() => recallCancelled(deps.engine, job.id));
    const isWritten = !isRedrive && (!isPhase || result.end !== "finished");
    const end = END_OF[result.end];
    if (isWritten) await storeRetry.run(() => writeEnd(deps.engine, job, end, result.reason));
    return result;
  } catch (error) {
    // An error while recording the failure must not hide the failure itself.
    const reason = messageOf(error);
    const failed = { status: "failed", event: "job_failed" } as const;
    if (!isRedrive && !isPhase) await writeEnd(deps.engine, job, failed, reason).catch(() => undefined);
    throw error;
  }
}

/** For store operations before and after the queue runs. Waits as long as the runner does. */
export function storeRetryOf({ storeWaitMs, clock = systemClock, observer, stop }: RunDeps): StoreRetry {
  return new StoreRetry(storeWaitMs ?? STORE_WAIT_MS, clock, {
    trouble: (error) => observer?.trouble?.(error),
    recovered: () => observer?.recovered?.(),
    isEnding: () => stop.aborted,
  });
}

/** Returns the options that a feed needs to redrive letters when a job is resumed. */
export function redriving(
  { clock = systemClock, author = "redrive" }: RunDeps,
  { withLetters = false, onNotice }: { withLetters?: boolean; onNotice?: (notice: string) => void },
) {
  return compact({ clock, author, withLetters, onNotice });
}

async function runHandler(work: JobHandler, deps: RunDeps, options: RunJobOptions) {
  const { job, slots, operationId, onNotice, askMerge } = options;
  const { maxAttempts } = options;
  const limited = (policy: Policy) => (maxAttempts === undefined ? policy : { ...policy, maxAttempts });
  const settings = () => {
    const { policy, ...others } = work.settings?.() ?? { policy: work.policy };
    return { ...others, policy: limited(policy) };
  };
  const { engine, clock, stop, drain, abandonAfterMs } = deps;
  const services = servicesOf(deps, job, onNotice);
  const run = (feed: Feed | undefined) =>
    runQueue({
      ...runnerSettings(deps),
      ...{ engine, stop, drain, clock, operationId, feed, abandonAfterMs },
      queue: job.id,
      policy: limited(work.policy),
      handler: work.handler,
      slots: slots ?? work.slots,
      waitingMax: work.waitingMax,
      observer: observing(deps.observer, work, services, ...holding(deps.control)),
      askHandler: work.askHandler,
      stopReason: work.stopReason,
      control: deps.control,
      settings,
      commandQueue: work.commandQueue,
      beforeSettle: work.beforeSettle,
      startMarksFolder: jobLogs(deps.home, job.id).runningFolder,
    });
  try {
    let result = await run(options.feed);
    // Letters that fixes have changed run again, until no letter matches a rule.
    for (let fixed = await fixedLetters(result, deps, options); fixed; ) {
      result = await run(fixed);
      fixed = await fixedLetters(result, deps, options);
    }
    if (operationId === undefined || work.finish === undefined) return result;
    // A redrive that runs in this process does not count as running the job.
    const { id, status: recorded } = (await engine.findJob(job.id)) ?? job;
    const isLeft = recorded === "running" && !(await hasOtherRunner(engine, id));
    const status = isLeft ? "interrupted" : recorded;
    const finish = await work.finish({ end: result.end, status, askMerge });
    if (finish.note !== undefined) onNotice?.(finish.note);
    return { ...result, finish };
  } finally {
    await services.stop();
    await work.close();
  }
}

/** Returns null if there is nothing to fix, for a redrive, or if the run did not finish. */
async function fixedLetters(
  { end }: RunResult,
  deps: RunDeps,
  { job, operationId, onNotice }: RunJobOptions,
): Promise<Feed | null> {
  const rules = deps.fixes ?? [];
  if (rules.length === 0 || end !== "finished" || operationId !== undefined) return null;
  const { autoFix } = await import("../redrive/fix.ts");
  return autoFix(deps, { job, rules, ...(onNotice && { onNotice }) });
}

/** Starts the services of a job or a worker. Without `onNotice`, notices are dropped. */
export function servicesOf(
  { engine, home, clock = systemClock, services = [] }: RunDeps,
  job: Job,
  onNotice: (notice: string) => void = () => undefined,
) {
  return startServices(services, job, { engine, home, clock, onNotice });
}

/** Holds stopped items in the background. The runner does not end before they are held. */
function holding(control: JobControl | undefined): readonly Pick<RunObserver, "settled">[] {
  return control === undefined ? [] : [{ settled: (item, settlement) => control.settled(item, settlement) }];
}

/** Passes settlements to the listeners first, in order, then to the observer. */
export function observing(
  observer: RunObserver = {},
  ...listeners: readonly Pick<RunObserver, "settled">[]
): RunObserver {
  const all = [...listeners, observer];
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      for (const one of all) one.settled?.(item, settlement, outcome);
    },
  };
}

const END_OF: Readonly<Record<RunResult["end"], { readonly status: JobStatus; readonly event: EventType }>> =
  {
    finished: { status: "completed", event: "job_completed" },
    stopped: { status: "stopped", event: "job_stopped" },
    interrupted: { status: "interrupted", event: "job_interrupted" },
  };

/** Records the end of the job unless another runner is still working on it. */
async function writeEnd(
  engine: Engine,
  job: Job,
  end: (typeof END_OF)[RunResult["end"]],
  reason?: string,
): Promise<void> {
  const isItsOwn = end.status === "failed" || end.status === "stopped"; // recorded even while other runners are active
  if (!isItsOwn && (await hasOtherRunner(engine, job.id))) return;
  const event = { type: end.event, ...(reason !== undefined && { data: { reason } }) };
  await engine.changeJob(job.id, { status: end.status, event });
}

/** Records unexpected errors of the action as events of the queue. A `RedriveError` is reported to the user instead. */
export async function recordingErrors<T>(
  engine: Engine,
  queue: string,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof RedriveError) throw error;
    const data = { message: messageOf(error), machine: hostname() };
    await engine.changeJob(queue, { event: { type: "runner_failed", data } }).catch(() => undefined);
    throw error;
  }
}
