/** The base class of queues and targets in the library, and adapters for users' handler functions. */
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
import { messageOf } from "../std/thrown.ts";
import { withTimeout } from "../std/timeout.ts";
import type { OnItemFailureHandler } from "./worker.ts";

/** The author and the reason of a change, e.g. a pause. */
export interface QueueAct {
  /** Default: the author of the store's changes, else `redrive`. */
  readonly author?: string;
  readonly reason?: string;
}

/** The common base of queues and targets, which have no end, unlike jobs. */
export class StandingQueue {
  readonly name: string;
  protected readonly engine: Engine;
  readonly #require: (engine: Engine, name: string) => Promise<Job>;

  constructor(engine: Engine, name: string, require: (engine: Engine, name: string) => Promise<Job>) {
    this.engine = engine;
    this.name = name;
    this.#require = require;
  }

  /** Stops all workers from leasing items. Running attempts finish. */
  async pause({ reason = "", ...by }: QueueAct = {}): Promise<void> {
    const { id } = await this.#require(this.engine, this.name);
    await this.engine.changeJob(id, { pause: { ...by, reason } });
  }

  /** Ends a pause, including an automatic one after a rejected token. */
  async resume(): Promise<void> {
    const { id } = await this.#require(this.engine, this.name);
    await this.engine.changeJob(id, { pause: null });
  }

  counts(): Promise<QueueCounts> {
    return this.engine.count(this.name);
  }
}

/** Processes one item. Its return value becomes the result; if it throws, the attempt fails. */
export type ItemHandler = (item: LeasedItem, context: AttemptContext) => unknown;

/** `timeoutMs` is the time limit of an attempt, after which it fails and its signal is aborted. Default: no limit. */
export type ItemHandlerOptions = { readonly timeoutMs?: number | undefined; readonly now: () => number };

export function itemHandler(work: ItemHandler, { timeoutMs, now }: ItemHandlerOptions): Handler {
  return async (item, attempt) => {
    try {
      if (timeoutMs === undefined) return succeeded(await work(item, attempt), attempt);
      const { signal } = attempt;
      const perform = async (own: AbortSignal) =>
        succeeded(await work(item, withSignal(attempt, own)), attempt);
      const outcome = await withTimeout(perform, { timeoutMs, signal });
      return outcome === "late" ? timedOut(item, attempt, { timeoutMs, now: now() }) : outcome;
    } catch (thrown) {
      // After a stop, a generic error may be caused by the stop and not by the item, so the item is released.
      const { type, class: errorClass } = readException(thrown, now());
      if (!attempt.signal.aborted || type !== undefined || errorClass !== undefined) throw thrown;
      return { kind: "released", why: "the worker stopped" };
    }
  };
}

function withSignal(context: AttemptContext, signal: AbortSignal): AttemptContext {
  const { attempt, slot, agentId, mayStart, note, evidence, progress } = context;
  return { attempt, slot, agentId, mayStart, note, evidence, progress, signal };
}

const ANSWERS: readonly unknown[] = ["handled", "retry", "dlq"] satisfies readonly HandlerAnswer[];

/** Adapts a user's function to `on_item_failure: custom`. */
export function failureHandler(decide: OnItemFailureHandler): NonNullable<RunOptions["askHandler"]> {
  return async (item, failure) => {
    const answer = await decide(item, failure);
    if (ANSWERS.includes(answer)) return { answer };
    const message = `onItemFailure returned ${String(answer)}; valid answers: handled, retry, dlq`;
    return { answer: "dlq", problem: { message } };
  };
}

/** A result that is not JSON does not fail the attempt, because the work is done: a note records the problem. */
function succeeded(value: unknown, attempt: AttemptContext): Outcome {
  if (value === undefined) return { kind: "succeeded" };
  const { note } = attempt;
  try {
    const text = stringifyJson(value);
    if (text !== undefined) return { kind: "succeeded", result: parseJson(text) as Json };
    note(`The result is a ${typeof value}, which JSON cannot represent. It was not stored.`);
  } catch (error) {
    note(`The result cannot be stored as JSON: ${messageOf(error)}`);
  }
  return { kind: "succeeded" };
}

function timedOut(
  { attempt: attemptNumber }: LeasedItem,
  { agentId }: AttemptContext,
  { timeoutMs, now: timestamp }: { timeoutMs: number; now: number },
): Outcome {
  const errorMessage = `The handler took longer than ${formatDuration(timeoutMs)}.`;
  const error = { errorType: { name: "Timeout" }, errorClass: "transient", errorMessage } as const;
  const step = { agentId, stepFailed: "handler", durationMs: timeoutMs };
  return { kind: "failed", failure: { attemptNumber, timestamp, ...error, ...step } };
}
