/**
 * One run over a job's queue, from "running" to how it ended: hands the runner the job's work and what is fed into
 * the queue, and writes the end of the job. `map`, `run`, `resume` and `dlq retry` all come through here.
 */
import type { Engine } from "../engine.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobStatus } from "../item/job.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { type Feed, type RunObserver, type RunResult, runQueue } from "../runner/runner.ts";
import { hasOtherRunner } from "./summary.ts";
import { inWorkshop, openWork, type Work } from "./work.ts";

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
  /** The work when it is open already; else it is opened and closed here. */
  readonly work?: Work;
  /** Only one phase of the job: neither its good end nor its failure is written down here. */
  readonly isPhase?: boolean;
  /** Told what a person should know of the end. */
  readonly onNotice?: (notice: string) => void;
}

/** Works the job's queue until it ends, and writes down how. An error is thrown on, and ends the job as failed. */
export async function runJob(deps: RunDeps, options: RunJobOptions): Promise<RunResult> {
  try {
    const result = await workQueue(deps, options);
    await closeOperations(deps.engine, options.job);
    // A redrive that has finished says nothing about the rest of the job.
    const isPart = options.isPhase || options.operationId !== undefined;
    if (!isPart || result.end !== "finished") {
      await writeEnd(deps.engine, options.job, END_OF[result.end], result.reason);
    }
    return result;
  } catch (error) {
    if (!options.isPhase) await writeFault(deps.engine, options.job, error);
    throw error;
  }
}

async function workQueue(deps: RunDeps, options: RunJobOptions): Promise<RunResult> {
  const clock = deps.clock ?? systemClock;
  const { job, work } = options;
  if (work !== undefined) return workWith(work, deps, options);
  return inWorkshop(job, { ...deps, clock }, async (workshop) =>
    workWith(await openWork(job, workshop), deps, options),
  );
}

async function workWith(work: Work, deps: RunDeps, options: RunJobOptions): Promise<RunResult> {
  const { job, slots, operationId, feed, onNotice } = options;
  try {
    const result = await runQueue({
      engine: deps.engine,
      queue: job.id,
      policy: work.policy,
      handler: work.handler,
      slots: slots ?? work.slots,
      stop: deps.stop,
      clock: deps.clock ?? systemClock,
      observer: observersOf(work, deps.observer),
      ...(work.askHandler && { askHandler: work.askHandler }),
      ...(operationId !== undefined && { operationId }),
      ...(feed && { feed }),
      ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
    });
    if (operationId !== undefined && result.end === "finished") {
      const notice = await work.finish?.();
      if (notice !== undefined) onNotice?.(notice);
    }
    return result;
  } finally {
    await work.close();
  }
}

/** The work itself hears first what became of an item. */
function observersOf({ settled }: Work, observer: RunObserver = {}): RunObserver {
  if (settled === undefined) return observer;
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      settled(item, settlement, outcome);
      observer.settled?.(item, settlement, outcome);
    },
  };
}

/** Whichever run brings the last letter of a redrive to its end closes the books. */
async function closeOperations(engine: Engine, job: Job): Promise<void> {
  const open = await engine.listOperations({ queue: job.id, open: true });
  for (const { id } of open) await engine.closeOperation(id);
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
  const isItsOwn = end.status === "failed" || end.status === "stopped"; // these are true whoever else is there
  if (!isItsOwn && (await hasOtherRunner(engine, job.id))) return;
  const event = { type: end.event, ...(reason !== undefined && { data: { reason } }) };
  await engine.changeJob(job.id, { status: end.status, event });
}

/** The fault itself matters more than that it could not be written down. */
async function writeFault(engine: Engine, job: Job, fault: unknown): Promise<void> {
  const reason = fault instanceof Error ? fault.message : String(fault);
  await writeEnd(engine, job, { status: "failed", event: "job_failed" }, reason).catch(() => undefined);
}
