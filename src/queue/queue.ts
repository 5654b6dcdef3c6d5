/** A named queue as the library's user has it: made, filled, looked at, held back, and worked with a function. */

import type { AttemptContext, Handler } from "../attempt/handler.ts";
import type { Engine, HoldReport, QueueCounts } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Outcome } from "../item/settlement.ts";
import type { HandlerAnswer } from "../retry/decide.ts";
import { readException } from "../retry/thrown.ts";
import type { RunOptions } from "../runner/run-options.ts";
import { systemClock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import { type Json, parseJson, stringifyJson } from "../std/json.ts";
import {
  type AddedItem,
  type AddItemsOptions,
  openQueueIntake,
  type QueueIntake,
  type QueueItem,
} from "./add-items.ts";
import { requireQueue } from "./find-job.ts";
import { changeQueue, createQueue, type QueueSettings } from "./queue-settings.ts";
import { type QueueSpec, queueSpecOf } from "./queue-spec.ts";
import { type OnItemFailureHandler, Worker, type WorkerOptions, type WorkPlan } from "./worker.ts";

/** How a function works a queue. All of it may be left out. */
export interface ProcessOptions extends Omit<WorkerOptions, "observer">, Pick<WorkPlan, "alongside"> {
  /** An attempt that takes longer has failed; its signal is aborted. Default: no limit. */
  readonly timeoutMs?: number;
  /** Told of every attempt once the store has its end. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Told when the store does not answer, and when the worker has ended because it could not go on. */
  readonly onError?: (error: unknown) => void;
}

/** Who does something, and why. */
export interface QueueAct {
  /** Default `redrive`. */
  readonly author?: string;
  readonly reason?: string;
}

/** How long a function has to heed a stop before its item is given back without it. */
const ABANDON_AFTER_MS = 5000;

/** A named queue of a store. It need not be there yet. */
export class Queue {
  readonly name: string;
  readonly #engine: Engine;
  #intake: Promise<QueueIntake> | undefined;

  constructor(engine: Engine, name: string) {
    this.#engine = engine;
    this.name = name;
  }

  /** Makes it. The same again is the queue that is there; other settings are a `job_changed` error. */
  create(settings: QueueSettings = {}): Promise<Job> {
    return createQueue(this.#engine, this.name, settings);
  }

  /** Changes what is given. Who adds obeys it at once, workers within seconds. */
  change(settings: QueueSettings): Promise<Job> {
    return changeQueue(this.#engine, this.name, settings);
  }

  async settings(): Promise<QueueSpec> {
    return queueSpecOf(await requireQueue(this.#engine, this.name));
  }

  /** Brings items in, in their order; what became of each. */
  async add(
    items: QueueItem | readonly QueueItem[],
    options: AddItemsOptions = {},
  ): Promise<readonly AddedItem[]> {
    const all = Array.isArray(items) ? (items as readonly QueueItem[]) : [items as QueueItem];
    this.#intake ??= this.#openIntake();
    return (await this.#intake).add(all, options);
  }

  /** Kept, unless there is no such queue yet. */
  async #openIntake(): Promise<QueueIntake> {
    try {
      return await openQueueIntake(this.#engine, await requireQueue(this.#engine, this.name));
    } catch (error) {
      this.#intake = undefined;
      throw error;
    }
  }

  /** Works it with a function, until the worker is told to end. */
  process(handler: ItemHandler, options: ProcessOptions = {}): Worker {
    const { timeoutMs, onSettled, onError, onItemFailure, ...plan } = options;
    const { now } = plan.clock ?? systemClock;
    const worker = new Worker(this.#engine, this.name, {
      abandonAfterMs: ABANDON_AFTER_MS,
      ...plan,
      handler: itemHandler(handler, { timeoutMs, now }),
      ...(onItemFailure && { askHandler: failureHandler(onItemFailure) }),
      observer: { ...(onSettled && { settled: onSettled }), ...(onError && { trouble: onError }) },
    });
    if (onError) worker.ended.catch(onError);
    return worker;
  }

  /** Nothing is leased from now on, by any worker; what runs comes to its end. */
  async pause({ author = "redrive", reason = "" }: QueueAct = {}): Promise<void> {
    const { id } = await requireQueue(this.#engine, this.name);
    await this.#engine.changeJob(id, { pause: { author, reason } });
  }

  async resume(): Promise<void> {
    const { id } = await requireQueue(this.#engine, this.name);
    await this.#engine.changeJob(id, { pause: null });
  }

  /** Takes waiting items out of the line, by their ids. */
  hold(itemIds: readonly string[], { author = "redrive", reason }: QueueAct = {}): Promise<HoldReport> {
    return this.#engine.hold(this.name, itemIds, { author, ...(reason !== undefined && { reason }) });
  }

  /** Puts them back. */
  release(itemIds: readonly string[], { author = "redrive", reason }: QueueAct = {}): Promise<HoldReport> {
    return this.#engine.unhold(this.name, itemIds, { author, ...(reason !== undefined && { reason }) });
  }

  /** How many items are in each state. */
  counts(): Promise<QueueCounts> {
    return this.#engine.count(this.name);
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
