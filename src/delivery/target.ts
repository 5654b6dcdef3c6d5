/**
 * A target of receipts for a service: `send` stores a receipt first, and a worker of the target's queue delivers it.
 * Receipts of an earlier process are delivered as soon as the target is opened.
 */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import { contentId, idProblem } from "../intake/identity.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Rate } from "../item/rate.ts";
import { requireTarget } from "../queue/find-job.ts";
import { StandingQueue } from "../queue/queue.ts";
import { Worker, type WorkPlan } from "../queue/worker.ts";
import { type RunnerSettings, runnerSettings } from "../runner/run-options.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { compact, type Json } from "../std/json.ts";
import { Delivery } from "./delivery.ts";
import type { DeliverFunction } from "./function.ts";
import { Outbox, Waiters, waitUntil } from "./outbox.ts";
import type { Protocol, Reachability } from "./protocol.ts";
import { orderOf, receiptOf } from "./receipt.ts";
import {
  changeTarget,
  setTarget,
  type TargetSettings,
  type TargetSpec,
  targetSpecOf,
} from "./target-settings.ts";
import type { Environment } from "./token.ts";

/** The options of a target. Given settings create or change it; without settings it must exist. */
export interface TargetOptions extends TargetSettings, RunnerSettings {
  /** Delivers when the target's protocol is `function`: a function that sends one receipt, or a protocol of your own. */
  readonly deliver?: DeliverFunction | Protocol;
  /** Whether this process delivers; if not, it only stores receipts for one that does. Default true. */
  readonly isDelivering?: boolean;
  /** How many receipts are sent at a time. Default 10. */
  readonly concurrency?: number;
  /** A rate limit of this process, besides the target's own. Default: no limit. */
  readonly ownRate?: Rate;
  /** Called after every attempt, once the store has its end. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Called when the target is found paused, and when it no longer is. */
  readonly onPaused?: (isPaused: boolean) => void;
  /** Called when the store does not answer, and when the target cannot deliver any more. */
  readonly onError?: (error: unknown) => void;
  /** Where tokens are read from. Default: the environment of the process. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Starts a service for the target's letters, which is stopped with the deliveries. Default: none. */
  readonly alongside?: NonNullable<WorkPlan["alongside"]>;
}

/** How one receipt is sent. */
export interface SendOptions {
  /**
   * Identifies the receipt forever: the same receipt with the same key is sent once, another receipt with the same key is
   * a `receipt_conflict`. Default: made from its content.
   */
  readonly key?: string;
  /** Receipts with the same value are delivered one after the other. Default: the target's `orderField`. */
  readonly order?: string;
  /** False: resolves when the receipt is stored. Default true: resolves when it is delivered or dead. */
  readonly wait?: boolean;
  /** Ends the waiting; the receipt is kept and delivered all the same. */
  readonly signal?: AbortSignal;
}

/** A receipt that is stored: it will be delivered or become a letter, whatever happens to this process. */
export interface KeptReceipt {
  readonly key: string;
  /** False when it was sent before. */
  readonly isNew: boolean;
  /** Resolves true when it is delivered and false when it is dead; rejects with `interrupted` when the waiting ends. */
  delivered(signal?: AbortSignal): Promise<boolean>;
}

/** What was left when the target was closed. */
export interface DrainReport {
  /** Receipts that wait in the store for the next process that opens the target. */
  readonly left: number;
}

/** Any JSON value. */
export type Receipt = Json;

/** A function that ignores a stop is abandoned after this time. */
const ABANDON_AFTER_MS = 5000;
const DRAIN_MS = 30_000;
const DRAIN_CHECK_MS = 100;

interface Opened {
  readonly delivery: Delivery;
  /** Null when this process only stores receipts. */
  readonly worker: Worker | null;
}

/** A target of receipts. It is opened at once, and delivers until it is closed. */
export class Target extends StandingQueue {
  /** Resolves when the target exists and deliveries have begun; rejects with the reason why not. */
  readonly opened: Promise<void>;
  readonly #options: TargetOptions;
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #waiters: Waiters;
  readonly #opening: Promise<Opened>;
  /** Rejects when the store does not answer while the target is being opened: `send` reports that instead of waiting. */
  readonly #troubled: Promise<never>;
  #reportTrouble: (error: unknown) => void = () => undefined;
  #open: Opened | null = null;
  #closing: Promise<DrainReport> | null = null;
  #isClosing = false;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(engine: Engine, name: string, options: TargetOptions = {}) {
    super(engine, name, requireTarget);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#outbox = new Outbox(engine, name);
    this.#waiters = new Waiters(engine, name, this.#clock);
    this.#troubled = new Promise((_, reject) => {
      this.#reportTrouble = reject;
    });
    this.#opening = this.#begin();
    this.opened = this.#opening.then(() => undefined);
    for (const promise of [this.#troubled, this.opened]) promise.catch(() => undefined); // `send` rejects with it
    if (options.onError) this.opened.catch(options.onError);
  }

  /** Whether it no longer accepts receipts. */
  get isClosed(): boolean {
    return this.#isClosing;
  }

  /**
   * Stores the receipt and delivers it: resolves true when it is delivered and false when it is dead, or with `wait: false`
   * as soon as it is stored. When it rejects, nothing was stored, unless the error is `interrupted`: then only the waiting
   * ended.
   */
  send(receipt: Receipt, options?: SendOptions & { readonly wait?: true }): Promise<boolean>;
  send(receipt: Receipt, options: SendOptions & { readonly wait: false }): Promise<KeptReceipt>;
  async send(receipt: Receipt, options: SendOptions = {}): Promise<boolean | KeptReceipt> {
    const { delivery } = await this.#whenOpen();
    const data = receiptOf(receipt);
    const key = options.key ?? contentId(data);
    const problem = idProblem(key);
    if (problem !== undefined) throw new WorkError("usage", `The key of the receipt ${problem}.`);
    const lane = options.order ?? orderOf(data, delivery.settings.now().delivery.orderField);
    const keep = () => this.#outbox.add(compact({ itemId: key, data, lane }));
    if (options.wait !== false) {
      return this.#waitFor(key, options.signal, async () => {
        if (!(await keep())) await this.#waiters.look(key);
      });
    }
    const isNew = await keep();
    const delivered = (signal?: AbortSignal) => this.#waitFor(key, signal, () => this.#waiters.look(key));
    return { key, isNew, delivered };
  }

  /** Waits for the end of a receipt from before the action on, so that no end is missed. */
  async #waitFor(
    key: string,
    signal: AbortSignal | undefined,
    action: () => Promise<void>,
  ): Promise<boolean> {
    const waiting = this.#waiters.wait(key);
    try {
      await action();
    } catch (error) {
      waiting.leave();
      throw error;
    }
    return waitUntil(waiting, key, signal);
  }

  /** The stored settings. */
  async settings(): Promise<TargetSpec> {
    return targetSpecOf(await requireTarget(this.engine, this.name));
  }

  /** Changes the given settings. This process uses them at once, others within seconds. */
  async change(settings: TargetSettings): Promise<void> {
    const { delivery } = await this.#whenOpen();
    await changeTarget(this.engine, this.name, settings);
    await delivery.settings.refresh();
  }

  /** Checks whether the receiver answers, without sending a receipt. */
  async probe(signal?: AbortSignal): Promise<Reachability> {
    return (await this.#whenOpen()).delivery.probe(signal);
  }

  /** Accepts no more receipts, delivers what waits for at most this time, and closes the target. The rest stays stored. */
  drain(withinMs: number = DRAIN_MS): Promise<DrainReport> {
    this.#isClosing = true;
    this.#deadline = Math.min(this.#deadline, this.#clock.now() + withinMs);
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Stops deliveries and releases their receipts; the attempts are not counted. Also ends a drain. */
  async close(): Promise<void> {
    const closing = this.drain(0);
    await this.#open?.worker?.stop().catch(() => undefined); // reported by `onError`
    await closing;
  }

  async #begin(): Promise<Opened> {
    const { storeWaitMs = Number.POSITIVE_INFINITY, onError, isDelivering = true } = this.#options;
    const storeRetry = new StoreRetry(storeWaitMs, this.#clock, {
      trouble: (error) => {
        this.#reportTrouble(error);
        onError?.(error);
      },
      isEnding: () => this.#isClosing,
    });
    const settings = settingsIn(this.#options);
    const job = await storeRetry.run(() =>
      settings === null ? requireTarget(this.engine, this.name) : setTarget(this.engine, this.name, settings),
    );
    const delivery = new Delivery(this.engine, job, { ...this.#options, clock: this.#clock });
    if (isDelivering) await delivery.open();
    this.#open = { delivery, worker: isDelivering ? this.#startWorker(delivery) : null };
    return this.#open;
  }

  #startWorker({ handler }: Delivery): Worker {
    const { concurrency, ownRate, alongside, onSettled, onPaused, onError } = this.#options;
    const worker = new Worker(this.engine, this.name, {
      ...runnerSettings(this.#options),
      ...compact({ concurrency, rate: ownRate, alongside }),
      isTarget: true,
      clock: this.#clock,
      abandonAfterMs: ABANDON_AFTER_MS,
      handler,
      observer: {
        settled: (item, settlement) => {
          this.#waiters.settled(item, settlement);
          onSettled?.(item, settlement);
        },
        ...(onPaused && { paused: onPaused }),
        ...(onError && { trouble: onError }),
      },
    });
    worker.ended.catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#waiters.end(this.#interrupted(`is not delivered here any more: ${reason}`, error));
      onError?.(error);
    });
    return worker;
  }

  async #whenOpen(): Promise<Opened> {
    if (this.#isClosing) throw this.#interrupted("is closed here.");
    return this.#open ?? Promise.race([this.#opening, this.#troubled]);
  }

  async #close(): Promise<DrainReport> {
    const opened = await this.#opening.catch(() => null);
    await this.#outbox.idle();
    if (opened?.worker) {
      while (this.#leftMs() > 0 && (await this.#canContinue()))
        await this.#clock.sleep(Math.min(DRAIN_CHECK_MS, this.#leftMs()));
      await opened.worker.drain(this.#leftMs()).catch(() => undefined); // reported by `onError`
    }
    this.#waiters.end(this.#interrupted("is closed here."));
    await opened?.delivery.close();
    return { left: opened === null ? 0 : await this.#left() };
  }

  #leftMs(): number {
    return Math.max(0, this.#deadline - this.#clock.now());
  }

  /** A paused target delivers nothing more, however long one waits. */
  async #canContinue(): Promise<boolean> {
    try {
      if ((await this.engine.findJob(this.name))?.pause) return false;
      return (await this.#left()) > 0;
    } catch (error) {
      if (!isStoreTrouble(error)) throw error;
      return true;
    }
  }

  async #left(): Promise<number> {
    const { ready, leased } = await this.counts();
    return ready + leased;
  }

  #interrupted(what: string, cause?: unknown): WorkError {
    return new WorkError("interrupted", `The target ${this.name} ${what}`, {
      ...(cause !== undefined && { cause }),
      hint: "What was sent is stored: the next process that opens the target delivers it.",
    });
  }
}

/** The settings among the options; null when there are none: then the target is used as it is. */
function settingsIn(options: TargetOptions): TargetSettings | null {
  const { deliver, isDelivering, concurrency, ownRate, onSettled, onPaused, onError, ...rest } = options;
  const { storeWaitMs, poisonAfter, groupRules, classRules, env, clock, alongside, ...settings } = rest;
  const protocol = settings.protocol ?? (deliver === undefined ? undefined : "function");
  const given: TargetSettings = compact({ ...settings, protocol });
  return Object.keys(given).length === 0 ? null : given;
}
