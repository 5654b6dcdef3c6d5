/**
 * `redrive worker`: works a named queue with the user's command, or helps with the items of a job that another process
 * runs. Both come to the same runner; here they get their command, their folder of logs and those that go along.
 */
import { existsSync } from "node:fs";
import { commandHandler, logsLostNotice } from "../attempt/command.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { systemClock } from "../kit/clock.ts";
import { Worker } from "../queue/worker.ts";
import type { Feed, RunObserver, RunResult } from "../runner/runner.ts";
import { openCompanions } from "./companions.ts";
import { drainedBy } from "./drained-by.ts";
import { specOf } from "./map-spec.ts";
import { type RunDeps, runJob } from "./run-job.ts";
import { hasOtherRunner } from "./summary.ts";
import { tellingFaults } from "./tell-fault.ts";
import { inWorkshop, refuseStanding, requireWork } from "./work.ts";
import { workflowProgressOf, workflowSpecOf } from "./workflow-spec.ts";

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
  /** Between the signals TERM and KILL. */
  readonly graceMs: number;
  /** What this worker alone may begin. */
  readonly rate?: Rate;
  /** Ends when the queue is empty. */
  readonly untilEmpty: boolean;
  /** Who its notes are by. */
  readonly name?: string;
  /** Copies the files that the command names as evidence into the home. */
  readonly keepEvidence: boolean;
  /** Decides about an item whose attempts are used up, in a shell. Default: as the queue says. */
  readonly failureCommand?: string;
  readonly onNotice: (notice: string) => void;
}

/** Works a queue until it is told to end, or is empty if that is wanted. */
export async function workQueue(deps: RunDeps, queue: Job, plan: QueueCommand): Promise<RunResult> {
  return tellingFaults(deps.engine, queue.id, () => workWithCommand(deps, queue, plan));
}

async function workWithCommand(deps: RunDeps, queue: Job, plan: QueueCommand): Promise<RunResult> {
  const { engine, home, clock = systemClock, companions: openers = [], observer = {} } = deps;
  return inWorkshop(queue, { engine, home, clock, stop: deps.stop }, async (workshop) => {
    const { launcher, logs, evidence, scratch } = workshop;
    const companions = openCompanions(openers, queue, { engine, home, clock, onNotice: plan.onNotice });
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
      companions.settled(item, settlement);
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
        ...(deps.toxicAfter !== undefined && { toxicAfter: deps.toxicAfter }),
        ...(deps.groupRules && { groupRules: deps.groupRules }),
        ...(deps.classRules && { classRules: deps.classRules }),
      });
      return await drainedBy(deps.drain, worker);
    } finally {
      await companions.stop();
      await command.close();
    }
  });
}

export interface HelpOptions {
  /** How many run at a time; the job's own number by default. */
  readonly slots?: number;
  readonly onNotice: (notice: string) => void;
}

/** Works the items of a job beside the process that runs it, with the job's own command or steps, until they are done. */
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

/** The last one to leave writes that a map is done: whoever runs it has left it to us when it ended before. */
async function endMap(engine: Engine, jobId: string): Promise<void> {
  const job = await engine.findJob(jobId);
  if (job?.kind !== "map" || job.status !== "running" || !job.intakeComplete) return;
  if (await hasOtherRunner(engine, jobId)) return;
  await engine.changeJob(jobId, { status: "completed", event: { type: "job_completed" } });
}

/** A worktree and its branch are on the machine that merges them; items without one can be worked anywhere. */
export function requireHelpable(job: Job): void {
  if (job.kind === "queue" || job.kind === "target") refuseStanding(job);
  requireWork(job);
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

/** What setup captures is needed by the agents: a workflow that has not come to its items yet is waited for. */
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

/** So often in a row nobody else may be at the job before it is taken for left: one that begins is not there at once. */
const ALONE_LOOKS_MAX = 4;

/** While somebody takes the job's input in, an empty queue is not the end. */
function untilTakenIn({ engine, clock = systemClock, drain }: RunDeps, job: Job): Feed {
  return async function* (patience, signal) {
    for (let alone = 0; alone < ALONE_LOOKS_MAX && !signal.aborted && !drain?.aborted; ) {
      const now = await patience.through(() => engine.findJob(job.id));
      if (now === null || now.intakeComplete || now.status !== "running") return;
      alone = (await patience.through(() => hasOtherRunner(engine, job.id))) ? 0 : alone + 1;
      yield 0;
      await clock.sleep(LOOK_MS, signal);
    }
  };
}
