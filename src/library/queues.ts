/** Named queues for library callers, as an object and as functions, with argument checks. */
import type { Engine, HoldReport } from "../engine.ts";
import type { Job } from "../item/job.ts";
import {
  type AddedItem,
  type AddItemsOptions,
  addItems as addUnchecked,
  type QueueItem,
} from "../queue/add-items.ts";
import { importItems as importUnchecked } from "../queue/import-items.ts";
import { type ItemHandler, type QueueAct, Queue as UncheckedQueue } from "../queue/queue.ts";
import {
  changeQueue as changeUnchecked,
  createQueue as createUnchecked,
  type QueueSettings,
} from "../queue/queue-settings.ts";
import { listQueues as listUnchecked, summariseQueue as summariseUnchecked } from "../queue/queue-status.ts";
import { Worker as UncheckedWorker } from "../queue/worker.ts";
import { checkInput } from "./check-input.ts";
import { checked } from "./checked.ts";
import { checkedHandler } from "./checked-handler.ts";
import { callback, job, name, store, texts } from "./common-schemas.ts";
import { checkQueueItems } from "./item-check.ts";
import { letterService } from "./letter-limits.ts";
import type { ProcessOptions, WorkPlan } from "./options.ts";
import {
  addItemsOptions,
  importItemsOptions,
  processOptions,
  queueAct,
  queueSettings,
  workerPlan,
} from "./queue-schemas.ts";

/** A named queue of a store. It need not exist yet. */
export class Queue extends UncheckedQueue {
  readonly #engine: Engine;

  constructor(engine: Engine, queue: string) {
    checkInput(store, engine, { caller: "Queue", name: "engine" });
    checkInput(name, queue, { caller: "Queue", name: "name" });
    super(engine, queue);
    this.#engine = engine;
  }

  override async create(settings: QueueSettings = {}): Promise<Job> {
    checkInput(queueSettings, settings, { caller: "queue.create", name: "settings" });
    return super.create(settings);
  }

  override async change(settings: QueueSettings): Promise<Job> {
    checkInput(queueSettings, settings, { caller: "queue.change", name: "settings" });
    return super.change(settings);
  }

  override async add(
    items: QueueItem | readonly QueueItem[],
    options: AddItemsOptions = {},
  ): Promise<readonly AddedItem[]> {
    const all = Array.isArray(items) ? (items as readonly QueueItem[]) : [items as QueueItem];
    const fitting = checkQueueItems(all, "queue.add");
    checkInput(addItemsOptions, options, { caller: "queue.add", name: "options" });
    return super.add(fitting, options);
  }

  override process(handler: ItemHandler, options: ProcessOptions = {}): UncheckedWorker {
    checkInput(callback, handler, { caller: "queue.process", name: "handler" });
    checkInput(processOptions, options, { caller: "queue.process", name: "options" });
    const { limits: _, home: __, onNotice: ___, ...plan } = options;
    return super.process(handler, { alongside: letterService(this.#engine, options), ...plan });
  }

  override async pause(act: QueueAct = {}): Promise<void> {
    checkInput(queueAct, act, { caller: "queue.pause", name: "act" });
    return super.pause(act);
  }

  override async hold(itemIds: readonly string[], act: QueueAct = {}): Promise<HoldReport> {
    checkInput(texts, itemIds, { caller: "queue.hold", name: "itemIds" });
    checkInput(queueAct, act, { caller: "queue.hold", name: "act" });
    return super.hold(itemIds, act);
  }

  override async release(itemIds: readonly string[], act: QueueAct = {}): Promise<HoldReport> {
    checkInput(texts, itemIds, { caller: "queue.release", name: "itemIds" });
    checkInput(queueAct, act, { caller: "queue.release", name: "act" });
    return super.release(itemIds, act);
  }
}

/** A worker of a queue. It starts immediately. */
export class Worker extends UncheckedWorker {
  constructor(engine: Engine, queue: string, plan: WorkPlan) {
    checkInput(store, engine, { caller: "Worker", name: "engine" });
    checkInput(name, queue, { caller: "Worker", name: "queue" });
    checkInput(workerPlan, plan, { caller: "Worker", name: "plan" });
    const { limits: _, home: __, onNotice: ___, handler, ...work } = plan;
    super(engine, queue, {
      alongside: letterService(engine, plan),
      ...work,
      handler: checkedHandler(handler),
    });
  }
}

/**
 * Creates a queue. If it exists with the same settings, it is returned; with other settings the call throws
 * `job_changed`. Letters imported under the name become the queue's.
 */
export const createQueue = checked(createUnchecked, "createQueue", [
  ["engine", store],
  ["name", name],
  ["settings", queueSettings.optional()],
]);

/** Changes the given settings. Writes an event with the changed ones, or none if nothing changed. */
export const changeQueue = checked(changeUnchecked, "changeQueue", [
  ["engine", store],
  ["name", name],
  ["settings", queueSettings],
]);

/** Adds items and returns a result for each, in the same order. */
export async function addItems(
  engine: Engine,
  queue: string,
  items: readonly QueueItem[],
  options: AddItemsOptions = {},
): Promise<readonly AddedItem[]> {
  checkInput(store, engine, { caller: "addItems", name: "engine" });
  checkInput(name, queue, { caller: "addItems", name: "queue" });
  checkInput(addItemsOptions, options, { caller: "addItems", name: "options" });
  return addUnchecked(engine, queue, checkQueueItems(items, "addItems"), options);
}

/**
 * Reads the whole file (`-` is stdin). Rows with keys are added only once, also if the file is imported
 * again.
 */
export const importItems = checked(importUnchecked, "importItems", [
  ["engine", store],
  ["queue", name],
  ["path", name],
  ["options", importItemsOptions.optional()],
]);

/** All named queues of the store, sorted by name. */
export const listQueues = checked(listUnchecked, "listQueues", [["engine", store]]);

/** The current state of a queue: its items, workers and breaker. */
export const summariseQueue = checked(summariseUnchecked, "summariseQueue", [
  ["engine", store],
  ["job", job],
]);
