/**
 * What a job's queue is worked with: the handler of its items, its policy and its slots, made for the kind of the job.
 * `map`, `run`, `resume` and `dlq retry` differ only in what they feed into the queue.
 */
import { rmSync } from "node:fs";
import type { Handler } from "../attempt/handler.ts";
import type { Launcher } from "../attempt/launch.ts";
import { openLauncher } from "../attempt/launcher.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobKind, JobStatus } from "../item/job.ts";
import type { Clock } from "../kit/clock.ts";
import type { JsonObject } from "../kit/json.ts";
import { makeFolder } from "../kit/make-folder.ts";
import { randomName } from "../kit/random.ts";
import type { Policy } from "../retry/policy.ts";
import type { RunObserver, RunOptions, RunResult } from "../runner/runner.ts";
import { evidenceFolder, type JobLogs, jobLogs } from "./home.ts";
import { hasLetters, isNamedByLetter, type KeptPlace } from "./letter-needs.ts";
import type { AskMerge, Finish } from "./site.ts";
import { hasOtherRunner } from "./summary.ts";

export interface Work {
  readonly handler: Handler;
  readonly policy: Policy;
  /** How many attempts run at a time. */
  readonly slots: number;
  readonly askHandler?: NonNullable<RunOptions["askHandler"]>;
  /** Settings that may change while the queue is worked. Default: the policy as it is here. */
  readonly settings?: NonNullable<RunOptions["settings"]>;
  /** At the end of a redrive: merges its work, or returns why it is not merged. */
  readonly finish?: (redrive: RedriveEnd) => Promise<Finish>;
  /** Told after the store has it, before anybody else. */
  readonly settled?: NonNullable<RunObserver["settled"]>;
  close(): Promise<void>;
}

/** How a redrive ended, and how its job stands. */
export interface RedriveEnd {
  readonly end: RunResult["end"];
  readonly status: JobStatus;
  /** Asked when the job is to ask before it merges. Default: the work is left in its branch. */
  readonly askMerge?: AskMerge;
}

/** What every kind of work is made from. */
export interface Workshop {
  readonly home: string;
  readonly launcher: Launcher;
  readonly logs: JobLogs;
  /** The folder for copies of evidence, for those that are told to keep them. */
  readonly evidence: string;
  /** A folder of this run alone, gone when it ends. */
  readonly scratch: string;
  readonly clock: Clock;
  /** Whether the output of successful commands is printed, and so has to be whole. Default false. */
  readonly isOutputWanted?: boolean;
  /** Called with what a person should know. */
  readonly onNotice?: (notice: string) => void;
  /** Aborted when the run is to end. */
  readonly stop: AbortSignal;
  /** Whether a worktree that was kept for an item still has its letter. */
  readonly isKeptForLetter: (kept: KeptPlace) => Promise<boolean>;
  readonly hasLetters: () => Promise<boolean>;
  /** Writes an event of the job. */
  readonly tell: (type: EventType, data: JsonObject) => Promise<void>;
  /** Whether another process works the job's queue. */
  readonly hasOtherRunner: () => Promise<boolean>;
}

/** Opens the launcher and a folder for running attempts, for as long as the action takes. */
export async function inWorkshop<T>(
  job: Job,
  surroundings: Pick<Workshop, "home" | "clock" | "stop" | "isOutputWanted" | "onNotice"> & {
    readonly engine: Engine;
  },
  action: (workshop: Workshop) => Promise<T>,
): Promise<T> {
  const { engine, home, clock, stop, isOutputWanted, onNotice } = surroundings;
  const logs = jobLogs(home, job.id);
  const scratch = `${logs.runningFolder}/${process.pid}-${randomName(6)}`;
  makeFolder(scratch, 0o700);
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
      tell: async (type, data) => void (await engine.changeJob(job.id, { event: { type, data } })),
      hasLetters: () => hasLetters(engine, job.id),
      hasOtherRunner: () => hasOtherRunner(engine, job.id),
    });
  } finally {
    await launcher.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

type OpenWork = (job: Job, workshop: Workshop) => Promise<Work>;

/** Loaded when a job of the kind is run. */
const WORK_OF: Readonly<Record<JobKind, () => Promise<OpenWork>>> = {
  map: async () => (await import("./map-work.ts")).openMapWork,
  workflow: async () => (await import("./workflow-work.ts")).openWorkflowWork,
  imported: async () => async (job) => refuseWithoutWork(job),
  deleting: async () => async (job) => refuseDeleting(job),
  queue: async () => async (job) => refuseStanding(job),
  target: async () => async (job) => refuseStanding(job),
};

/** Letters from elsewhere can only be run with a workflow that somebody gives them. */
export function requireWork(job: Job): void {
  if (job.kind === "imported") refuseWithoutWork(job);
  if (job.kind === "deleting") refuseDeleting(job);
}

function refuseDeleting(job: Job): never {
  throw new WorkError("illegal_move", `The job ${job.id} is being deleted.`, {
    hint: `Finish it: redrive jobs delete ${job.id}`,
  });
}

function refuseWithoutWork(job: Job): never {
  throw new WorkError(
    "usage",
    `The letters of ${job.id} came from elsewhere: they have no work of their own.`,
    {
      hint: `Say what is to be run: redrive dlq retry ${job.id} --workflow FILE. A queue or a target named ${job.id}, or a workflow of that name that was run once, does it too.`,
    },
  );
}

/** What stands is worked by workers that come and go. */
export function refuseStanding(job: Job): never {
  if (job.kind === "target") {
    throw new WorkError("usage", `${job.id} is a target of receipts: it is not run like a job.`, {
      hint: "`redrive receipts --help` shows what can be done with it.",
    });
  }
  throw new WorkError("usage", `${job.id} is a queue: it has no end and no work of its own.`, {
    hint: `\`redrive queue show ${job.id}\` shows how it stands. Start a worker: redrive worker --queue ${job.id} -- COMMAND`,
  });
}

export async function openWork(job: Job, workshop: Workshop): Promise<Work> {
  const open = await WORK_OF[job.kind]();
  return open(job, workshop);
}
