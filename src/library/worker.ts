/** A worker of a queue: runs a function for its items, reports each outcome to listeners, and ends when it is stopped. */
import type { Handler } from "../attempt/handler.ts";
import type { LeasedItem } from "../item/item.ts";
import { failureHandler } from "../queue/queue.ts";
import { Worker as QueueWorker } from "../queue/worker.ts";
import type { RunResult } from "../runner/run-options.ts";
import { parseInput } from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import { withLetterService } from "./checked/letter-limits.ts";
import type { Context } from "./context.ts";
import { letterFailure } from "./letter.ts";
import { Reporter, type WorkerEvents } from "./reporter.ts";
import { type Duration, duration } from "./values.ts";
import type { ReadWorkOptions } from "./work-options.ts";

/** How a worker ended, and what it did. */
export interface WorkSummary {
  /** `finished`: the queue was empty; `drained` or `interrupted`: by `drain` or `stop`; `stopped`: by the policy. */
  readonly end: RunResult["end"] | "drained";
  /** Why the policy stopped the worker. */
  readonly reason?: string;
  readonly succeeded: number;
  /** Failed attempts, including those that were retried. */
  readonly failed: number;
  readonly retried: number;
  readonly dead: number;
  readonly skipped: number;
}

export interface WorkerPlan {
  readonly queue: string;
  readonly ready: () => Promise<void>;
  readonly options: ReadWorkOptions;
  /** Makes the handler; `onProgress` reports progress to the worker's listeners. */
  readonly handlerFor: (onProgress: (item: LeasedItem, value: unknown) => void) => Handler;
  readonly slots: number;
}

/** How long a stopped worker waits for a handler that ignores its signal. */
const ABANDON_AFTER_MS = 5000;

/** Processes the items of one queue. It starts immediately. */
export class Worker<Data, Result> implements AsyncDisposable {
  readonly queue: string;
  /** Resolves when the worker ends; rejects when it cannot continue. */
  readonly ended: Promise<WorkSummary>;
  readonly #context: Context;
  readonly #reporter: Reporter<Data, Result>;
  readonly #stop = new AbortController();
  readonly #drain = new AbortController();
  #worker: QueueWorker | undefined;
  #isReporting = false;
  #drainMs = Number.POSITIVE_INFINITY;

  /** @internal */
  constructor(context: Context, plan: WorkerPlan) {
    this.queue = plan.queue;
    this.#context = context;
    this.#reporter = new Reporter<Data, Result>(context, () => plan.queue);
    context.running.add(this);
    this.ended = this.#run(plan).finally(() => context.running.delete(this));
    if (this.#reporter.hasErrorListener) this.reportErrors();
  }

  /**
   * @internal Errors are reported to `error` listeners, so the caller need not await `ended` to learn of
   * them.
   */
  reportErrors(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    this.ended.catch((error: unknown) => this.#reporter.emit("error", error));
  }

  /** Calls the listener for each event of this kind. An exception in a listener is reported to `error`. */
  on<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    listener: (event: WorkerEvents<Data, Result>[Name]) => unknown,
  ): this {
    this.#reporter.listeners.on(name, listener);
    if (name === "error") this.reportErrors();
    return this;
  }

  off<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    listener: (event: WorkerEvents<Data, Result>[Name]) => unknown,
  ): this {
    this.#reporter.listeners.off(name, listener);
    return this;
  }

  /** Takes no more items, and waits for running attempts. Those that exceed the time limit are aborted and released. */
  async drain(timeout?: Duration): Promise<WorkSummary> {
    if (timeout !== undefined)
      this.#drainMs = parseInput(duration, timeout, { caller: "worker.drain", name: "timeout" });
    this.#drain.abort();
    this.#worker?.drain(this.#drainMs).catch(() => undefined); // `ended` reports errors
    return this.ended;
  }

  /** Aborts running attempts and releases their items; these attempts do not count. */
  async stop(): Promise<WorkSummary> {
    this.#stop.abort();
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain();
  }

  async #run({ ready, queue, options, handlerFor, slots }: WorkerPlan): Promise<WorkSummary> {
    const { engine, home, clock, limits, onNotice, runner } = this.#context;
    await ready();
    const { signal, onItemFailure, ...given } = options;
    const signals = [this.#stop.signal, ...(signal === undefined ? [] : [signal as AbortSignal])];
    const worker = new QueueWorker(engine, queue, {
      ...runner,
      ...withLetterService(engine, { limits, home, clock, ...(onNotice && { onNotice }) }),
      ...compact({ rate: given.rate, untilEmpty: given.untilEmpty, name: given.name }),
      ...compact({ evidenceFolder: given.evidenceFolder }),
      abandonAfterMs: given.abandonAfter ?? ABANDON_AFTER_MS,
      clock,
      concurrency: slots,
      signal: AbortSignal.any(signals),
      handler: handlerFor((item, value) => this.#reporter.progress(item, value)),
      ...(onItemFailure !== undefined && {
        askHandler: failureHandler(async (item, failure) =>
          onItemFailure(this.#reporter.itemOf(item), letterFailure(failure)),
        ),
      }),
      observer: this.#reporter.observer,
    });
    this.#worker = worker;
    if (this.#drain.signal.aborted) worker.drain(this.#drainMs).catch(() => undefined);
    const { end: ended, reason } = await worker.ended;
    const isStopped = signals.some(({ aborted }) => aborted);
    const end = ended === "interrupted" && !isStopped ? "drained" : ended;
    return { end, ...(reason !== undefined && { reason }), ...this.#reporter.counts };
  }
}
