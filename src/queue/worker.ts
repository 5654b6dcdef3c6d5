/** A worker of a named queue: runs the queue with its settings until it is stopped. Many workers may share a queue. */
import type { Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import type { HandlerAnswer } from "../retry/decide.ts";
import {
  type RunnerSettings,
  type RunObserver,
  type RunOptions,
  type RunResult,
  runnerSettings,
} from "../runner/run-options.ts";
import { runQueue } from "../runner/runner.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { requireQueue, requireTarget } from "./find-job.ts";
import { liveSettings } from "./queue-settings.ts";
import { type QueueSpec, queueSpecOf } from "./queue-spec.ts";

/** The options of a worker. */
export interface WorkerOptions extends RunnerSettings {
  /** How many attempts run concurrently. Default 10. */
  readonly concurrency?: number;
  /** A rate limit for this worker, in addition to the queue's rate limit. Default: no limit. */
  readonly rate?: Rate;
  /** Whether the worker ends when the queue is empty instead of waiting for more items. Default false. */
  readonly untilEmpty?: boolean;
  /** The author of the worker's notes. Default: the machine, the process and the slot. */
  readonly name?: string;
  /** The folder that evidence files are copied to. Default: they are not copied. */
  readonly evidenceFolder?: string;
  readonly signal?: AbortSignal;
  /** How long a stop waits for attempts that ignore their abort signal. Default: until they end. */
  readonly abandonAfterMs?: number;
  readonly observer?: RunObserver;
  readonly clock?: Clock;
  /**
   * Decides about an item that has used all attempts: `handled` skips it, `retry` retries it, and `dlq` or an
   * error makes it a letter. Default: the queue's settings decide.
   */
  readonly onItemFailure?: OnItemFailureHandler;
}

/** Decides about an item that has used all attempts. */
export type OnItemFailureHandler = (
  item: LeasedItem,
  failure: Failure,
) => HandlerAnswer | Promise<HandlerAnswer>;

/** The handler and the options of a worker. */
export interface WorkPlan
  extends Omit<WorkerOptions, "onItemFailure">,
    Pick<RunOptions, "commandQueue" | "startMarksFolder" | "beforeSettle"> {
  readonly handler: Handler;
  /** Decides about items that have used all attempts. Default: the queue's settings decide. */
  readonly askHandler?: RunOptions["askHandler"];
  /** Whether the queue is a receipt target. Default false. */
  readonly isTarget?: boolean;
  /** Starts a service that runs until the worker ends, e.g. one that maintains the queue's letters. Default: none. */
  readonly alongside?: (queue: Job) => WorkerService;
}

export interface WorkerService {
  stop(): Promise<void>;
}

const CONCURRENCY = 10;

/** Processes the items of one queue. */
export class Worker {
  /** Resolves with the result when the worker ends; rejects when it cannot continue, e.g. if the queue does not exist. */
  readonly ended: Promise<RunResult>;
  readonly #stop = new AbortController();
  readonly #drain = new AbortController();
  readonly #clock: Clock;

  constructor(engine: Engine, queue: string, plan: WorkPlan) {
    this.#clock = plan.clock ?? systemClock;
    const onAbort = () => this.#stop.abort();
    if (plan.signal?.aborted) onAbort();
    plan.signal?.addEventListener("abort", onAbort, { once: true });
    this.ended = this.#work(engine, queue, plan).finally(() =>
      plan.signal?.removeEventListener("abort", onAbort),
    );
  }

  /** Stops leasing and waits for running attempts. Attempts that exceed the time limit, if any, are aborted and released. */
  async drain(withinMs = Number.POSITIVE_INFINITY): Promise<RunResult> {
    this.#drain.abort();
    const cancel = Number.isFinite(withinMs)
      ? this.#clock.after(withinMs, () => this.#stop.abort())
      : () => undefined;
    return this.ended.finally(cancel);
  }

  /** Aborts running attempts and releases their items; these attempts do not count. */
  async stop(): Promise<RunResult> {
    this.#stop.abort();
    return this.ended;
  }

  async #work(engine: Engine, queue: string, plan: WorkPlan): Promise<RunResult> {
    const { storeWaitMs = Number.POSITIVE_INFINITY, observer, rate } = plan;
    const clock = this.#clock;
    const isEnding = () => this.#stop.signal.aborted || this.#drain.signal.aborted;
    const storeRetry = new StoreRetry(storeWaitMs, clock, {
      trouble: (error) => observer?.trouble?.(error),
      recovered: () => observer?.recovered?.(),
      isEnding,
    });
    const find = plan.isTarget ? requireTarget : requireQueue;
    const job = await storeRetry.run(() => find(engine, queue));
    const service = plan.alongside?.(job);
    const spec = queueSpecOf(job);
    const settings = liveSettings(engine, job, { clock, specOf: queueSpecOf });
    const run = runQueue({
      ...runnerSettings(plan),
      engine,
      queue,
      policy: withHandler(spec, plan).policy,
      settings: () => withHandler(settings.now(), plan),
      askHandler: plan.askHandler,
      handler: plan.handler,
      slots: plan.concurrency ?? CONCURRENCY,
      keepGoing: !plan.untilEmpty,
      stop: this.#stop.signal,
      drain: this.#drain.signal,
      holderTtlMs: spec.leaseMs,
      storeWaitMs,
      clock,
      observer,
      ownRate: rate,
      author: plan.name,
      abandonAfterMs: plan.abandonAfterMs,
      evidenceFolder: plan.evidenceFolder,
      commandQueue: plan.commandQueue,
      beforeSettle: plan.beforeSettle,
      startMarksFolder: plan.startMarksFolder,
    });
    return run.finally(() => service?.stop());
  }
}

/** A worker's failure handler overrides the queue's settings. */
function withHandler(spec: QueueSpec, { askHandler }: WorkPlan): QueueSpec {
  return askHandler ? { ...spec, policy: { ...spec.policy, onItemFailure: "custom" } } : spec;
}

export async function drainedBy(signal: AbortSignal | undefined, worker: Worker): Promise<RunResult> {
  const onDrain = () => void worker.drain().catch(() => undefined); // `ended` reports errors
  if (signal?.aborted) onDrain();
  signal?.addEventListener("abort", onDrain, { once: true });
  return worker.ended.finally(() => signal?.removeEventListener("abort", onDrain));
}
