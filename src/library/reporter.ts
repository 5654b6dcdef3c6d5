/** Reports the attempts of a worker or a map to listeners, and counts them. */
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import type { RunObserver } from "../runner/run-options.ts";
import type { Context } from "./context.ts";
import { type LetterFailure, letterFailure } from "./letter.ts";
import { Listeners } from "./listeners.ts";

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
  /** The attempt was released without a result, for example because the worker stopped. */
  readonly released: WorkedItem<Data>;
  readonly progress: WorkedItem<Data> & { readonly value: unknown };
  /** The store does not respond, a listener threw, or the worker cannot continue. */
  readonly error: unknown;
  readonly paused: { readonly queue: string };
  readonly resumed: { readonly queue: string };
}

export class Reporter<Data, Result> {
  readonly listeners = new Listeners<WorkerEvents<Data, Result>>();
  readonly counts = { succeeded: 0, failed: 0, retried: 0, dead: 0, skipped: 0 };
  readonly #context: Context;
  readonly #queue: () => string;

  constructor(context: Context, queue: () => string) {
    this.#context = context;
    this.#queue = queue;
  }

  get hasErrorListener(): boolean {
    return this.listeners.has("error") || this.#context.listeners.has("error");
  }

  emit<Name extends keyof WorkerEvents<Data, Result>>(
    name: Name,
    event: WorkerEvents<Data, Result>[Name],
  ): void {
    this.listeners.emit(name, event);
    this.#context.listeners.emit(name, event as WorkerEvents<unknown, unknown>[Name]);
  }

  progress(item: LeasedItem, value: unknown): void {
    this.emit("progress", { ...this.itemOf(item), value });
  }

  get observer(): RunObserver {
    return {
      started: (item) => this.emit("started", this.itemOf(item)),
      settled: (item, settlement, outcome) => this.#settled(item, settlement, outcome),
      ready: () => {
        this.#context.onTurn?.(this.#queue());
        return undefined;
      },
      paused: (isPaused) => this.emit(isPaused ? "paused" : "resumed", { queue: this.#queue() }),
      trouble: (error) => {
        if (this.hasErrorListener) this.emit("error", error);
        else process.emitWarning(error);
      },
    };
  }

  #settled(leased: LeasedItem, { verdict, failure, result }: Settlement, outcome: Outcome): void {
    const item = this.itemOf(leased);
    const counts = this.counts;
    this.#context.results.settled(leased, verdict);
    if (verdict.kind === "done") {
      counts.succeeded += 1;
      this.emit("succeeded", { ...item, result: (result ?? null) as Result });
      return;
    }
    const failed = failure && letterFailure(failure);
    if (failed !== undefined && outcome.kind === "failed") {
      counts.failed += 1;
      this.emit("failed", { ...item, failure: failed });
    }
    this.#undone(item, { verdict, failure: failed });
  }

  #undone(
    item: WorkedItem<Data>,
    { verdict, failure }: { verdict: Settlement["verdict"]; failure: LetterFailure | undefined },
  ): void {
    const counts = this.counts;
    if ((verdict.kind === "retry" || verdict.kind === "park") && failure !== undefined) {
      counts.retried += 1;
      this.emit("retrying", { ...item, failure, delayMs: verdict.delayMs });
    } else if (verdict.kind === "bury" || verdict.kind === "stop") {
      counts.dead += 1;
      this.emit("dead", { ...item, ...(failure && { failure }), reason: verdict.reason });
    } else if (verdict.kind === "skip") {
      counts.skipped += 1;
      this.emit("skipped", { ...item, reason: verdict.reason });
    } else this.emit("released", item);
  }

  itemOf({ itemId, queue, name, data, attempt }: LeasedItem): WorkedItem<Data> {
    return { id: itemId, queue, ...(name !== undefined && { name }), data: data as Data, attempt };
  }
}
