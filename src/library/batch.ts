/** Collects tasks into batches for a handler that takes many at once. A throw fails all of them; `fail` fails one. */
import type { Clock } from "../std/clock.ts";
import { formatDuration } from "../std/duration.ts";
import { withTimeout } from "../std/timeout.ts";
import type { Task } from "./task.ts";

/** A task of a batch. */
export interface BatchTask<Data> extends Task<Data> {
  /** Fails this task, while the others of the batch succeed. */
  readonly fail: (error: unknown) => void;
}

/** Processes a batch. May return the results, one for each task in the same order. */
export type BatchHandler<Data, Result> =
  | ((tasks: readonly BatchTask<Data>[]) => readonly Result[] | Promise<readonly Result[]>)
  | ((tasks: readonly BatchTask<Data>[]) => void | Promise<void>);

export interface BatchPlan {
  readonly size: number;
  readonly waitMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number | undefined;
  readonly clock: Clock;
}

interface Entry {
  readonly task: Task<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const NEVER = new AbortController().signal;

export class Batcher {
  readonly #handler: BatchHandler<unknown, unknown>;
  readonly #plan: BatchPlan;
  #pending: Entry[] = [];
  #active = 0;
  #isDue = false;
  #cancelWait: (() => void) | undefined;

  constructor(handler: BatchHandler<unknown, unknown>, plan: BatchPlan) {
    this.#handler = handler;
    this.#plan = plan;
  }

  /** Resolves with the task's result when its batch has ended. */
  run(task: Task<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const entry = { task, resolve, reject };
      this.#pending.push(entry);
      task.signal.addEventListener("abort", () => this.#leave(entry), { once: true });
      this.#cancelWait ??= this.#plan.clock.after(this.#plan.waitMs, () => {
        this.#isDue = true;
        this.#begin();
      });
      this.#begin();
    });
  }

  #leave(entry: Entry): void {
    if (!this.#pending.includes(entry)) return; // its batch is already running and handles the signal
    this.#pending = this.#pending.filter((one) => one !== entry);
    entry.reject(entry.task.signal.reason);
  }

  #begin(): void {
    const { size, concurrency } = this.#plan;
    while (this.#active < concurrency && this.#pending.length > 0) {
      if (this.#pending.length < size && !this.#isDue) return;
      const batch = this.#pending.splice(0, size);
      if (this.#pending.length === 0) this.#endWait();
      this.#active += 1;
      void this.#work(batch).finally(() => {
        this.#active -= 1;
        this.#begin();
      });
    }
    if (this.#pending.length === 0) this.#endWait();
  }

  #endWait(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#isDue = false;
  }

  async #work(batch: readonly Entry[]): Promise<void> {
    const failed = new Map<Entry, unknown>();
    try {
      const results = await this.#call(batch, failed);
      for (const [index, entry] of batch.entries()) {
        if (failed.has(entry)) entry.reject(failed.get(entry));
        else entry.resolve(results?.[index]);
      }
    } catch (error) {
      for (const entry of batch) entry.reject(failed.has(entry) ? failed.get(entry) : error);
    }
  }

  async #call(batch: readonly Entry[], failed: Map<Entry, unknown>): Promise<readonly unknown[] | undefined> {
    const { timeoutMs } = this.#plan;
    const perform = async (late: AbortSignal) => {
      const tasks = batch.map((entry) => ({
        ...entry.task,
        signal: AbortSignal.any([entry.task.signal, late]),
        fail: (error: unknown) => void failed.set(entry, error),
      }));
      const handler = this.#handler; // called as a plain function, so that stack traces do not contain this class
      return { results: await handler(tasks) };
    };
    const ended =
      timeoutMs === undefined
        ? await perform(NEVER)
        : await withTimeout(perform, { timeoutMs, signal: NEVER });
    if (ended === "late") throw new Error(`The batch timed out after ${formatDuration(timeoutMs ?? 0)}.`);
    return resultsOf(ended.results, batch.length);
  }
}

function resultsOf(results: unknown, count: number): readonly unknown[] | undefined {
  if (results === undefined) return undefined;
  if (Array.isArray(results) && results.length === count) return results;
  throw new TypeError(
    `The handler of a batch must return one result for each of its ${count} tasks, or nothing.`,
  );
}
