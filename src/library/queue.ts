/** A queue declared in code: adds items, runs workers, and reads letters. It is created in the store at first use. */
import type { QueueCounts } from "../engine.ts";
import { isError, type RedriveError } from "../errors.ts";
import { openQueueIntake, type QueueIntake } from "../queue/add-items.ts";
import { requireQueue } from "../queue/find-job.ts";
import { changeQueue, createQueue } from "../queue/queue-settings.ts";
import { parseInput } from "../std/check-input.ts";
import {
  type Added,
  type AddOptions,
  checkedItem,
  type NewItem,
  type Refused,
  type ResultOptions,
  refusal,
  resultOptions,
  splitItem,
} from "./add.ts";
import { asRedriveError } from "./as-error.ts";
import type { Context } from "./context.ts";
import type { LetterFilter } from "./letter-filter.ts";
import { Letters } from "./letters.ts";
import { type QueueOptions, queueOptions, type ReadQueueOptions, settingsOf } from "./queue-options.ts";
import { isStandardSchema, type StandardSchemaV1 } from "./standard-schema.ts";
import { type Task, type TaskHandler, taskHandler } from "./task.ts";
import { type WorkOptions, workOptions } from "./work-options.ts";
import { Worker } from "./worker.ts";

/** How many attempts a worker runs at the same time by default. */
const CONCURRENCY = 10;
/** How many items `addMany` adds in one step. */
const BATCH_MAX = 1000;

/**
 * A queue of a store. `Input` is the type of the data that is added, `Data` that of the data that handlers get, and `Result`
 * that of their results.
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

  /** Creates the queue, or applies the given settings that differ. Otherwise this happens at the first use. */
  async ready(): Promise<void> {
    await this.#intake();
  }

  /** Adds an item. Throws if it is refused: `input_invalid` for its data, `item_exists` for its key. */
  async add(data: Input, options: AddOptions = {}): Promise<Added<Result>> {
    const item = await checkedItem(data, options, this.#rules);
    const [added] = await (await this.#intake()).add([item], { author: this.#context.author });
    if (added === undefined || added.outcome === "refused")
      throw refusal(this.name, added ?? { outcome: "refused" });
    return this.#added(added.itemId ?? "", added.outcome);
  }

  /** Adds many items, and returns an outcome for each in the same order. An item that is refused does not throw. */
  async addMany(
    items: Iterable<NewItem<Input>> | AsyncIterable<NewItem<Input>>,
  ): Promise<readonly (Added<Result> | Refused)[]> {
    const outcomes: (Added<Result> | Refused)[] = [];
    let batch: NewItem<Input>[] = [];
    for await (const item of items) {
      batch.push(item);
      if (batch.length < BATCH_MAX) continue;
      outcomes.push(...(await this.#addBatch(batch, outcomes.length)));
      batch = [];
    }
    if (batch.length > 0) outcomes.push(...(await this.#addBatch(batch, outcomes.length)));
    return outcomes;
  }

  /** Runs the handler for each item until the worker is drained or stopped. */
  work<Returned extends Result>(
    handler: TaskHandler<Data, Returned>,
    options: WorkOptions<Input> = {},
  ): Worker<Input, Returned> {
    const given = parseInput(workOptions, options, { caller: "queue.work", name: "options" });
    const { clock, use } = this.#context;
    const { use: ownUse = [], timeout } = this.#options;
    return new Worker<Input, Returned>(this.#context, {
      queue: this.name,
      ready: () => this.ready(),
      options: given,
      slots: given.concurrency ?? CONCURRENCY,
      handlerFor: (onProgress) =>
        taskHandler({
          handler: handler as (task: Task<unknown>) => unknown,
          schema: this.#schema,
          result: this.#options.result as StandardSchemaV1 | undefined,
          use: [...use, ...(ownUse as typeof use), ...((given.use ?? []) as typeof use)],
          timeoutMs: given.timeout ?? timeout,
          now: () => clock.now(),
          onProgress,
        }),
    });
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
    offset: number,
  ): Promise<readonly (Added<Result> | Refused)[]> {
    const checked = await Promise.all(batch.map((item, index) => this.#checked(item, offset + index)));
    const valid = checked.flatMap((one) => ("item" in one ? one.item : []));
    const added = await (await this.#intake()).add(valid, { author: this.#context.author });
    let at = 0;
    return checked.map((one) => {
      if ("error" in one) return { outcome: "refused", ...one };
      const answer = added[at++] ?? { outcome: "refused" };
      const { itemId: id } = answer;
      if (answer.outcome !== "refused") return this.#added(id ?? "", answer.outcome);
      return { outcome: "refused", ...(id !== undefined && { id }), error: refusal(this.name, answer) };
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
