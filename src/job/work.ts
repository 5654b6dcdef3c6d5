/**
 * What a job's queue is worked with: the handler of its items, its policy and its slots, made for the kind of the job.
 * `map`, `run`, `resume` and `dlq retry` differ only in what they feed into the queue.
 */
import { mkdirSync, rmSync } from "node:fs";
import type { Handler } from "../attempt/handler.ts";
import type { Launcher } from "../attempt/launch.ts";
import { openLauncher } from "../attempt/launcher.ts";
import type { Engine } from "../engine.ts";
import type { Job, JobKind } from "../item/job.ts";
import type { Clock } from "../kit/clock.ts";
import { randomName } from "../kit/random.ts";
import type { Policy } from "../retry/policy.ts";
import type { RunObserver, RunOptions } from "../runner/runner.ts";
import { type JobLogs, jobLogs } from "./home.ts";

export interface Work {
  readonly handler: Handler;
  readonly policy: Policy;
  /** How many attempts run at a time. */
  readonly slots: number;
  readonly askHandler?: NonNullable<RunOptions["askHandler"]>;
  /** Told after the store has it, before anybody else. */
  readonly settled?: NonNullable<RunObserver["settled"]>;
  close(): Promise<void>;
}

/** What every kind of work is made from. */
export interface Workshop {
  readonly home: string;
  readonly launcher: Launcher;
  readonly logs: JobLogs;
  /** A folder of this run alone, gone when it ends. */
  readonly scratch: string;
  readonly clock: Clock;
  /** Whether a worktree that was kept for an item still has its letter. */
  readonly isKeptForLetter: (kept: { readonly itemId?: string }) => Promise<boolean>;
}

/** Opens the launcher and a folder for running attempts, for as long as the action takes. */
export async function inWorkshop<T>(
  job: Job,
  { engine, home, clock }: { readonly engine: Engine; readonly home: string; readonly clock: Clock },
  action: (workshop: Workshop) => Promise<T>,
): Promise<T> {
  const logs = jobLogs(home, job.id);
  const scratch = `${logs.runningFolder}/${process.pid}-${randomName(6)}`;
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  const launcher = openLauncher();
  try {
    const isKeptForLetter = async ({ itemId }: { readonly itemId?: string }) =>
      hasLetter(engine, job.id, itemId);
    return await action({ home, launcher, logs, scratch, clock, isKeptForLetter });
  } finally {
    await launcher.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function hasLetter(engine: Engine, queue: string, itemId: string | undefined): Promise<boolean> {
  if (itemId === undefined) return true;
  return (await engine.listLetters({ queue, itemIds: [itemId], limit: 1 })).total > 0;
}

type OpenWork = (job: Job, workshop: Workshop) => Promise<Work>;

/** Loaded when a job of the kind is run. */
const WORK_OF: Readonly<Record<JobKind, () => Promise<OpenWork>>> = {
  map: async () => (await import("./map-work.ts")).openMapWork,
  workflow: async () => (await import("./workflow-work.ts")).openWorkflowWork,
};

export async function openWork(job: Job, workshop: Workshop): Promise<Work> {
  const open = await WORK_OF[job.kind]();
  return open(job, workshop);
}
