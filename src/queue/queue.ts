/** A named queue as the library's user has it: made, filled, looked at, held back, and worked with a function. */
import type { Engine, HoldReport, QueueCounts } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import { systemClock } from "../kit/clock.ts";
import {
  type AddedItem,
  type AddItemsOptions,
  openQueueIntake,
  type QueueIntake,
  type QueueItem,
} from "./add-items.ts";
import { requireQueue } from "./find-queue.ts";
import { failureHandler, type ItemHandler, itemHandler } from "./item-handler.ts";
import { changeQueue, createQueue, type QueueSettings } from "./settings.ts";
import { type QueueSpec, queueSpecOf } from "./spec.ts";
import { Worker, type WorkerOptions, type WorkPlan } from "./worker.ts";

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
