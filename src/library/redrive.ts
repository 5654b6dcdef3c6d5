/** The entry object of the library: one open store with its queues, letters, jobs and events. */

import * as z from "zod";
import type { Engine } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { listQueues, type QueueSummary } from "../queue/queue-status.ts";
import { type Metrics, readMetrics } from "../service/metrics.ts";
import { type MetricsTextOptions, metricsText } from "../service/metrics-text.ts";
import * as t from "../std/check-input.ts";
import { parseInput } from "../std/check-input.ts";
import type { Json } from "../std/json.ts";
import { checkedEngine } from "./checked/checked-engine.ts";
import { metricsTextOptions } from "./checked/schemas.ts";
import { Target } from "./checked/targets.ts";
import type { Context, OpenContext } from "./context.ts";
import { Groups } from "./groups.ts";
import {
  type ErrorEntry,
  type ErrorQuery,
  type Event,
  type EventQuery,
  readErrorLog,
  readEvents,
} from "./history.ts";
import { Jobs } from "./jobs.ts";
import { type LetterFilter, letterFilter } from "./letter-filter.ts";
import { Letters } from "./letters.ts";
import { type MapHandler, type MapOptions, type MapResult, runMap } from "./map.ts";
import { Operations } from "./operations.ts";
import { Queue } from "./queue.ts";
import type { QueueOptions } from "./queue-options.ts";
import type { ReceiptOptions } from "./receipt-options.ts";
import type { WorkerEvents } from "./reporter.ts";
import { type Schedule, type ScheduleOptions, Schedules } from "./schedules.ts";
import type { InputOf, OutputOf, StandardSchemaV1 } from "./standard-schema.ts";
import { type Duration, duration } from "./values.ts";

/** An open store. Close it, or declare it with `await using`. */
export class Redrive implements AsyncDisposable {
  /** The store itself, for the functions of `redrive/engine`. */
  readonly engine: Engine;
  /** Tracked changes of many letters. */
  readonly operations: Operations;
  /** Groups of letters with the same cause, over all queues. */
  readonly groups: Groups;
  /** Runs of maps and workflows. */
  readonly jobs: Jobs;
  /** Cron schedules, which add items to queues. */
  readonly schedules: Schedules;
  readonly #context: Context;
  readonly #targets = new Map<string, Target>();
  readonly #abort: AbortController;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(context: OpenContext) {
    this.#abort = new AbortController();
    this.#context = { ...context, closing: this.#abort.signal };
    this.engine = checkedEngine(context.engine);
    this.operations = new Operations(this.#context);
    this.groups = new Groups(this.#context);
    this.jobs = new Jobs(this.#context);
    this.schedules = new Schedules(this.#context);
  }

  /** Declares a queue. It is created on first use, and changed settings are applied. */
  queue<S extends StandardSchemaV1, R extends StandardSchemaV1>(
    name: string,
    options: QueueOptions & { readonly schema: S; readonly result: R },
  ): Queue<InputOf<S>, OutputOf<S>, OutputOf<R>>;
  queue<S extends StandardSchemaV1>(
    name: string,
    options: QueueOptions & { readonly schema: S },
  ): Queue<InputOf<S>, OutputOf<S>, unknown>;
  queue<Data = Json, Result = unknown>(name: string, options?: QueueOptions): Queue<Data, Data, Result>;
  queue(name: string, options: QueueOptions = {}): unknown {
    parseInput(t.name, name, { caller: "redrive.queue", name: "name" });
    return new Queue<unknown, unknown, unknown>(this.#context, name, options);
  }

  /**
   * Runs a function over items. Failed items are retried and then become letters. A second call with the same
   * name continues: it never repeats a success, and recognises items by their key or content.
   */
  map<Item, Result>(
    name: string,
    items: Iterable<Item> | AsyncIterable<Item>,
    handler: MapHandler<Item, Result>,
    options: MapOptions<Item> = {},
  ): Promise<MapResult<Item, Result>> {
    return runMap(this.#context, { name, items, handler, options });
  }

  /** Creates a cron schedule, or changes the one with this name. Workers of the store add its items, each run once. */
  schedule(name: string, options: ScheduleOptions): Promise<Schedule> {
    return this.schedules.put(name, options);
  }

  /** The letters of all queues and jobs, or of one. Changes need a queue or a job. */
  letters(filter: LetterFilter & { readonly queue?: string } = {}): Letters<Json> {
    t.checkInput(storeFilter, filter, { caller: "letters", name: "filter" });
    const { queue, ...others } = filter;
    return new Letters<Json>(this.#context, { queue }, others);
  }

  /**
   * Yields recorded changes, oldest first. With `follow`, continues with new ones until the loop ends, the
   * signal is aborted or the store is closed.
   */
  events(query: EventQuery = {}): AsyncIterable<Event> {
    return readEvents(this.#context, query);
  }

  /** The error log, newest first: failures of all queues and errors of runners. */
  errors(query: ErrorQuery = {}): AsyncIterable<ErrorEntry> {
    return readErrorLog(this.#context, query);
  }

  /** The current numbers of all queues, and the counters since the store was created. */
  metrics(): Promise<Metrics> {
    return readMetrics(this.#context.engine);
  }

  /** The metrics in the text format of Prometheus. */
  metricsText(options: MetricsTextOptions = {}): Promise<string> {
    parseInput(metricsTextOptions, options, { caller: "redrive.metricsText", name: "options" });
    return metricsText(this.#context.engine, options);
  }

  /** The queues of the store with their items, workers and breakers, by name. */
  queues(): Promise<readonly QueueSummary[]> {
    return listQueues(this.#context.engine);
  }

  /**
   * Opens a receipt target and delivers until it is closed. Settings create or change the target; without
   * settings it must exist. Further calls return the same object until it is closed.
   */
  receipts(target: string, options?: ReceiptOptions): Target {
    const open = this.#targets.get(target);
    if (open !== undefined && !open.isClosed && options === undefined) return open;
    if (open !== undefined && !open.isClosed)
      throw new RedriveError("usage", `The target ${target} is already open with other options.`, {
        field: "options",
        hint: "Call receipts(name) without options, change its settings with target.change(…), or close it first.",
      });
    const { engine, home, limits, clock, onNotice } = this.#context;
    const shared = { home, limits, clock, ...(onNotice && { onNotice }) };
    const opened = new Target(engine, target, { ...shared, ...options });
    this.#targets.set(target, opened);
    // Allows opening it again with other options. The caller gets the error from `opened` or `send`.
    opened.opened.catch(() => {
      if (this.#targets.get(target) === opened) this.#targets.delete(target);
    });
    return opened;
  }

  /** Calls the listener for each event of this kind from all workers of this program. */
  on<Name extends keyof WorkerEvents<unknown, unknown>>(
    name: Name,
    listener: (event: WorkerEvents<unknown, unknown>[Name]) => unknown,
  ): this {
    this.#context.listeners.on(name, listener);
    if (name === "error") for (const running of this.#context.running) running.reportErrors();
    return this;
  }

  off<Name extends keyof WorkerEvents<unknown, unknown>>(
    name: Name,
    listener: (event: WorkerEvents<unknown, unknown>[Name]) => unknown,
  ): this {
    this.#context.listeners.off(name, listener);
    return this;
  }

  /**
   * Shuts down: drains the workers and maps of this program, closes its targets, then the store. Attempts that exceed the timeout are aborted, and
   * their items are released.
   */
  async close(options: { readonly timeout?: Duration } = {}): Promise<void> {
    const { timeout } = parseInput(closeOptions, options, { caller: "redrive.close", name: "options" });
    this.#closing ??= this.#close(timeout);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(timeoutMs: number | undefined): Promise<void> {
    const { running, results, engine } = this.#context;
    const ends = await Promise.allSettled([...running].map((worker) => worker.drain(timeoutMs)));
    await Promise.all([...this.#targets.values()].map((target) => target.close()));
    this.#abort.abort();
    results.close();
    await engine.close();
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }
}

const storeFilter = letterFilter.extend({ queue: t.name.optional() });
const closeOptions = z.strictObject({ timeout: duration.optional() });
