/** Retries letters: makes them ready for workers, or runs the job that they belong to in this process. */
import * as z from "zod";
import { RedriveError } from "../errors.ts";
import { PRIORITIES, type Priority } from "../item/item.ts";
import { isStanding, type Job } from "../item/job.ts";
import { hasRunner } from "../queue/job-summary.ts";
import { requeueLetters } from "../redrive/amend.ts";
import { parseRate, type RedrivePlan } from "../redrive/plan.ts";
import type { Selection } from "../redrive/select.ts";
import { beginRetry, continueRedrive, detachLetters } from "../run/retry.ts";
import type { JobHandler } from "../run/run-job.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import type { Context } from "./context.ts";
import { type Operation, operationOf, untilEnded } from "./operations.ts";
import type { Duration, Rate, Shape } from "./values.ts";
import * as v from "./values.ts";

/** How letters are retried. */
export interface RetryOptions {
  /**
   * Retries in stages, and stops if a letter fails again in the same way. `true`: one of each group, 1 %, 10
   * %, the rest; a number: that many letters, then the rest. Needs a running worker. Resolves at the end of
   * the last stage.
   */
  readonly canary?: boolean | number;
  /** The maximum rate at which letters are sent back. Default: no limit. */
  readonly rate?: Rate;
  /** How long to wait before the first letter. */
  readonly delay?: Duration;
  /**
   * How often each letter is retried after its first attempt. Only for letters of a job. Default: the job's
   * setting.
   */
  readonly retries?: number;
  /** The new priority of the items. Default: unchanged. */
  readonly priority?: Priority;
  /** How many letters run at the same time. Only for letters of a job. Default: the job's setting. */
  readonly concurrency?: number;
  /** Also retries letters that are not eligible, such as those that failed permanently. Default false. */
  readonly force?: boolean;
  /** Adds a copy of each letter as a new item, and discards the letter. Default false. */
  readonly asNew?: boolean;
  /** The reason for the retry, stored with the operation. */
  readonly reason?: string;
  /** Waits until all letters have ended. Retrying letters of a job always waits. Default false. */
  readonly wait?: boolean;
  /** Stops waiting. Letters that were already sent back are still retried. */
  readonly signal?: AbortSignal;
}

const retryOptions = z.strictObject({
  canary: z
    .union([z.boolean(), t.positive], { error: "expected true, false or a number of letters" })
    .optional(),
  rate: v.rate.optional(),
  delay: v.duration.optional(),
  retries: v.retries.optional(),
  priority: t.oneOf(PRIORITIES).optional(),
  concurrency: t.wholeNumber(1, 100_000).optional(),
  force: t.flag.optional(),
  asNew: t.flag.optional(),
  reason: t.text.optional(),
  wait: t.flag.optional(),
  signal: v.signal.optional(),
} satisfies Shape<RetryOptions>);

type ReadRetry = z.output<typeof retryOptions>;

export function readRetryOptions(options: RetryOptions): ReadRetry {
  const given = t.parseInput(retryOptions, options, { caller: "letters.retry", name: "options" });
  for (const name of ["canary", "rate", "delay", "retries", "concurrency", "wait"] as const)
    if (given.asNew && given[name] !== undefined && given[name] !== false)
      throw without(name, "asNew", "The copy is processed like any other item of the queue.");
  return given;
}

function without(name: string, other: string, why: string): RedriveError {
  return t.invalidInput("letters.retry", [
    { text: `options.${name} has no effect with ${other}`, field: name, hint: why },
  ]);
}

export interface RetryRequest {
  readonly job: Job;
  readonly selection: Selection;
  readonly options: ReadRetry;
  /** The function of a map in this program. Default: the job's own command or steps. */
  readonly work?: JobHandler | undefined;
}

export async function retrySelected(context: Context, request: RetryRequest): Promise<Operation> {
  const { engine, author } = context;
  const { job, selection, options } = request;
  const signal = options.signal as AbortSignal | undefined;
  const { force, reason, priority } = options;
  if (options.asNew) {
    const bulk = { queue: job.id, selection, author, signal, ...compact({ force, priority, reason }) };
    return operationOf(await requeueLetters(engine, bulk));
  }
  const redrive = { job, selection, author, plan: planOf(options), ...compact({ force, reason }) };
  if (!isStanding(job)) return runHere(context, redrive, request);
  refuseJobOptions(options, job);
  if (options.canary) return superviseCanary(context, redrive, signal);
  const sent = await detachLetters(engine, redrive);
  return options.wait ? untilEnded(context, sent.id, { signal }) : operationOf(sent);
}

type Redrive = Parameters<typeof beginRetry>[1];

function planOf({ canary, rate, delay, retries, priority, concurrency }: ReadRetry): RedrivePlan {
  return compact({
    canary: canary || undefined,
    rate: rate && parseRate(letterRate(rate.perSecond), "rate"),
    delayMs: delay,
    maxRetries: retries,
    priority,
    slots: concurrency,
  });
}

/** A plan stores its rate as an integer number of letters per second, minute or hour. */
function letterRate(perSecond: number): string {
  for (const [unit, seconds] of [
    ["s", 1],
    ["m", 60],
  ] as const) {
    const count = perSecond * seconds;
    if (count >= 1 && Math.abs(count - Math.round(count)) < 1e-9) return `${Math.round(count)}/${unit}`;
  }
  return `${Math.max(1, Math.round(perSecond * 3600))}/h`;
}

function refuseJobOptions(options: ReadRetry, { id }: Job): void {
  for (const name of ["retries", "concurrency"] as const)
    if (options[name] !== undefined)
      throw without(name, "letters of a queue", `This is decided by the workers and settings of ${id}.`);
}

/** Runs the letters in this process until all have ended. */
async function runHere(context: Context, redrive: Redrive, { options, work }: RetryRequest) {
  const { engine, home, clock, author, onNotice } = context;
  const stop = (options.signal as AbortSignal | undefined) ?? new AbortController().signal;
  const begun = await beginRetry(engine, redrive);
  const deps = { engine, home, clock, author, stop };
  return operationOf(
    await continueRedrive(deps, begun, { ...(onNotice && { onNotice }), ...(work && { work }) }),
  );
}

/** Retries the stages one after another while workers process their letters. */
async function superviseCanary(context: Context, redrive: Redrive, signal: AbortSignal | undefined) {
  const { engine, home, clock, author, onNotice } = context;
  await requireWorker(context, redrive.job.id, signal);
  const begun = await beginRetry(engine, redrive);
  const stop = signal ?? new AbortController().signal;
  return operationOf(
    await continueRedrive({ engine, home, clock, author, stop }, begun, onNotice ? { onNotice } : {}),
  );
}

const REGISTER_POLL_MS = 20;

/** A worker of this program counts from its start, so this waits until it is registered in the store. */
async function requireWorker({ engine, clock, running }: Context, queue: string, signal?: AbortSignal) {
  while (!(await hasRunner(engine, queue))) {
    const isStarting = [...running].some((worker) => worker.queue === queue);
    if (!isStarting || signal?.aborted)
      throw new RedriveError("usage", `No worker of ${queue} is running, and a canary needs one.`, {
        field: "canary",
        hint: "Start a worker first, or retry without a canary.",
      });
    await clock.sleep(REGISTER_POLL_MS, signal);
  }
}
