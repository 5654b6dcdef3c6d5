/** Runs a worker for a person: opens the store however long it takes, shows how it goes, heeds signals, and sums it up. */
import { isDeliverable, requireDeliverable } from "../delivery/deliverable.ts";
import type { Engine } from "../engine.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { requireJob } from "../job/find-job.ts";
import { requireCommand } from "../job/require-command.ts";
import type { RunDeps } from "../job/run-job.ts";
import { helpJob, requireHelpable, workQueue } from "../job/work-queue.ts";
import { systemClock } from "../kit/clock.ts";
import { requireQueue, requireTarget } from "../queue/find-queue.ts";
import { Patience, type PatienceObserver } from "../runner/patience.ts";
import type { RunResult } from "../runner/runner.ts";
import { authorOf } from "./author.ts";
import type { Context } from "./context.ts";
import { DueBound } from "./due-bound.ts";
import { EXIT } from "./exit-code.ts";
import { lookingAfter, lookingAfterQueues } from "./looking-after.ts";
import { listenForWorker, type WorkerInterrupt } from "./worker-interrupt.ts";
import { WorkerScreen } from "./worker-screen.ts";

export interface WorkerPlan {
  readonly command: readonly string[];
  /** Names, or the only queue that there is. Targets of receipts may be among them. */
  readonly queues: readonly string[] | "the only one";
  /** Targets of receipts that are delivered. Default: none. */
  readonly targets?: readonly string[] | "all";
  /** The file in which the letters of the only target are kept as receipts. Default: none. */
  readonly mirror?: string;
  /** Whether letters that died of an outage are sent again once their target takes receipts. Default true. */
  readonly autoRecover?: boolean;
  readonly jobs: readonly string[];
  readonly slots: number;
  /** How many of a job run at a time; the job's own number by default. */
  readonly jobSlots?: number;
  readonly timeoutMs?: number;
  readonly graceMs: number;
  readonly rate?: Rate;
  readonly name?: string;
  /** Decides about an item of a queue whose attempts are used up, in a shell. */
  readonly failureCommand?: string;
  /** Items may begin with "-" where the command could read them as options. */
  readonly allowOptions: boolean;
  readonly keepEvidence: boolean;
  readonly storeWaitMs: number;
  readonly isQuiet: boolean;
  readonly untilEmpty: boolean;
  /** Of a worker that ends when its queues are empty: what is due later is left. */
  readonly dueWithinMs: number;
  readonly drainMs: number;
}

export async function workForPerson(context: Context, plan: WorkerPlan): Promise<number> {
  if (plan.command.length > 0)
    requireCommand({ command: plan.command, cwd: context.terminal.cwd }, "redrive worker --queue QUEUE");
  const letters = await lookingAfter(context);
  const screen = new WorkerScreen(context, plan.isQuiet);
  const interrupt = listenForWorker(plan.drainMs, (step) =>
    step === "leave" ? screen.leave(SIGNALLED.leave) : screen.note(SIGNALLED[step]),
  );
  const isEnding = () => interrupt.drain.aborted || interrupt.stop.aborted;
  const observer = { ...screen.storeObserver, isEnding };
  const patience = new Patience(plan.storeWaitMs, systemClock, observer);
  try {
    const engine = await openPatiently(context, plan.storeWaitMs, observer);
    if (engine === null) return interrupt.exitCode ?? EXIT.interrupted;
    try {
      const found = await patience.through(() => find(engine, plan));
      const deps = {
        engine,
        home: context.home,
        stop: interrupt.stop,
        drain: interrupt.drain,
        clock: systemClock,
        isOutputWanted: !plan.isQuiet && !context.isJson,
        author: authorOf(context.terminal.env),
        storeWaitMs: plan.storeWaitMs,
        ...letters,
        fixes: [], // they are used when a job has come to its end
      };
      screen.open(engine, found.all, plan);
      const forQueues = await lookingAfterQueues(context);
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

/** Null when it is told to end before the store has answered: nothing was begun, so nobody waits for it any longer. */
async function openPatiently(
  context: Context,
  waitMs: number,
  observer: PatienceObserver,
): Promise<Engine | null> {
  const opening = Number.isFinite(waitMs) ? { busyMsMax: waitMs } : {};
  const patience = new Patience(waitMs, systemClock, { ...observer, endingWaitMs: 0 });
  try {
    return await patience.through(() => context.openStore(opening));
  } catch (error) {
    if (observer.isEnding?.() && isStoreTrouble(error)) return null;
    throw error;
  }
}

const SIGNALLED = {
  drain: "Ending: nothing more is begun, what runs comes to its end. Again to end it at once.",
  stop: "Ending at once: what runs is ended, and its items are given back.",
  leave: "Ended. Other workers take over its items within seconds.",
} as const;

interface Found {
  readonly queues: readonly Job[];
  readonly jobs: readonly Job[];
  readonly all: readonly Job[];
}

async function find(engine: Engine, plan: WorkerPlan): Promise<Found> {
  const queues = await findQueues(engine, plan);
  const jobs: Job[] = [];
  for (const name of new Set(plan.jobs)) {
    const job = await requireJob(engine, name);
    requireHelpable(job);
    jobs.push(job);
  }
  return { queues, jobs, all: [...queues, ...jobs] };
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
  throw new WorkError("job_not_found", "There is no target of receipts that could be delivered.", {
    hint: "`redrive receipts target NAME --url URL` makes one.",
  });
}

const TARGETS_MAX = 1000;

/** What was said has to have a meaning for one of them at least. */
function requireFitting(
  queues: readonly Job[],
  { command, timeoutMs, failureCommand, keepEvidence, mirror, name }: WorkerPlan,
): void {
  const queue = queues.find(({ kind }) => kind === "queue");
  const target = queues.find(({ kind }) => kind === "target");
  if (queue !== undefined && command.length === 0) throw noCommand(queue.id);
  if (mirror !== undefined && queues.length > 1) {
    throw new WorkError("usage", "--mirror is for the letters of one target, and there are several.", {
      hint: `Name the one: redrive receipts deliver ${target?.id} --mirror FILE`,
    });
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
  throw new WorkError("usage", `${idle} has no meaning for ${target.id}: it is a target of receipts.`, {
    hint: `They are delivered as the target says: redrive worker --queue ${target.id}`,
  });
}

/** For a queue without a command. */
export function noCommand(queue = "QUEUE"): WorkError {
  return new WorkError("usage", "No command was given for the items of the queue.", {
    hint: `redrive worker --queue ${queue} -- COMMAND [ARG…]`,
  });
}

async function namesOf(engine: Engine, { queues }: WorkerPlan): Promise<readonly string[]> {
  if (queues !== "the only one") return queues;
  const names = (await engine.listJobs({ limit: 10, kinds: ["queue"] })).map(({ id }) => id);
  if (names.length === 1) return names;
  throw new WorkError("usage", names.length === 0 ? "There is no queue yet." : "There are several queues.", {
    hint:
      names.length === 0
        ? "`redrive queue create NAME` makes one."
        : `Say which: redrive worker --queue ${names.sort()[0]} -- COMMAND`,
  });
}

interface Working extends Found {
  readonly deps: RunDeps;
  /** What is other for queues, which have no end. */
  readonly forQueues: Pick<RunDeps, "companions">;
  readonly plan: WorkerPlan;
  readonly context: Context;
  readonly screen: WorkerScreen;
  readonly interrupt: WorkerInterrupt;
}

/** One runner for each. When one of them cannot go on, the others are ended, and its error is the worker's. */
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
      const slots = plan.jobSlots === undefined ? {} : { slots: plan.jobSlots };
      return helpJob({ ...deps, observer }, job, { ...slots, onNotice });
    }),
  ];
  const ended = await Promise.allSettled(
    runs.map((run) =>
      run.catch((error: unknown) => {
        interrupt.end();
        throw error;
      }),
    ),
  );
  const failed = ended.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return ended.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

/** A worker that is to end with its queue ends as well when all that is left is due later than it waits for. */
async function untilDueLater(
  { deps, plan, screen }: Working,
  own: RunDeps,
  index: number,
  work: (deps: RunDeps) => Promise<RunResult>,
): Promise<RunResult> {
  if (!plan.untilEmpty) return work(own);
  const bound = new DueBound(plan.dueWithinMs, (wait) => screen.waiting(index, wait));
  const drain = deps.drain ? AbortSignal.any([deps.drain, bound.signal]) : bound.signal;
  const result = await work({ ...own, drain, observer: { ...own.observer, waiting: bound.waiting } });
  const isOurs = result.end === "interrupted" && !deps.stop.aborted && !deps.drain?.aborted;
  if (bound.left === null || !isOurs) return result;
  screen.left(index, bound.left);
  return { end: "finished" };
}

/** Loaded when receipts are delivered. */
async function deliver(
  deps: RunDeps,
  target: Job,
  plan: WorkerPlan & { readonly onNotice: (notice: string) => void },
): Promise<RunResult> {
  const { deliverTarget } = await import("../job/target-work.ts");
  if (plan.mirror === undefined) return deliverTarget(deps, target, plan);
  const { mirroringReceipts } = await import("../job/receipts-mirror.ts");
  const companions = [...(deps.companions ?? []), mirroringReceipts(plan.mirror)];
  return deliverTarget({ ...deps, companions }, target, plan);
}
