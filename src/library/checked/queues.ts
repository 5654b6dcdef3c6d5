/** Named queues of the library, as an object and as functions, with argument checks. */
import type { Engine, HoldReport } from "../../engine.ts";
import type { Job } from "../../item/job.ts";
import * as add from "../../queue/add-items.ts";
import { requireQueue } from "../../queue/find-job.ts";
import * as imports from "../../queue/import-items.ts";
import {
  failureHandler,
  type ItemHandler,
  itemHandler,
  type QueueAct,
  StandingQueue,
} from "../../queue/queue.ts";
import * as settings from "../../queue/queue-settings.ts";
import { type QueueSpec, queueSpecOf } from "../../queue/queue-spec.ts";
import * as status from "../../queue/queue-status.ts";
import { Worker as UncheckedWorker } from "../../queue/worker.ts";
import { anyThat, checkInput, name, texts } from "../../std/check-input.ts";
import { systemClock } from "../../std/clock.ts";
import { checkArguments, checked, checkMethods } from "./checked.ts";
import { checkedHandler } from "./checked-handler.ts";
import { checkQueueItems } from "./item-check.ts";
import { type ProcessOptions, type WorkPlan, withLetterService } from "./letter-limits.ts";
import * as s from "./schemas.ts";

/** How long a worker that is stopped waits for a handler that ignores its signal. */
const ABANDON_AFTER_MS = 5000;

/** A named queue of a store. The object can be created before the queue exists. */
export class Queue extends StandingQueue {
  #intake: Promise<add.QueueIntake> | undefined;

  constructor(engine: Engine, queue: string) {
    checkArguments([engine, queue], "Queue", { engine: s.engine, name });
    super(engine, queue, requireQueue);
  }

  /** Creates the queue. Returns an existing queue with the same settings; other settings are a `job_changed` error. */
  create(given: settings.QueueSettings = {}): Promise<Job> {
    return settings.createQueue(this.engine, this.name, given);
  }

  /** Changes only the given settings. They apply to new items at once, and to workers within seconds. */
  change(given: settings.QueueSettings): Promise<Job> {
    return settings.changeQueue(this.engine, this.name, given);
  }

  /** The stored settings. */
  async settings(): Promise<QueueSpec> {
    return queueSpecOf(await requireQueue(this.engine, this.name));
  }

  /** Adds items in their order, and returns a result for each. */
  async add(
    items: add.QueueItem | readonly add.QueueItem[],
    options: add.AddItemsOptions = {},
  ): Promise<readonly add.AddedItem[]> {
    const all = Array.isArray(items) ? (items as readonly add.QueueItem[]) : [items as add.QueueItem];
    const valid = checkQueueItems(all, "queue.add");
    checkInput(s.addItemsOptions, options, { caller: "queue.add", name: "options" });
    this.#intake ??= this.#openIntake();
    return (await this.#intake).add(valid, options);
  }

  /** Opens the queue for adding. Forgets a failed result, because the queue may be created later. */
  async #openIntake(): Promise<add.QueueIntake> {
    try {
      return await add.openQueueIntake(this.engine, await requireQueue(this.engine, this.name));
    } catch (error) {
      this.#intake = undefined;
      throw error;
    }
  }

  /** Processes the queue's items with a function until the worker is stopped. */
  process(handler: ItemHandler, options: ProcessOptions = {}): UncheckedWorker {
    checkArguments([handler, options], "queue.process", { handler: s.callback, options: s.processOptions });
    const { timeoutMs, onSettled, onError, onItemFailure, ...plan } = options;
    const { now } = plan.clock ?? systemClock;
    const worker = new UncheckedWorker(this.engine, this.name, {
      abandonAfterMs: ABANDON_AFTER_MS,
      ...withLetterService(this.engine, plan),
      handler: itemHandler(handler, { timeoutMs, now }),
      ...(onItemFailure && { askHandler: failureHandler(onItemFailure) }),
      observer: { ...(onSettled && { settled: onSettled }), ...(onError && { trouble: onError }) },
    });
    if (onError) worker.ended.catch(onError);
    return worker;
  }

  /** Holds ready items by their ids, so that no worker leases them. */
  hold(itemIds: readonly string[], { author = "redrive", reason }: QueueAct = {}): Promise<HoldReport> {
    return this.engine.hold(this.name, itemIds, { author, ...(reason !== undefined && { reason }) });
  }

  /** Makes held items ready again. */
  release(itemIds: readonly string[], { author = "redrive", reason }: QueueAct = {}): Promise<HoldReport> {
    return this.engine.unhold(this.name, itemIds, { author, ...(reason !== undefined && { reason }) });
  }
}

const act = s.queueAct.optional();
checkMethods(Queue, "queue.", {
  pause: { act },
  hold: { itemIds: texts, act },
  release: { itemIds: texts, act },
});

/** A worker of a queue. It starts immediately. */
export class Worker extends UncheckedWorker {
  constructor(engine: Engine, queue: string, plan: WorkPlan) {
    checkArguments([engine, queue, plan], "Worker", { engine: s.engine, queue: name, plan: s.workPlan });
    super(engine, queue, { ...withLetterService(engine, plan), handler: checkedHandler(plan.handler) });
  }
}

const { engine } = s;
/** Accepts any value, because the wrapped function validates it. */
const later = anyThat(() => true, "settings");

/**
 * Creates a queue. Returns an existing queue with the same settings; with other settings it throws `job_changed`. Letters
 * that were imported under this name then belong to the queue.
 */
export const createQueue = checked("createQueue", settings.createQueue, { engine, name, settings: later });

/** Changes only the given settings. Writes an event with the changed ones, or none if nothing changed. */
export const changeQueue = checked("changeQueue", settings.changeQueue, { engine, name, settings: later });

/** Adds items and returns a result for each, in the same order. */
export const addItems = checked("addItems", addChecked, {
  engine,
  queue: name,
  items: later,
  options: s.addItemsOptions.optional(),
});

function addChecked(...[store, queue, items, options]: Parameters<typeof add.addItems>) {
  return add.addItems(store, queue, checkQueueItems(items, "addItems"), options);
}

/** Adds the items of a file (`-` is stdin). Rows with keys are added only once, also if the file is imported again. */
export const importItems = checked("importItems", imports.importItems, {
  engine,
  queue: name,
  path: name,
  options: s.importItemsOptions.optional(),
});

/** All named queues of the store, sorted by name. */
export const listQueues = checked("listQueues", status.listQueues, { engine });

/** The current state of a queue: its items, workers and breaker. */
export const summariseQueue = checked("summariseQueue", status.summariseQueue, { engine, job: s.job });
