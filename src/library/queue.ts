/** A queue declared in code: adds items, runs workers, and reads letters. It is created in the store at first use. */
import * as z from "zod";
import type { HoldReport, ItemQuery, QueueCounts } from "../engine.ts";
import { isError, type RedriveError } from "../errors.ts";
import type { TransactionConnection } from "../item/transaction.ts";
import { type AddedItem, openQueueIntake, type QueueIntake, type QueueItem } from "../queue/add-items.ts";
import { requireQueue } from "../queue/find-job.ts";
import { type ImportItemsOptions, type ItemImport, importItems } from "../queue/import-items.ts";
import { changeQueue, createQueue } from "../queue/queue-settings.ts";
import { type QueueSpec, queueSpecOf } from "../queue/queue-spec.ts";
import * as t from "../std/check-input.ts";
import { parseInput } from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import {
  type Added,
  type AddOptions,
  addManyOptions,
  checkedItem,
  type NewItem,
  type Refused,
  type ResultOptions,
  refusal,
  resultOptions,
  splitItem,
} from "./add.ts";
import { asRedriveError } from "./as-error.ts";
import { Batcher, type BatchHandler } from "./batch.ts";
import { importItemsOptions } from "./checked/schemas.ts";
import type { Context } from "./context.ts";
import { type Item, type ItemFilter, itemFilter, itemOf } from "./item.ts";
import type { LetterFilter } from "./letter-filter.ts";
import { Letters } from "./letters.ts";
import { addThroughMiddleware, type Middleware } from "./middleware.ts";
import { type QueueOptions, queueOptions, type ReadQueueOptions, settingsOf } from "./queue-options.ts";
import { isStandardSchema, type StandardSchemaV1 } from "./standard-schema.ts";
import { type Task, type TaskHandler, taskHandler } from "./task.ts";
import { callback } from "./values.ts";
import {
  type BatchOptions,
  batchOptions,
  type ReadWorkOptions,
  type WorkOptions,
  workOptions,
} from "./work-options.ts";
import { Worker } from "./worker.ts";

/** How many attempts a worker runs at the same time by default. */
const CONCURRENCY = 10;
/** How long an incomplete batch waits for more items by default. */
const BATCH_WAIT_MS = 100;
const PAGE_MAX = 500;
const reasonOptions = z.strictObject({ reason: t.text.optional() });
const changeableOptions = queueOptions.omit({ schema: true, result: true, use: true, timeout: true });

interface WorkerSetup {
  readonly options: ReadWorkOptions;
  readonly slots: number;
  readonly timeoutMs: number | undefined;
}

/** How many items `addMany` adds in one step. */
const BATCH_MAX = 1000;

/**
 * A queue of a store. `Input` is the type of the data to add, `Data` the type that handlers get, and `Result`
 * the type of their results.
 */
export class Queue<Input, Data = Input, Result = unknown> {
  readonly name: string;
  readonly #context: Context;
  readonly #options: ReadQueueOptions;
  readonly #schema: StandardSchemaV1 | undefined;
  #ready: Promise<QueueIntake> | undefined;

  /** @internal */
  constructor(context: Context, name: string, options: QueueOptions) {
    this.name = name;
    this.#context = context;
    this.#options = parseInput(queueOptions, options, { caller: "redrive.queue", name: "options" });
    this.#schema = isStandardSchema(options.schema) ? options.schema : undefined;
  }

  /** Creates the queue, or applies the settings that differ. Without this call, that happens on first use. */
  async ready(): Promise<void> {
    await this.#intake();
  }

  /** Adds an item. Throws if it is refused: `input_invalid` for its data, `item_exists` for its key. */
  async add(data: Input, options: AddOptions = {}): Promise<Added<Result>> {
    const item = await checkedItem(data, options, this.#rules);
    const [added] = await this.#addItems([item], options.transaction);
    if (added === undefined || added.outcome === "refused")
      throw refusal(this.name, added ?? { outcome: "refused" });
    return this.#added(added.itemId ?? "", added.outcome);
  }

  /**
   * Adds many items and returns an outcome for each in the same order. A refused item does not cause an
   * exception.
   */
  async addMany(
    items: Iterable<NewItem<Input>> | AsyncIterable<NewItem<Input>>,
    options: Pick<AddOptions, "transaction"> = {},
  ): Promise<readonly (Added<Result> | Refused)[]> {
    t.checkInput(addManyOptions, options, { caller: "queue.addMany", name: "options" });
    const { transaction } = options;
    const outcomes: (Added<Result> | Refused)[] = [];
    let batch: NewItem<Input>[] = [];
    for await (const item of items) {
      batch.push(item);
      if (batch.length < BATCH_MAX) continue;
      outcomes.push(...(await this.#addBatch(batch, { offset: outcomes.length, transaction })));
      batch = [];
    }
    if (batch.length > 0)
      outcomes.push(...(await this.#addBatch(batch, { offset: outcomes.length, transaction })));
    return outcomes;
  }

  /** Runs the handler for each item until the worker is drained or stopped. */
  work<Returned extends Result>(
    handler: TaskHandler<Data, Returned>,
    options: WorkOptions<Input> = {},
  ): Worker<Input, Returned> {
    t.checkInput(callback, handler, { caller: "queue.work", name: "handler" });
    const given = parseInput(workOptions, options, { caller: "queue.work", name: "options" });
    const { concurrency: slots = CONCURRENCY, timeout: timeoutMs = this.#options.timeout } = given;
    return this.#worker<Returned>(handler as (task: Task<unknown>) => unknown, {
      ...{ options: given, slots, timeoutMs },
    });
  }

  /**
   * Runs the handler for batches of items. A batch starts when it is full, or when its first item has waited
   * for `wait`. An exception fails all tasks of the batch, `task.fail(error)` fails one.
   */
  workBatch<Returned extends Result>(
    handler: BatchHandler<Data, Returned>,
    options: BatchOptions<Input>,
  ): Worker<Input, Returned> {
    t.checkInput(callback, handler, { caller: "queue.workBatch", name: "handler" });
    const given = parseInput(batchOptions, options, { caller: "queue.workBatch", name: "options" });
    const { size, wait = BATCH_WAIT_MS, concurrency = 1, timeout = this.#options.timeout, ...others } = given;
    const batcher = new Batcher(handler as BatchHandler<unknown, unknown>, {
      ...{ size, concurrency, waitMs: wait, timeoutMs: timeout, clock: this.#context.clock },
    });
    const run = (task: Task<unknown>) => batcher.run(task);
    return this.#worker<Returned>(run, { options: others, slots: size * concurrency, timeoutMs: undefined });
  }

  /** The item with this id, or null. */
  async item(id: string): Promise<Item<Input> | null> {
    t.checkInput(t.name, id, { caller: "queue.item", name: "id" });
    await this.ready();
    const [found] = await this.#context.engine.listItems({ queue: this.name, itemIds: [id], limit: 1 });
    return found === undefined ? null : itemOf<Input>(found);
  }

  /** The items of the queue, oldest first. */
  items(filter: ItemFilter = {}): AsyncIterable<Item<Input>> {
    const given = parseInput(itemFilter, filter, { caller: "queue.items", name: "filter" });
    return this.#items(compact({ states: given.states, itemIds: given.ids }));
  }

  /** Stops all workers of the queue from taking items. Running attempts finish. */
  async pause(options: { readonly reason?: string } = {}): Promise<void> {
    const { reason = "" } = parseInput(reasonOptions, options, { caller: "queue.pause", name: "options" });
    await this.ready();
    const { engine, author } = this.#context;
    await engine.changeJob(this.name, { pause: { author, reason } });
  }

  /** Ends a pause. */
  async resume(): Promise<void> {
    await this.ready();
    await this.#context.engine.changeJob(this.name, { pause: null });
  }

  /** Holds ready items, so that no worker takes them. Returns those that could not be held. */
  hold(ids: string | readonly string[], options: { readonly reason?: string } = {}): Promise<HoldReport> {
    return this.#hold("hold", ids, options);
  }

  /** Makes held items ready again. Returns those that were not held. */
  unhold(ids: string | readonly string[], options: { readonly reason?: string } = {}): Promise<HoldReport> {
    return this.#hold("unhold", ids, options);
  }

  /**
   * Changes stored settings of the queue. They apply to new items immediately, and to workers within seconds.
   */
  async change(options: Omit<QueueOptions, "schema" | "result" | "use" | "timeout">): Promise<void> {
    const given = parseInput(changeableOptions, options, { caller: "queue.change", name: "options" });
    await this.ready();
    await changeQueue(this.#context.engine, this.name, settingsOf(given));
  }

  /** The stored settings. */
  async settings(): Promise<QueueSpec> {
    await this.ready();
    return queueSpecOf(await requireQueue(this.#context.engine, this.name));
  }

  /** Adds the items of a JSON Lines or CSV file. Rows with keys are added only once, also if the file is imported again. */
  async import(path: string, options: ImportItemsOptions = {}): Promise<ItemImport> {
    t.checkInput(t.name, path, { caller: "queue.import", name: "path" });
    t.checkInput(importItemsOptions, options, { caller: "queue.import", name: "options" });
    await this.ready();
    const { engine, author } = this.#context;
    return importItems(engine, this.name, path, { author, ...options });
  }

  /** The letters of this queue. */
  letters(filter: LetterFilter = {}): Letters<Input> {
    const scope = { queue: this.name, ready: () => this.ready(), schema: this.#schema };
    return new Letters<Input>(this.#context, scope, filter);
  }

  /** The number of items in each state. */
  async counts(): Promise<QueueCounts> {
    await this.ready();
    return this.#context.engine.count(this.name);
  }

  #worker<Returned>(
    handler: (task: Task<unknown>) => unknown,
    { options, slots, timeoutMs }: WorkerSetup,
  ): Worker<Input, Returned> {
    const { clock, use } = this.#context;
    const own = [...(this.#options.use ?? []), ...(options.use ?? [])] as readonly Middleware[];
    return new Worker<Input, Returned>(this.#context, {
      queue: this.name,
      ready: () => this.ready(),
      options,
      slots,
      handlerFor: (onProgress) =>
        taskHandler({
          ...{ handler, timeoutMs, onProgress, schema: this.#schema },
          result: this.#options.result as StandardSchemaV1 | undefined,
          use: [...use, ...own],
          now: () => clock.now(),
        }),
    });
  }

  async *#items(filter: Pick<ItemQuery, "states" | "itemIds">): AsyncGenerator<Item<Input>> {
    await this.ready();
    const { engine } = this.#context;
    for (let after = 0; ; ) {
      const page = await engine.listItems({ ...filter, queue: this.name, after, limit: PAGE_MAX });
      for (const item of page) yield itemOf<Input>(item);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_MAX) return;
      after = last.ref;
    }
  }

  async #hold(
    verb: "hold" | "unhold",
    ids: string | readonly string[],
    options: { readonly reason?: string },
  ): Promise<HoldReport> {
    const list = typeof ids === "string" ? [ids] : ids;
    t.checkInput(t.texts, list, { caller: `queue.${verb}`, name: "ids" });
    const { reason } = parseInput(reasonOptions, options, { caller: `queue.${verb}`, name: "options" });
    await this.ready();
    const { engine, author } = this.#context;
    return engine[verb](this.name, list, { author, ...compact({ reason }) });
  }

  get #rules() {
    return { queue: this.name, schema: this.#schema, now: () => this.#context.engine.now() };
  }

  #intake(): Promise<QueueIntake> {
    this.#ready ??= this.#ensure().catch((error: unknown) => {
      this.#ready = undefined; // the next use tries again
      throw error;
    });
    return this.#ready;
  }

  /** Applies only the given settings, so that those changed by `redrive queue set` are kept. */
  async #ensure(): Promise<QueueIntake> {
    const { engine } = this.#context;
    const settings = settingsOf(this.#options);
    const found = await engine.findJob(this.name);
    try {
      if (found?.kind === "queue") await changeQueue(engine, this.name, settings);
      else await createQueue(engine, this.name, settings);
    } catch (error) {
      // Another process created the queue first.
      if (found !== null || !isError(error, "job_changed")) throw error;
      await changeQueue(engine, this.name, settings);
    }
    return openQueueIntake(engine, await requireQueue(engine, this.name));
  }

  async #addBatch(
    batch: readonly NewItem<Input>[],
    {
      offset,
      transaction,
    }: { readonly offset: number; readonly transaction: TransactionConnection | undefined },
  ): Promise<readonly (Added<Result> | Refused)[]> {
    const checked = await Promise.all(batch.map((item, index) => this.#checked(item, offset + index)));
    const valid = checked.flatMap((one) => ("item" in one ? one.item : []));
    const added = valid.length === 0 ? [] : await this.#addItems(valid, transaction);
    let at = 0;
    return checked.map((one) => {
      if ("error" in one) return { outcome: "refused", ...one };
      const answer = added[at++] ?? { outcome: "refused" };
      const { itemId: id } = answer;
      if (answer.outcome !== "refused") return this.#added(id ?? "", answer.outcome);
      return { outcome: "refused", ...(id !== undefined && { id }), error: refusal(this.name, answer) };
    });
  }

  async #addItems(
    items: readonly QueueItem[],
    transaction: TransactionConnection | undefined,
  ): Promise<readonly AddedItem[]> {
    const { use, author } = this.#context;
    const layers = [...use, ...((this.#options.use ?? []) as typeof use)];
    return addThroughMiddleware(layers, { queue: this.name, items }, async (context) => {
      const given = context === undefined ? items : items.map((item) => ({ ...item, context }));
      return (await this.#intake()).add(given, { author, ...(transaction && { transaction }) });
    });
  }

  async #checked(item: NewItem<Input>, index: number) {
    try {
      const { data, options } = splitItem(item, index);
      return { item: await checkedItem(data, options, this.#rules) };
    } catch (thrown) {
      const error: RedriveError = asRedriveError(thrown);
      const key: unknown = (item as Partial<NewItem<Input>> | null)?.key;
      return { error, ...(typeof key === "string" && { id: key }) };
    }
  }

  #added(id: string, outcome: Added<Result>["outcome"]): Added<Result> {
    const result = async (options: ResultOptions = {}) => {
      const given = parseInput(resultOptions, options, { caller: "added.result", name: "options" });
      const signal = given.signal as AbortSignal | undefined;
      const wait = { timeoutMs: given.timeout, signal };
      return (await this.#context.results.wait(this.name, id, wait)) as Result;
    };
    return { id, outcome, result };
  }
}
