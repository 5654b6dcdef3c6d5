/**
 * `redrive dlq retry`: runs the selected letters' own work again, and waits for the end. What a process left behind, in
 * whatever way it ended, is gone on with by the same code.
 */
import { isDeliverable } from "../delivery/deliverable.ts";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { isStanding, type Job } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { systemClock } from "../kit/clock.ts";
import { beginSelected, completeSelection } from "../redrive/operation.ts";
import { planOf, planToJson, type RedrivePlan } from "../redrive/plan.ts";
import type { Selection } from "../redrive/select.ts";
import { sendLetters } from "../redrive/send.ts";
import { sendAhead } from "../redrive/send-ahead.ts";
import { watchPause } from "../redrive/watch-pause.ts";
import { Patience } from "../runner/patience.ts";
import type { RunObserver } from "../runner/runner.ts";
import { Wake } from "../runner/wake.ts";
import { requireJob } from "./find-job.ts";
import { followRedrive } from "./follow-redrive.ts";
import { requireInstalled } from "./require-command.ts";
import { type RunDeps, runJob } from "./run-job.ts";
import type { AskMerge, Finish } from "./site.ts";
import { requireWork, type Work } from "./work.ts";

/** Which letters are run again, and how. */
export interface RetryOptions extends ContinueOptions {
  readonly job: Job;
  readonly selection: Selection;
  /** Who wants it. */
  readonly author: string;
  /** Letters that are not eligible too, and without the rest between redrives. Default false. */
  readonly force?: boolean;
  /** Default: all at once, as the job says. */
  readonly plan?: RedrivePlan;
}

export interface ContinueOptions {
  /** Told when the letters are selected. */
  readonly onOperation?: (operation: Operation, job: Job) => void;
  /** Told what a person should know, e.g. where the work went. */
  readonly onNotice?: (notice: string) => void;
  /** Called with where a workflow's work went. Default: work that was to be merged and was not is an error. */
  readonly onFinish?: (finish: Finish) => void;
  /** Asked when the job is to ask before it merges. Default: the work is left in its branch. */
  readonly askMerge?: AskMerge;
}

/** Nothing leaves the dead letter queue before its new attempt has succeeded. */
export async function retryLetters(deps: RunDeps, options: RetryOptions): Promise<Operation> {
  requireInstalled(options.job); // before an operation is begun
  return continueRedrive(deps, await beginRetry(deps.engine, options), options);
}

/** The operation with its letters selected, and nothing sent. */
export async function beginRetry(engine: Engine, options: RetryOptions): Promise<Operation> {
  const { job, selection, author, force = false, plan = {} } = options;
  requireWork(job);
  const request = { queue: job.id, selection, author, force, plan: planToJson(plan) };
  return beginSelected(engine, { kind: "redrive", ...request });
}

/** Works a redrive to its end from wherever it is. One that is paused waits until somebody opens it. */
export async function continueRedrive(
  deps: RunDeps,
  begun: Operation,
  { onOperation, onFinish = requireMerged, ...watch }: ContinueOptions = {},
): Promise<Operation> {
  const { engine } = deps;
  const job = await requireJob(engine, begun.queue);
  requireWork(job);
  requireInstalled(job);
  const operation = await completeSelection(engine, begun);
  onOperation?.(operation, job);
  const finish = await workRedrive(deps, { ...watch, job, operation });
  const closed = await engine.closeOperation(operation.id);
  onFinish(finish);
  return closed;
}

async function workRedrive(deps: RunDeps, redrive: Redrive): Promise<Finish> {
  const { job, operation } = redrive;
  // A process that was killed after the last letter has not merged: that is all that is left to do then.
  const isOver = operation.endedAt !== undefined && job.kind !== "workflow";
  if (operation.selected === 0 || isOver) return {};
  if (!isStanding(job)) return runRedrive(deps, redrive);
  if (isDeliverable(job)) await deliverAgain(deps, redrive);
  else await followRedrive(deps, redrive);
  return {};
}

function requireMerged({ note, isRefused }: Finish): void {
  if (isRefused) throw new WorkError("git_refused", note ?? "The work was not merged.");
}

/** Sends the letters back to work and leaves it to a runner of the job, or to whoever goes on with the operation. */
export async function detachLetters(engine: Engine, options: RetryOptions): Promise<Operation> {
  const begun = await beginRetry(engine, options);
  await sendAhead(begun, engine, new Patience(STORE_WAIT_MS, systemClock));
  return engine.closeOperation(begun.id);
}

const STORE_WAIT_MS = 30_000;

interface Redrive extends Pick<ContinueOptions, "onNotice" | "askMerge"> {
  readonly job: Job;
  readonly operation: Operation;
  /** What the letters are worked with. Default: the job's own work. */
  readonly work?: Work;
}

/** Receipts are delivered by this process, beside whoever else does. */
async function deliverAgain(deps: RunDeps, redrive: Redrive): Promise<void> {
  const { redeliver } = await import("./target-work.ts");
  await redeliver(deps, redrive, async (own, work) => void (await runRedrive(own, { ...redrive, work })));
}

async function runRedrive(deps: RunDeps, redrive: Redrive): Promise<Finish> {
  const { job, operation, onNotice, askMerge, work } = redrive;
  const { engine, clock = systemClock } = deps;
  const { slots, maxRetries, canary } = planOf(operation);
  const bell = canary ? new Wake() : undefined;
  const over = new AbortController();
  const sending = { engine, clock, ...(bell && { bell }), ...(onNotice && { onNotice }) };
  const watching = watchPause(operation, { ...sending, signal: over.signal });
  try {
    const { reason, finish = {} } = await runJob(
      bell ? { ...deps, observer: ringing(bell, deps.observer) } : deps,
      {
        job,
        operationId: operation.id,
        feed: (patience, signal) => sendLetters(operation, { ...sending, patience, signal }),
        ...(work && { work }),
        ...(slots !== undefined && { slots }),
        ...(maxRetries !== undefined && { maxAttempts: maxRetries + 1 }),
        ...(onNotice && { onNotice }),
        ...(askMerge && { askMerge }),
      },
    );
    if (reason !== undefined) onNotice?.(`Stopped: ${reason}.`);
    return finish;
  } finally {
    over.abort();
    await watching;
  }
}

/** A canary waits for what it has sent: it hears at once when something has come to an end. */
function ringing(bell: Wake, observer: RunObserver = {}): RunObserver {
  return {
    ...observer,
    settled: (...settled) => {
      bell.ring();
      observer.settled?.(...settled);
    },
  };
}
