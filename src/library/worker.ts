/** A worker of a queue: runs a function for its items, reports each outcome to listeners, and ends when told to. */
import type { Handler } from "../attempt/handler.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import { failureHandler } from "../queue/queue.ts";
import { Worker as QueueWorker } from "../queue/worker.ts";
import type { RunObserver, RunResult } from "../runner/run-options.ts";
import { parseInput } from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import { withLetterService } from "./checked/letter-limits.ts";
import type { Context } from "./context.ts";
import { type LetterFailure, letterFailure } from "./letter.ts";
import { Listeners } from "./listeners.ts";
import { type Duration, duration } from "./values.ts";
import type { ReadWorkOptions } from "./work-options.ts";

/** The item of an event. */
export interface WorkedItem<Data> {
  readonly id: string;
  readonly queue: string;
  readonly name?: string;
  /** The stored data, before the transforms of a schema. */
  readonly data: Data;
  readonly attempt: number;
}

/** The events of a worker. Each is reported after it is stored, except `started` and `progress`. */
export interface WorkerEvents<Data, Result> {
  readonly started: WorkedItem<Data>;
  readonly succeeded: WorkedItem<Data> & { readonly result: Result };
  /** An attempt failed. `retrying`, `dead` or `skipped` follows. */
  readonly failed: WorkedItem<Data> & { readonly failure: LetterFailure };
  readonly retrying: WorkedItem<Data> & { readonly failure: LetterFailure; readonly delayMs: number };
  /** The item became a letter. */
  readonly dead: WorkedItem<Data> & { readonly failure?: LetterFailure; readonly reason: string };
  readonly skipped: WorkedItem<Data> & { readonly reason: string };
  /** The attempt was given back without a result, for example because the worker stopped. */
  readonly released: WorkedItem<Data>;
  readonly progress: WorkedItem<Data> & { readonly value: unknown };
  /** The store does not respond, a listener threw, or the worker cannot continue. */
  readonly error: unknown;
  readonly paused: { readonly queue: string };
  readonly resumed: { readonly queue: string };
}

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

/** Processes the items of one queue. It starts at once. */
export class Worker<Data, Result> implements AsyncDisposable {
  readonly queue: string;
  /** Resolves when the worker ends; rejects when it cannot continue. */
  readonly ended: Promise<WorkSummary>;
  readonly #context: Context;
  readonly #listeners = new Listeners<WorkerEvents<Data, Result>>();
  readonly #counts = { succeeded: 0, failed: 0, retried: 0, dead: 0, skipped: 0 };
  readonly #stop = new AbortController();
  readonly #drain = new AbortController();
  #worker: QueueWorker | undefined;
  #drainMs = Number.POSITIVE_INFINITY;

  /** @internal */
  constructor(context: Context, plan: WorkerPlan) {
    this.queue = plan.queue;
    this.#context = context;
    const self = this as unknown as Worker<unknown, unknown>;
    context.workers.add(self);
    this.ended = this.#run(plan).finally(() => context.workers.delete(self));
    // With a listener for errors, the caller need not wait for the end to learn of one.
    this.ended.catch((error: unknown) => this.#hasErrorListener && this.#emit("error", error));
  }

  /** Calls the listener for each event of this kind. A listener that throws is reported to `error`. */
  on<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    listener: (event: WorkerEvents<Data, Result>[Name]) => unknown,
  ): this {
    this.#listeners.on(name, listener);
    return this;
  }

  off<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    listener: (event: WorkerEvents<Data, Result>[Name]) => unknown,
  ): this {
    this.#listeners.off(name, listener);
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
    const { engine, home, clock, limits, onNotice } = this.#context;
    await ready();
    const { signal, onItemFailure, timeout: _, concurrency: __, use: ___, ...given } = options;
    const signals = [this.#stop.signal, ...(signal === undefined ? [] : [signal as AbortSignal])];
    const worker = new QueueWorker(engine, queue, {
      ...withLetterService(engine, { limits, home, clock, ...(onNotice && { onNotice }) }),
      ...compact({ rate: given.rate, untilEmpty: given.untilEmpty, name: given.name }),
      ...compact({ evidenceFolder: given.evidenceFolder }),
      abandonAfterMs: given.abandonAfter ?? ABANDON_AFTER_MS,
      clock,
      concurrency: slots,
      signal: AbortSignal.any(signals),
      handler: handlerFor((item, value) => this.#emit("progress", { ...this.#itemOf(item), value })),
      ...(onItemFailure !== undefined && {
        askHandler: failureHandler(async (item, failure) =>
          onItemFailure(this.#itemOf(item), letterFailure(failure)),
        ),
      }),
      observer: this.#observer(),
    });
    this.#worker = worker;
    if (this.#drain.signal.aborted) worker.drain(this.#drainMs).catch(() => undefined);
    const { end: ended, reason } = await worker.ended;
    const isStopped = signals.some(({ aborted }) => aborted);
    const end = ended === "interrupted" && !isStopped ? "drained" : ended;
    return { end, ...(reason !== undefined && { reason }), ...this.#counts };
  }

  #observer(): RunObserver {
    return {
      started: (item) => this.#emit("started", this.#itemOf(item)),
      settled: (item, settlement, outcome) => this.#settled(item, settlement, outcome),
      paused: (isPaused) => this.#emit(isPaused ? "paused" : "resumed", { queue: this.queue }),
      trouble: (error) => {
        if (this.#hasErrorListener) this.#emit("error", error);
        else process.emitWarning(error);
      },
    };
  }

  #settled(leased: LeasedItem, { verdict, failure, result }: Settlement, outcome: Outcome): void {
    const item = this.#itemOf(leased);
    const counts = this.#counts;
    this.#context.results.settled(leased, verdict);
    if (verdict.kind === "done") {
      counts.succeeded += 1;
      this.#emit("succeeded", { ...item, result: (result ?? null) as Result });
      return;
    }
    const failed = failure && letterFailure(failure);
    if (failed !== undefined && outcome.kind === "failed") {
      counts.failed += 1;
      this.#emit("failed", { ...item, failure: failed });
    }
    this.#undone(item, { verdict, failure: failed });
  }

  #undone(
    item: WorkedItem<Data>,
    { verdict, failure }: { verdict: Settlement["verdict"]; failure: LetterFailure | undefined },
  ): void {
    const counts = this.#counts;
    if ((verdict.kind === "retry" || verdict.kind === "park") && failure !== undefined) {
      counts.retried += 1;
      this.#emit("retrying", { ...item, failure, delayMs: verdict.delayMs });
    } else if (verdict.kind === "bury" || verdict.kind === "stop") {
      counts.dead += 1;
      this.#emit("dead", { ...item, ...(failure && { failure }), reason: verdict.reason });
    } else if (verdict.kind === "skip") {
      counts.skipped += 1;
      this.#emit("skipped", { ...item, reason: verdict.reason });
    } else this.#emit("released", item);
  }

  #itemOf({ itemId, queue, name, data, attempt }: LeasedItem): WorkedItem<Data> {
    return { id: itemId, queue, ...(name !== undefined && { name }), data: data as Data, attempt };
  }

  get #hasErrorListener(): boolean {
    return this.#listeners.has("error") || this.#context.listeners.has("error");
  }

  #emit<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    event: WorkerEvents<Data, Result>[Name],
  ): void {
    this.#listeners.emit(name, event);
    this.#context.listeners.emit(name, event as WorkerEvents<unknown, unknown>[Name]);
  }
}
