/** What queues and targets share as objects of the library, and a user's function as the handler of a queue. */
import type { AttemptContext, Handler } from "../attempt/handler.ts";
import type { Engine, QueueCounts } from "../engine.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/settlement.ts";
import type { HandlerAnswer } from "../retry/decide.ts";
import { readException } from "../retry/thrown.ts";
import type { RunOptions } from "../runner/run-options.ts";
import { formatDuration } from "../std/duration.ts";
import { type Json, parseJson, stringifyJson } from "../std/json.ts";
import type { OnItemFailureHandler } from "./worker.ts";

/** The author and the reason of a change. */
export interface QueueAct {
  /** Default `redrive`. */
  readonly author?: string;
  readonly reason?: string;
}

/** A queue or a target. */
export class StandingQueue {
  readonly name: string;
  protected readonly engine: Engine;
  readonly #require: (engine: Engine, name: string) => Promise<Job>;

  constructor(engine: Engine, name: string, require: (engine: Engine, name: string) => Promise<Job>) {
    this.engine = engine;
    this.name = name;
    this.#require = require;
  }

  /** Stops leasing, for all workers; running attempts finish. */
  async pause({ author = "redrive", reason = "" }: QueueAct = {}): Promise<void> {
    const { id } = await this.#require(this.engine, this.name);
    await this.engine.changeJob(id, { pause: { author, reason } });
  }

  /** Ends a pause, also the one after a refused token. */
  async resume(): Promise<void> {
    const { id } = await this.#require(this.engine, this.name);
    await this.engine.changeJob(id, { pause: null });
  }

  /** How many items are in each state. */
  counts(): Promise<QueueCounts> {
    return this.engine.count(this.name);
  }
}

/** Works one item. What it returns is kept as the result; what it throws is kept as the failure. */
export type ItemHandler = (item: LeasedItem, context: AttemptContext) => unknown;

export interface ItemHandlerOptions {
  /** An attempt that takes longer has failed; its signal is aborted. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  readonly now: () => number;
}

export function itemHandler(work: ItemHandler, { timeoutMs, now }: ItemHandlerOptions): Handler {
  const perform: Handler = async (item, attempt) => {
    try {
      return succeeded(await work(item, attempt), attempt);
    } catch (thrown) {
      return releasedOr(thrown, attempt);
    }
  };
  if (timeoutMs === undefined) return perform;
  return (item, attempt) => performInTime({ work, item, attempt, timeoutMs, now });
}

const ANSWERS: readonly unknown[] = ["handled", "retry", "dlq"] satisfies readonly HandlerAnswer[];

/** A user's function as the handler of `on_item_failure: custom`. */
export function failureHandler(decide: OnItemFailureHandler): NonNullable<RunOptions["askHandler"]> {
  return async (item, failure) => {
    const answer = await decide(item, failure);
    if (ANSWERS.includes(answer)) return { answer };
    const message = `onItemFailure returned ${String(answer)}; valid answers: handled, retry, dlq`;
    return { answer: "dlq", problem: { message } };
  };
}

/** Whatever it ends with once it was told to stop says nothing about the item, unless it says so itself. */
function releasedOr(thrown: unknown, { signal }: AttemptContext): Outcome {
  if (!signal.aborted || readException(thrown).type !== undefined) throw thrown;
  return { kind: "released", why: "the worker stopped" };
}

/** The work is done, and doing it again because of its result would do it twice: a note says what is missing. */
function succeeded(value: unknown, attempt: AttemptContext): Outcome {
  if (value === undefined) return { kind: "succeeded" };
  const { note } = attempt;
  try {
    const text = stringifyJson(value);
    if (text !== undefined) return { kind: "succeeded", result: parseJson(text) as Json };
    note(`The result is a ${typeof value}, which is no JSON: it is not kept.`);
  } catch (error) {
    note(`The result cannot be kept as JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return { kind: "succeeded" };
}

interface Timed {
  readonly work: ItemHandler;
  readonly item: LeasedItem;
  readonly attempt: AttemptContext;
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** A function that does not heed its signal is left behind: its end is not waited for, and nobody hears it. */
async function performInTime({ work, item, attempt, timeoutMs, now }: Timed): Promise<Outcome> {
  const controller = new AbortController();
  const onStop = () => controller.abort(attempt.signal.reason);
  if (attempt.signal.aborted) onStop();
  else attempt.signal.addEventListener("abort", onStop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Outcome>((resolve) => {
    timer = setTimeout(() => {
      resolve(timedOut(item, attempt, { timeoutMs, now: now() }));
      controller.abort(new Error(`it took longer than ${formatDuration(timeoutMs)}`));
    }, timeoutMs);
  });
  const working = (async () => succeeded(await work(item, under(attempt, controller.signal)), attempt))();
  try {
    return await Promise.race([working, late]);
  } catch (thrown) {
    return releasedOr(thrown, attempt);
  } finally {
    clearTimeout(timer);
    attempt.signal.removeEventListener("abort", onStop);
    working.catch(() => undefined); // what comes after the end of the attempt is nobody's
  }
}

/** The same attempt with a signal of its own. */
function under(
  { attempt, slot, agentId, mayStart, note, evidence }: AttemptContext,
  signal: AbortSignal,
): AttemptContext {
  return { attempt, slot, agentId, mayStart, note, evidence, signal };
}

function timedOut(
  item: LeasedItem,
  { agentId }: AttemptContext,
  { timeoutMs, now }: { readonly timeoutMs: number; readonly now: number },
): Outcome {
  return {
    kind: "failed",
    failure: {
      attemptNumber: item.attempt,
      timestamp: now,
      errorType: { name: "Timeout" },
      errorClass: "transient",
      errorMessage: `The handler took longer than ${formatDuration(timeoutMs)}.`,
      agentId,
      stepFailed: "handler",
      durationMs: timeoutMs,
    },
  };
}
