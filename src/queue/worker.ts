/** A worker of a named queue: the runner with the queue's settings, until it is stopped. Many workers may share a queue. */
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
import { LiveSettings } from "./queue-settings.ts";
import { type QueueSpec, queueSpecOf } from "./queue-spec.ts";

/** The options of a worker. All are optional. */
export interface WorkerOptions extends RunnerSettings {
  /** How many attempts run at a time. Default 10. */
  readonly concurrency?: number;
  /** A rate limit of this worker, besides the queue's own. Default: no limit. */
  readonly rate?: Rate;
  /** Ends when the queue is empty instead of waiting for more. Default false. */
  readonly untilEmpty?: boolean;
  /** Who its notes are by. Default: the machine, the process and the slot. */
  readonly name?: string;
  /** A folder for copies of the files that are named as evidence. Default: no copies are made. */
  readonly evidenceFolder?: string;
  readonly signal?: AbortSignal;
  /** How long a stop waits for attempts that ignore it. Default: until they end. */
  readonly abandonAfterMs?: number;
  readonly observer?: RunObserver;
  readonly clock?: Clock;
  /**
   * Decides about an item whose attempts are used up: `handled` skips it, `retry` tries it again, `dlq` makes it a letter, and
   * so does an error. Default: as the queue's settings say.
   */
  readonly onItemFailure?: OnItemFailureHandler;
}

/** Decides about an item whose attempts are used up. */
export type OnItemFailureHandler = (
  item: LeasedItem,
  failure: Failure,
) => HandlerAnswer | Promise<HandlerAnswer>;

/** The queue's handler and the worker's options. */
export interface WorkPlan extends Omit<WorkerOptions, "onItemFailure"> {
  readonly handler: Handler;
  /** Decides about items whose attempts are used up. Default: as the queue's settings say. */
  readonly askHandler?: RunOptions["askHandler"];
  /** It is a target of receipts. Default: it is a queue. */
  readonly isTarget?: boolean;
  /** Starts a service for the queue's letters, which is stopped when the worker ends. Default: none. */
  readonly alongside?: (queue: Job) => WorkerService;
}

export interface WorkerService {
  stop(): Promise<void>;
}

const CONCURRENCY = 10;

/** A worker of one queue. */
export class Worker {
  /** Resolves with how it ended; rejects when it cannot continue, for example when the queue does not exist. */
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

  /** Takes no more items. Running attempts finish, within the time if one is given; the others are released. */
  async drain(withinMs = Number.POSITIVE_INFINITY): Promise<RunResult> {
    this.#drain.abort();
    const cancel = Number.isFinite(withinMs)
      ? this.#clock.after(withinMs, () => this.#stop.abort())
      : () => undefined;
    return this.ended.finally(cancel);
  }

  /** Ends running attempts and releases their items; the attempts are not counted. */
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
    const settings = new LiveSettings(engine, job, { clock, specOf: queueSpecOf });
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
    });
    return run.finally(() => service?.stop());
  }
}

/** A worker with a failure handler uses it, whatever the queue's settings say. */
function withHandler(spec: QueueSpec, { askHandler }: WorkPlan): QueueSpec {
  return askHandler ? { ...spec, policy: { ...spec.policy, onItemFailure: "custom" } } : spec;
}

export async function drainedBy(signal: AbortSignal | undefined, worker: Worker): Promise<RunResult> {
  const onDrain = () => void worker.drain().catch(() => undefined); // errors are reported through `ended`
  if (signal?.aborted) onDrain();
  signal?.addEventListener("abort", onDrain, { once: true });
  return worker.ended.finally(() => signal?.removeEventListener("abort", onDrain));
}
