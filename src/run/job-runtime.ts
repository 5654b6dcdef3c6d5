/**
 * What runs the items of a job: the handler for its kind of job, with its policy and its concurrency, and the runtime that
 * handlers are opened with. `map`, `run`, `resume` and `dlq retry` differ only in what they feed into the queue.
 */

import { rmSync } from "node:fs";
import type { Handler } from "../attempt/handler.ts";
import type { Launcher } from "../attempt/launch.ts";
import { openLauncher } from "../attempt/launcher.ts";
import { endOrphans } from "../attempt/process-tree.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobKind, JobStatus } from "../item/job.ts";
import { refuseStanding } from "../queue/find-job.ts";
import type { JobSummary } from "../queue/job-summary.ts";
import { hasLetters, hasOtherRunner, isNamedByLetter } from "../queue/job-summary.ts";
import type { Policy } from "../retry/policy.ts";
import type { RunObserver, RunOptions, RunResult } from "../runner/run-options.ts";
import type { Clock } from "../std/clock.ts";
import { makeFolder } from "../std/files.ts";
import type { JsonObject } from "../std/json.ts";
import { randomName } from "../std/random.ts";
import { evidenceFolder, type JobLogs, jobLogs } from "../store/home.ts";
import type { Finish, KeptCheckout } from "../workspace/workspace.ts";

export interface JobHandler {
  readonly handler: Handler;
  readonly policy: Policy;
  /** How many attempts run at a time. */
  readonly slots: number;
  readonly askHandler?: NonNullable<RunOptions["askHandler"]>;
  /** Settings that may change during the run. Default: the policy above. */
  readonly settings?: NonNullable<RunOptions["settings"]>;
  /** At the end of a redrive: merges its commits, or returns why they are not merged. */
  readonly finish?: (redrive: RedriveEnd) => Promise<Finish>;
  /** Called after the store has the settlement, before any other observer. */
  readonly settled?: NonNullable<RunObserver["settled"]>;
  close(): Promise<void>;
}

/** How a redrive ended, and the status of its job. */
export interface RedriveEnd {
  readonly end: RunResult["end"];
  readonly status: JobStatus;
  /** Called when the job asks before it merges. Default: the commits stay in their branch. */
  readonly askMerge?: AskMerge;
}

/** Resolves to true when the person agrees. `summary` is shown first; a redrive has none. */
export type AskMerge = (question: string, summary?: JobSummary) => Promise<boolean>;

/** What every job handler is opened with. */
export interface JobRuntime {
  readonly home: string;
  readonly launcher: Launcher;
  readonly logs: JobLogs;
  /** The folder for copies of evidence. */
  readonly evidence: string;
  /** A folder of this run alone, removed at its end. */
  readonly scratch: string;
  readonly clock: Clock;
  /** Whether the output of successful commands is printed, so that all of it must be kept. Default false. */
  readonly isOutputWanted?: boolean;
  /** Called with notices for a person. */
  readonly onNotice?: (notice: string) => void;
  /** Aborted to stop the run. */
  readonly stop: AbortSignal;
  /** Whether a worktree that was kept for an item still has its letter. */
  readonly isKeptForLetter: (kept: KeptCheckout) => Promise<boolean>;
  readonly hasLetters: () => Promise<boolean>;
  /** Writes an event of the job. */
  readonly recordEvent: (type: EventType, data: JsonObject) => Promise<void>;
  /** Whether another process runs the job's queue. */
  readonly hasOtherRunner: () => Promise<boolean>;
}

/** Opens the launcher and a folder for running attempts, and removes both when the action has ended. */
export async function withJobRuntime<T>(
  job: Job,
  surroundings: Pick<JobRuntime, "home" | "clock" | "stop" | "isOutputWanted" | "onNotice"> & {
    readonly engine: Engine;
  },
  action: (jobRuntime: JobRuntime) => Promise<T>,
): Promise<T> {
  const { engine, home, clock, stop, isOutputWanted, onNotice } = surroundings;
  const logs = jobLogs(home, job.id);
  const scratch = `${logs.runningFolder}/${process.pid}-${randomName(6)}`;
  makeFolder(scratch, 0o700);
  await endOrphans();
  const launcher = openLauncher();
  try {
    return await action({
      home,
      launcher,
      logs,
      evidence: evidenceFolder(home, engine.url),
      scratch,
      clock,
      stop,
      ...(isOutputWanted !== undefined && { isOutputWanted }),
      ...(onNotice && { onNotice }),
      isKeptForLetter: (kept) => isNamedByLetter(engine, job.id, kept),
      recordEvent: async (type, data) => void (await engine.changeJob(job.id, { event: { type, data } })),
      hasLetters: () => hasLetters(engine, job.id),
      hasOtherRunner: () => hasOtherRunner(engine, job.id),
    });
  } finally {
    await launcher.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

type OpenJobHandler = (job: Job, jobRuntime: JobRuntime) => Promise<JobHandler>;

/** Each is loaded when a job of its kind runs. */
const HANDLER_OF: Readonly<Record<JobKind, () => Promise<OpenJobHandler>>> = {
  map: async () => (await import("./map-handler.ts")).openMapHandler,
  workflow: async () => (await import("./workflow-agent.ts")).openWorkflowHandler,
  imported: async () => async (job) => refuseWithoutHandler(job),
  deleting: async () => async (job) => refuseDeleting(job),
  queue: async () => async (job) => refuseStanding(job),
  target: async () => async (job) => refuseStanding(job),
};

/** Imported letters have no handler; they can only run with a workflow that a person gives them. */
export function requireHandler(job: Job): void {
  if (job.kind === "imported") refuseWithoutHandler(job);
  if (job.kind === "deleting") refuseDeleting(job);
}

function refuseDeleting(job: Job): never {
  throw new WorkError("illegal_move", `The job ${job.id} is being deleted.`, {
    hint: `Finish it: redrive jobs delete ${job.id}`,
  });
}

function refuseWithoutHandler(job: Job): never {
  throw new WorkError(
    "usage",
    `The letters of ${job.id} came from elsewhere: they have no work of their own.`,
    {
      hint: `Say what is to be run: redrive dlq retry ${job.id} --workflow FILE. A queue or a target named ${job.id}, or a workflow of that name that was run once, does it too.`,
    },
  );
}

export async function openJobHandler(job: Job, jobRuntime: JobRuntime): Promise<JobHandler> {
  const open = await HANDLER_OF[job.kind]();
  return open(job, jobRuntime);
}
