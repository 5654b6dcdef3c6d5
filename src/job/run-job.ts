/**
 * One run over a job's queue, from "running" to how it ended: opens the launcher, hands the runner its handler and
 * feed, and writes the end of the job. `map`, `resume` and `dlq retry` all come through here.
 */
import { mkdirSync, rmSync } from "node:fs";
import { commandHandler } from "../attempt/command.ts";
import { openLauncher } from "../attempt/launcher.ts";
import type { Engine } from "../engine.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobStatus } from "../item/job.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { randomName } from "../kit/random.ts";
import { type Feed, type RunObserver, type RunResult, runQueue } from "../runner/runner.ts";
import { jobLogs } from "./home.ts";
import { specOf } from "./map-spec.ts";
import { hasRunner } from "./summary.ts";

/** What every run needs from its surroundings. */
export interface RunDeps {
  readonly engine: Engine;
  /** The folder for logs. */
  readonly home: string;
  /** Aborted to drain. */
  readonly stop: AbortSignal;
  readonly observer?: RunObserver;
  /** How long a store that cannot be written is waited for. */
  readonly storeWaitMs?: number;
  readonly clock?: Clock;
}

export interface RunJobOptions {
  readonly job: Job;
  /** How many run at a time; the job's own number by default. */
  readonly slots?: number;
  readonly operationId?: string;
  readonly feed?: Feed;
}

/** Works the job's queue until it ends, and writes down how. An error ends the job as failed and is thrown on. */
export async function runJob(deps: RunDeps, options: RunJobOptions): Promise<RunResult> {
  try {
    const result = await workQueue(deps, options);
    // A redrive that has finished says nothing about the rest of the job.
    if (options.operationId === undefined || result.end !== "finished") {
      await writeEnd(deps.engine, options.job, END_OF[result.end], result.reason);
    }
    return result;
  } catch (error) {
    await writeFault(deps.engine, options.job, error);
    throw error;
  }
}

async function workQueue(
  deps: RunDeps,
  { job, slots, operationId, feed }: RunJobOptions,
): Promise<RunResult> {
  const spec = specOf(job);
  const clock = deps.clock ?? systemClock;
  const logs = jobLogs(deps.home, job.id);
  const scratch = `${logs.runningFolder}/${process.pid}-${randomName(6)}`;
  mkdirSync(scratch, { recursive: true });
  const launcher = openLauncher();
  const command = commandHandler({
    launcher,
    command: spec.command,
    cwd: spec.cwd,
    jobId: job.id,
    graceMs: spec.graceMs,
    ...(spec.timeoutMs !== undefined && { timeoutMs: spec.timeoutMs }),
    scratch: (slot) => `${scratch}/${slot}`,
    logPath: logs.log,
    now: clock.now,
  });
  try {
    return await runQueue({
      engine: deps.engine,
      queue: job.id,
      policy: spec.policy,
      handler: command.handle,
      slots: slots ?? spec.jobs,
      stop: deps.stop,
      clock,
      ...(operationId !== undefined && { operationId }),
      ...(feed && { feed }),
      ...(deps.observer && { observer: deps.observer }),
      ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
    });
  } finally {
    command.close();
    await launcher.close();
    rmSync(scratch, { recursive: true, force: true });
  }
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

/** The last runner to leave turns off the light: while another one is at the job, it runs. */
async function writeEnd(engine: Engine, job: Job, end: End, reason?: string): Promise<void> {
  if (end.status === "interrupted" && (await hasRunner(engine, job.id))) return;
  const event = { type: end.event, ...(reason !== undefined && { data: { reason } }) };
  await engine.changeJob(job.id, { status: end.status, event });
}

/** The fault itself matters more than that it could not be written down. */
async function writeFault(engine: Engine, job: Job, fault: unknown): Promise<void> {
  const reason = fault instanceof Error ? fault.message : String(fault);
  await writeEnd(engine, job, { status: "failed", event: "job_failed" }, reason).catch(() => undefined);
}
