/**
 * The dead letter queue of one job as an object, for programs that record failures themselves or manage a
 * job's letters.
 */
import type { Handler } from "../attempt/handler.ts";
import { exportLetters } from "../dead-letter/import-export/export.ts";
import type { ExportFormat } from "../dead-letter/import-export/reading.ts";
import { extendedLetter, type FailureReport } from "../dead-letter/reported-letter.ts";
import type { Engine, LetterOrder } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { NewItem } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Letter } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import type { Operation } from "../item/operation.ts";
import { analyseSelected } from "../redrive/analyse-selected.ts";
import { type LimitSettings, limitsOf } from "../redrive/limits.ts";
import { readOperation } from "../redrive/operation.ts";
import type { RedrivePlan } from "../redrive/plan.ts";
import { purgeLetters } from "../redrive/purge.ts";
import { type Selection, type SelectOptions, selectLetters, selectPages } from "../redrive/select.ts";
import { sendLetters } from "../redrive/send.ts";
import { DEFAULT_POLICY, type Policy } from "../retry/policy.ts";
import { runQueue } from "../runner/runner.ts";
import { LimitGuard } from "../service/letter-retention.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { compact } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";
import { homeOf } from "../store/home.ts";
import type { Analysis } from "../triage/analyse.ts";
import { beginRetry, type RetryOptions, retryLetters } from "./retry.ts";

/** The job of a `DlqManager`, and how its letters are retried. */
export interface DlqManagerOptions {
  /** Id or name of the job. If the store has no such job, one is created with this id and without a handler. */
  readonly job: string;
  /** The handler of `reprocessItems`. Default: the job's own; a job that was created here has none. */
  readonly handler?: Handler;
  /** How failures of the handler are treated. Default: three attempts with backoff, then dead again. */
  readonly policy?: Policy;
  /** How many items the handler processes at a time. Default 4. */
  readonly slots?: number;
  /** The folder for archives of purged letters and for logs. Default: `REDRIVE_HOME`, else `~/.redrive`. */
  readonly home?: string;
  /** The author of the manager's operations. Default `library`. */
  readonly author?: string;
  /**
   * How many letters the job keeps, and for how long. Removed letters are archived. Default: 10,000 letters,
   * 30 days.
   */
  readonly limits?: LimitSettings;
  /** Called with notices for people, such as a dead letter queue that is nearly full. Default: a Node warning. */
  readonly onNotice?: (notice: string) => void;
  /** Default: the system clock. */
  readonly clock?: Clock;
}

/** The letters to retry, and how to retry them. */
export interface ReprocessRequest {
  /** Default: all dead letters. An id without a dead letter is an error. */
  readonly itemIds?: readonly string[];
  /** How often each letter is retried. Default: the policy's setting. */
  readonly maxRetries?: number;
  /** Delay before the first retry, in milliseconds. Default 0. */
  readonly delayMs?: number;
  /** Includes letters that are not eligible, and skips the wait between redrives. Default false. */
  readonly force?: boolean;
  /** Aborted to end early; letters that were not started stay dead or ready. Default: never. */
  readonly signal?: AbortSignal;
}

/** Filters for listing letters. All given conditions must hold. */
export interface ListRequest extends Omit<LetterFilter, "queue"> {
  /** A CEL expression over `letter`, `item` and `failure`. Default: none. */
  readonly where?: string;
  /** Sort order. Default `newest`. */
  readonly order?: LetterOrder;
}

/** The dead letter queue of one job. */
export class DlqManager {
  /** The job, as stored when the manager was opened. */
  readonly job: Job;
  readonly #engine: Engine;
  readonly #options: DlqManagerOptions;
  readonly #guard: LimitGuard;

  protected constructor(engine: Engine, job: Job, options: DlqManagerOptions) {
    this.#engine = engine;
    this.job = job;
    this.#options = options;
    const { limits = {} } = options;
    const shared = { home: this.#home, author: this.#author, clock: this.#clock, onNotice: this.#notify };
    this.#guard = new LimitGuard({ engine, queue: job.id, limits: limitsOf(limits), ...shared });
  }

  /** Finds or creates the job. The caller closes the engine. */
  static async open(engine: Engine, options: DlqManagerOptions): Promise<DlqManager> {
    return new DlqManager(engine, await findOrMakeJob(engine, options.job), options);
  }

  /**
   * Records the failure of an item and returns its letter. A further failure of the item extends the letter's history; its
   * data stays. Throws `illegal_move` when the item is running, done or discarded. When the queue is full, the oldest
   * letters are archived and deleted.
   */
  async addFailedItem(item: NewItem, failure: FailureReport): Promise<Letter> {
    const letter = await this.#keepFailure(item, failure);
    await this.#keepLimits({ isEnd: false });
    return letter;
  }

  async #keepFailure(item: NewItem, failure: FailureReport): Promise<Letter> {
    for (let tries = 1; ; tries += 1) {
      const jobId = this.job.id;
      const before = await this.#before(item.itemId);
      const now = await this.#engine.now();
      const letter = extendedLetter({ jobId, item, report: failure, now, ...(before && { before }) });
      const { existing } = await this.#engine.importLetters(jobId, [letter]);
      const kept = existing === 0 ? await this.getItem(item.itemId) : null;
      if (kept !== null) return kept;
      // If another process recorded a failure in between, the attempt number is already used, so the next one
      // is tried.
      if (tries === TRIES_MAX || (await this.#before(item.itemId))?.attempts === before?.attempts)
        throw atWork(item);
    }
  }

  /** Returns all matching letters as an array; by default the waiting ones. `items` streams them. */
  async listItems(request: ListRequest = {}): Promise<readonly Letter[]> {
    const letters: Letter[] = [];
    const { selection, options } = this.#listed(request);
    for await (const page of selectPages(this.#engine, selection, options)) letters.push(...page.letters);
    return letters;
  }

  /** Streams the letters that `listItems` returns, one at a time. */
  items(request: ListRequest = {}): AsyncIterable<Letter> {
    const { selection, options } = this.#listed(request);
    return selectLetters(this.#engine, selection, options);
  }

  #listed({ order, where, ...filter }: ListRequest): { selection: Selection; options: SelectOptions } {
    const selection = { filter: { ...filter, queue: this.job.id }, ...(where !== undefined && { where }) };
    return { selection, options: order === undefined ? {} : { order } };
  }

  /** Returns the letter of an item, including a resolved or discarded one; null if the item has no letter. */
  async getItem(itemId: string): Promise<Letter | null> {
    return (await this.#before(itemId))?.letter ?? null;
  }

  /**
   * Retries letters, waits for the end and returns the operation. A letter leaves the queue only when its retry succeeded;
   * one that fails again stays the same letter with a longer history. Throws `git_refused` when a workflow's commits could
   * not be merged; the message names their branch.
   */
  async reprocessItems(request: ReprocessRequest = {}): Promise<Operation> {
    const { itemIds, maxRetries, delayMs, force = false } = request;
    if (itemIds !== undefined) await this.#requireDead(itemIds);
    const redrive = {
      job: this.job,
      selection: this.#selection(compact({ itemIds })),
      author: this.#author,
      force,
      plan: compact({ maxRetries, delayMs }),
    };
    const { signal: stop = new AbortController().signal } = request;
    const { handler } = this.#options;
    const deps = { engine: this.#engine, home: this.#home, stop, clock: this.#clock };
    const operation = await (handler === undefined
      ? retryLetters(deps, redrive)
      : this.#runHandler(handler, redrive, stop));
    await this.#keepLimits({ isEnd: true });
    return operation;
  }

  /** Archives and deletes the dead letters that were buried at or before that time; returns how many. */
  async purgeOldItems(olderThan: Date): Promise<number> {
    const olderThanMs = Math.max(0, (await this.#engine.now()) - olderThan.getTime());
    const { done } = await purgeLetters(this.#engine, {
      kind: "purge",
      queue: this.job.id,
      selection: this.#selection({ olderThanMs }),
      author: this.#author,
      home: this.#home,
    });
    return done;
  }

  /** Writes the waiting letters to a file, oldest first; returns how many. Default format: by file name, as in `dlq export`. */
  async exportItems(path: string, { format }: { readonly format?: ExportFormat } = {}): Promise<number> {
    const options = { path, ...(format !== undefined && { format }) };
    return (await exportLetters(this.items({ order: "oldest" }), options)).letters;
  }

  /** Analyzes the waiting letters by group, error type and time. */
  analyzePatterns(): Promise<Analysis> {
    return analyseSelected(this.#engine, this.#selection({}));
  }

  get #author(): string {
    return this.#options.author ?? "library";
  }

  get #home(): string {
    return this.#options.home ?? homeOf(process.env);
  }

  get #clock(): Clock {
    return this.#options.clock ?? systemClock;
  }

  get #notify(): (notice: string) => void {
    return this.#options.onNotice ?? ((notice) => process.emitWarning(notice, "RedriveWarning"));
  }

  /** Only reports errors: the caller's request has already succeeded. */
  async #keepLimits(when: { readonly isEnd: boolean }): Promise<void> {
    try {
      await this.#guard.enforce(when);
    } catch (error) {
      const reason = messageOf(error);
      this.#notify(`The limits of the dead letter queue of ${this.job.id} could not be enforced: ${reason}`);
    }
  }

  #selection(filter: LetterFilter): Selection {
    return { filter: { ...filter, queue: this.job.id } };
  }

  /** Returns the letter and the number of attempts of its item; undefined if the item has no letter. */
  async #before(itemId: string): Promise<{ readonly letter: Letter; readonly attempts: number } | undefined> {
    const found = await this.#engine.findItems(itemId, { queue: this.job.id, limit: 1 });
    const item = found.find((one) => one.itemId === itemId);
    const letter = item === undefined ? null : await this.#engine.readLetter(item.ref);
    return item === undefined || letter === null ? undefined : { letter, attempts: item.attempts };
  }

  async #requireDead(itemIds: readonly string[]): Promise<void> {
    for (const itemId of itemIds) {
      const letter = await this.getItem(itemId);
      if (letter?.state === "dead") continue;
      const state = letter === null ? "" : `: it is ${letter.state}`;
      throw new RedriveError(
        "item_not_found",
        `There is no dead letter ${itemId} in ${this.job.id}${state}.`,
      );
    }
  }

  async #runHandler(
    handler: Handler,
    redrive: RetryOptions & { readonly plan: RedrivePlan },
    stop: AbortSignal,
  ): Promise<Operation> {
    const { policy = DEFAULT_POLICY, slots = SLOTS } = this.#options;
    const [engine, clock] = [this.#engine, this.#clock];
    const operation = await beginRetry(engine, redrive);
    const { maxRetries } = redrive.plan;
    await runQueue({
      ...{ engine, handler, slots, stop, clock },
      queue: redrive.job.id,
      policy: maxRetries === undefined ? policy : { ...policy, maxAttempts: maxRetries + 1 },
      operationId: operation.id,
      feed: (storeRetry, signal) => sendLetters(operation, { engine, storeRetry, clock, signal }),
    });
    return readOperation(engine, operation.id);
  }
}

const SLOTS = 4;
const TRIES_MAX = 20;

/** Finds a job by id or name. A missing job is created without a handler. */
export async function findOrMakeJob(engine: Engine, name: string): Promise<Job> {
  const found = await engine.findJob(name);
  if (found !== null) return found;
  try {
    await engine.createJob({ id: name, name, kind: "imported", spec: {} });
    return await engine.changeJob(name, { status: "completed", intakeComplete: true });
  } catch (error) {
    const other = await engine.findJob(name); // another process created it first
    if (other !== null) return other;
    throw error;
  }
}

function atWork({ itemId }: NewItem): RedriveError {
  const message = `The failure of ${itemId} was not recorded: the item is running, done or discarded.`;
  const hint =
    "A runner of the job records the failures of its own attempts. A discarded letter can be restored.";
  return new RedriveError("illegal_move", message, { hint });
}
