/** Runs a worker: waits for the store, shows progress, drains on a signal, and prints a summary. */
import { isDeliverable, requireDeliverable } from "../delivery/target-settings.ts";
import type { Engine } from "../engine.ts";
import { isStoreTrouble, type RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { requireJob, requireQueue, requireTarget } from "../queue/find-job.ts";
import { requireCommand } from "../run/require-programs.ts";
import type { RunDeps } from "../run/run-job.ts";
import { helpJob, requireHelpable, workQueue } from "../run/work-queue.ts";
import type { RunResult } from "../runner/run-options.ts";
import { StoreRetry, type StoreRetryObserver } from "../runner/store-retry.ts";
import { systemClock } from "../std/clock.ts";
import type { Context } from "./context.ts";
import { EXIT, userError } from "./exit-code.ts";
import { maintenanceOf, queueMaintenanceOf } from "./maintenance.ts";
import { dueBound, WorkerScreen } from "./render/worker-screen.ts";
import { listenForWorker, type WorkerInterrupt } from "./signals.ts";

export interface WorkerPlan {
  readonly command: readonly string[];
  /** Names of queues or receipt targets. */
  readonly queues: readonly string[] | "the only one";
  /** Receipt targets to deliver. Default: none. */
  readonly targets?: readonly string[] | "all";
  /** The file that mirrors the letters of the only target as receipts. Default: none. */
  readonly mirror?: string;
  /** Whether to redrive letters caused by an outage once their target accepts receipts. Default true. */
  readonly autoRecover?: boolean;
  readonly jobs: readonly string[];
  readonly slots: number;
  /** The concurrency for jobs. Default: that of the job. */
  readonly jobSlots?: number;
  readonly timeoutMs?: number;
  readonly graceMs: number;
  readonly rate?: Rate;
  readonly name?: string;
  /** The shell command that decides about items that are out of retries. */
  readonly failureCommand?: string;
  /** Allows items that begin with "-" where the command could parse them as options. */
  readonly allowOptions: boolean;
  readonly keepEvidence: boolean;
  readonly storeWaitMs: number;
  readonly isQuiet: boolean;
  readonly untilEmpty: boolean;
  /** With `untilEmpty`: do not wait for items that are due later than this. */
  readonly dueWithinMs: number;
  readonly drainMs: number;
}

export async function runWorker(context: Context, plan: WorkerPlan): Promise<number> {
  if (plan.command.length > 0)
    requireCommand({ command: plan.command, cwd: context.terminal.cwd }, "redrive worker --queue QUEUE");
  const maintenance = await maintenanceOf(context);
  const screen = new WorkerScreen(context, plan.isQuiet);
  const interrupt = listenForWorker(plan.drainMs, (step) =>
    step === "leave" ? screen.leave(SIGNALLED.leave) : screen.note(SIGNALLED[step]),
  );
  const isEnding = () => interrupt.drain.aborted || interrupt.stop.aborted;
  const observer = { ...screen.storeObserver, isEnding };
  const storeRetry = new StoreRetry(plan.storeWaitMs, systemClock, observer);
  try {
    const engine = await openWithRetry(context, plan.storeWaitMs, observer);
    if (engine === null) {
      await screen.close([]);
      return interrupt.exitCode ?? EXIT.interrupted;
    }
    try {
      const found = await storeRetry.run(() => find(engine, plan));
      const deps = {
        engine,
        home: context.home,
        author: context.author,
        clock: systemClock,
        stop: interrupt.stop,
        drain: interrupt.drain,
        storeWaitMs: plan.storeWaitMs,
        isOutputWanted: !plan.isQuiet && !context.isJson,
        ...maintenance,
        fixes: [], // fixes are applied when a job ends
      };
      screen.open(engine, [...found.queues, ...found.jobs], plan);
      const forQueues = await queueMaintenanceOf(context);
      const results = await workAll({ deps, forQueues, plan, context, screen, interrupt, ...found });
      await screen.close(results);
      return interrupt.exitCode ?? screen.exitCode(results);
    } finally {
      await screen.stop();
      await engine.close();
    }
  } finally {
    interrupt.dispose();
  }
}

/** Returns null if a signal arrives before the store is open: nothing was started, so there is nothing to drain. */
async function openWithRetry(context: Context, waitMs: number, observer: StoreRetryObserver) {
  const opening = Number.isFinite(waitMs) ? { busyMsMax: waitMs } : {};
  const storeRetry = new StoreRetry(waitMs, systemClock, { ...observer, endingWaitMs: 0 });
  try {
    return await storeRetry.run(() => context.openStore(opening));
  } catch (error) {
    if (observer.isEnding?.() && isStoreTrouble(error)) return null;
    throw error;
  }
}

const SIGNALLED = {
  drain: "Draining: no new items are started, and running attempts finish. Press Ctrl-C again to stop them.",
  stop: "Stopping: running attempts are stopped and their items released.",
  leave: "Stopped. Other workers take over the items within seconds.",
} as const;

interface Found {
  readonly queues: readonly Job[];
  readonly jobs: readonly Job[];
}

async function find(engine: Engine, plan: WorkerPlan): Promise<Found> {
  const queues = await findQueues(engine, plan);
  const jobs: Job[] = [];
  for (const name of new Set(plan.jobs)) {
    const job = await requireJob(engine, name);
    requireHelpable(job);
    jobs.push(job);
  }
  return { queues, jobs };
}

async function findQueues(engine: Engine, plan: WorkerPlan): Promise<readonly Job[]> {
  const queues: Job[] = [];
  for (const name of new Set(await namesOf(engine, plan))) {
    const target = await engine.findJob(name);
    queues.push(target?.kind === "target" ? target : await requireQueue(engine, name));
  }
  if (plan.targets === "all") queues.push(...(await allTargets(engine)));
  else for (const name of new Set(plan.targets ?? [])) queues.push(await requireTarget(engine, name));
  requireFitting(queues, plan);
  return queues;
}

async function allTargets(engine: Engine): Promise<readonly Job[]> {
  const targets = (await engine.listJobs({ limit: TARGETS_MAX, kinds: ["target"] })).filter(isDeliverable);
  if (targets.length > 0) return targets;
  const hint = "Create one: redrive receipts target NAME --url URL";
  throw userError("job_not_found", "There is no target to deliver receipts to.", hint);
}

const TARGETS_MAX = 1000;

/** Throws if an option has no effect on any of the queues. */
function requireFitting(
  queues: readonly Job[],
  { command, timeoutMs, failureCommand, keepEvidence, mirror, name }: WorkerPlan,
): void {
  const queue = queues.find(({ kind }) => kind === "queue");
  const target = queues.find(({ kind }) => kind === "target");
  if (queue !== undefined && command.length === 0) throw noCommand(queue.id);
  if (mirror !== undefined && queues.length > 1) {
    const hint = `Give one target: redrive receipts deliver ${target?.id} --mirror FILE`;
    throw userError("usage", "--mirror can be used with one target only, and there are several.", hint);
  }
  if (queue !== undefined || target === undefined) return;
  requireDeliverable(target);
  const [idle] = [
    command.length > 0 && "A command",
    timeoutMs !== undefined && "--timeout",
    failureCommand !== undefined && "--on-failure-command",
    keepEvidence && "--keep-evidence",
    name !== undefined && "--name",
  ].filter((word) => word !== false);
  if (idle === undefined) return;
  const hint = `The settings of the target apply: redrive worker --queue ${target.id}`;
  throw userError("usage", `${idle} has no effect on ${target.id}: it is a receipt target.`, hint);
}

export function noCommand(queue = "QUEUE"): RedriveError {
  return userError("usage", "No command was given.", `redrive worker --queue ${queue} -- COMMAND [ARG…]`);
}

async function namesOf(engine: Engine, { queues }: WorkerPlan): Promise<readonly string[]> {
  if (queues !== "the only one") return queues;
  const names = (await engine.listJobs({ limit: 10, kinds: ["queue"] })).map(({ id }) => id).sort();
  if (names.length === 1) return names;
  if (names.length === 0)
    throw userError("usage", "There are no queues.", "Create one: redrive queue create NAME");
  const message = `There are several queues: ${names.join(", ")}.`;
  throw userError("usage", message, `Give one: redrive worker --queue ${names[0]} -- COMMAND`);
}

interface Working extends Found {
  readonly deps: RunDeps;
  /** The services for queues, which differ because queues never end. */
  readonly forQueues: Pick<RunDeps, "services">;
  readonly plan: WorkerPlan;
  readonly context: Context;
  readonly screen: WorkerScreen;
  readonly interrupt: WorkerInterrupt;
}

/** Starts one runner for each queue and job. If one fails, stops the others and throws its error. */
async function workAll(working: Working): Promise<readonly RunResult[]> {
  const { deps, forQueues, plan, context, screen, interrupt, queues, jobs } = working;
  const onNotice = (notice: string) => screen.note(notice);
  const runs = [
    ...queues.map((queue, index) => {
      const own = { ...deps, ...forQueues, observer: screen.observer(index) };
      return untilDueLater(working, own, index, (bounded) =>
        queue.kind === "target"
          ? deliver(bounded, queue, { ...plan, onNotice })
          : workQueue(bounded, queue, { ...plan, cwd: context.terminal.cwd, onNotice }),
      );
    }),
    ...jobs.map((job, index) => {
      const observer = screen.observer(queues.length + index);
      const { cwd } = context.terminal;
      return helpJob({ ...deps, observer }, job, { slots: plan.jobSlots, onNotice, cwd });
    }),
  ];
  for (const run of runs) run.catch(() => interrupt.end());
  await Promise.allSettled(runs);
  return Promise.all(runs);
}

/** With `--until-empty`, also ends the worker when all remaining items are due later than `dueWithinMs`. */
async function untilDueLater(
  { deps, plan, screen }: Working,
  own: RunDeps,
  index: number,
  work: (deps: RunDeps) => Promise<RunResult>,
): Promise<RunResult> {
  if (!plan.untilEmpty) return work(own);
  const bound = dueBound(plan.dueWithinMs, (wait) => screen.waiting(index, wait));
  const drain = deps.drain ? AbortSignal.any([deps.drain, bound.signal]) : bound.signal;
  const result = await work({
    ...own,
    drain,
    observer: { ...own.observer, waiting: (wait) => bound.waiting(wait) },
  });
  const isOurs = result.end === "interrupted" && !deps.stop.aborted && !deps.drain?.aborted;
  if (bound.left === null || !isOurs) return result;
  screen.left(index, bound.left);
  return { end: "finished" };
}

/** Loads the delivery modules only when they are needed. */
async function deliver(
  deps: RunDeps,
  target: Job,
  plan: WorkerPlan & { readonly onNotice: (notice: string) => void },
): Promise<RunResult> {
  const { deliverTarget } = await import("../run/deliver.ts");
  if (plan.mirror === undefined) return deliverTarget(deps, target, plan);
  const { receiptsMirror } = await import("../service/letter-mirror.ts");
  const services = [...(deps.services ?? []), receiptsMirror(plan.mirror)];
  return deliverTarget({ ...deps, services }, target, plan);
}
