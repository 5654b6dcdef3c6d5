/**
 * One run over a job's queue, from "running" to how it ended: hands the runner the job's work and what is fed into
 * the queue, and writes the end of the job. `map`, `run`, `resume` and `dlq retry` all come through here.
 */
import type { Engine } from "../engine.ts";
import type { EventType } from "../item/event.ts";
import type { Job, JobStatus } from "../item/job.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import type { FixRule } from "../redrive/fix-rule.ts";
import type { RedriveOnResume } from "../redrive/resume.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import { type Feed, type RunObserver, type RunResult, runQueue } from "../runner/runner.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import type { Companion, OpenCompanion } from "./companion.ts";
import { openCompanions } from "./companions.ts";
import type { AskMerge, Finish } from "./site.ts";
import { hasOtherRunner } from "./summary.ts";
import { tellingFaults } from "./tell-fault.ts";
import { inWorkshop, openWork, type Work } from "./work.ts";

/** What every run needs from its surroundings. */
export interface RunDeps {
  readonly engine: Engine;
  /** The folder for logs. */
  readonly home: string;
  /** Aborted to end: what runs is ended and given back. */
  readonly stop: AbortSignal;
  /** Aborted to drain: nothing more is begun, and what runs comes to its own end. */
  readonly drain?: AbortSignal;
  readonly observer?: RunObserver;
  /** Whether the observer prints the output of successful commands. Default: it is only kept in logs. */
  readonly isOutputWanted?: boolean;
  /** How long a store that cannot be written is waited for. */
  readonly storeWaitMs?: number;
  readonly clock?: Clock;
  /** Who begins the operations of this run. Default `redrive`. */
  readonly author?: string;
  /** From how many redrives an item may come back before it is toxic. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
  /** Fixes that are used when the queue is drained, and what they change is run again. Default: none. */
  readonly fixes?: readonly FixRule[];
  /** Those that go along and look after the job's letters. */
  readonly companions?: readonly OpenCompanion[];
}

export interface RunJobOptions {
  readonly job: Job;
  /** How many run at a time; the job's own number by default. */
  readonly slots?: number;
  /** Work only the letters of this redrive. */
  readonly operationId?: string;
  /** How often each item is tried; the policy's own number by default. */
  readonly maxAttempts?: number;
  readonly feed?: Feed;
  /** The work when it is open already; else it is opened and closed here. */
  readonly work?: Work;
  /** Only one phase of the job: neither its good end nor its failure is written down here. */
  readonly isPhase?: boolean;
  /** Told what a person should know. */
  readonly onNotice?: (notice: string) => void;
  /** Asked at the end of a redrive of a job that is to ask before it merges. */
  readonly askMerge?: AskMerge;
}

export interface JobRunResult extends RunResult {
  /** Where the work of a redrive went. */
  readonly finish?: Finish;
}

/**
 * Works the job's queue until it ends, and writes down how. An error is thrown on, and ends the job as failed. A redrive,
 * however it ends, says nothing about the job: it has books of its own.
 */
export async function runJob(deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const { job, isPhase = false } = options;
  const isRedrive = options.operationId !== undefined;
  try {
    const result = await tellingFaults(deps.engine, job.id, () => workQueue(deps, options));
    await closeOperations(deps.engine, job);
    const isWritten = !isRedrive && (!isPhase || result.end !== "finished");
    if (isWritten) await writeEnd(deps.engine, job, END_OF[result.end], result.reason);
    return result;
  } catch (error) {
    if (!isRedrive && !isPhase) await writeFault(deps.engine, job, error);
    throw error;
  }
}

/** What a feed needs to send letters again when a job goes on. */
export function redriving(
  { clock = systemClock, author = "redrive" }: RunDeps,
  { withLetters = false, onNotice }: { withLetters?: boolean; onNotice?: (notice: string) => void },
): Pick<RedriveOnResume, "clock" | "author" | "withLetters" | "onNotice"> {
  return { clock, author, withLetters, ...(onNotice && { onNotice }) };
}

async function workQueue(deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const clock = deps.clock ?? systemClock;
  const { job, work, onNotice } = options;
  if (work !== undefined) return workWith(work, deps, options);
  return inWorkshop(job, { ...deps, clock, ...(onNotice && { onNotice }) }, async (workshop) =>
    workWith(await openWork(job, workshop), deps, options),
  );
}

async function workWith(work: Work, deps: RunDeps, options: RunJobOptions): Promise<JobRunResult> {
  const { job, slots, operationId, feed, onNotice, askMerge } = options;
  const { maxAttempts = work.policy.maxAttempts } = options;
  const companions = companionsOf(deps, options);
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
      observer: observersOf([work, companions], deps.observer),
      ...(work.askHandler && { askHandler: work.askHandler }),
      ...(work.settings && { settings: work.settings }),
      ...(operationId !== undefined && { operationId }),
      ...(fed && { feed: fed }),
      ...(deps.storeWaitMs !== undefined && { storeWaitMs: deps.storeWaitMs }),
      ...(deps.toxicAfter !== undefined && { toxicAfter: deps.toxicAfter }),
      ...(deps.groupRules && { groupRules: deps.groupRules }),
      ...(deps.classRules && { classRules: deps.classRules }),
    });
  try {
    let result = await run(feed);
    // What the fixes of a drained queue send back is worked like the rest, until no letter matches any more.
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
    await companions.stop();
    await work.close();
  }
}

/** The status of a job whose redrive runs in this process: this process is not the one that runs the job. */
async function statusBeside(engine: Engine, { id, status }: Job): Promise<JobStatus> {
  if (status !== "running") return status;
  return (await hasOtherRunner(engine, id)) ? "running" : "interrupted";
}

/** Null when there is nothing to fix, or when this is not the job's own run to its end. */
async function fixedLetters(
  { end }: RunResult,
  deps: RunDeps,
  { job, operationId, onNotice }: RunJobOptions,
): Promise<Feed | null> {
  const rules = deps.fixes ?? [];
  if (rules.length === 0 || end !== "finished" || operationId !== undefined) return null;
  const { autoFix } = await import("./auto-fix.ts");
  return autoFix(deps, { job, rules, ...(onNotice && { onNotice }) });
}

/** What nobody listens to is said by nobody. */
function companionsOf(deps: RunDeps, { job, onNotice = () => undefined }: RunJobOptions): Companion {
  const { engine, home, clock = systemClock, companions = [] } = deps;
  return openCompanions(companions, job, { engine, home, clock, onNotice });
}

/** The work itself hears first what became of an item, then those that go along, then whoever watches. */
function observersOf(listeners: readonly RunObserver[], observer: RunObserver = {}): RunObserver {
  return {
    ...observer,
    settled: (item, settlement, outcome) => {
      for (const listener of listeners) listener.settled?.(item, settlement, outcome);
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
