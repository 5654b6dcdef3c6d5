/**
 * A receipt target: `send` stores a receipt, and a worker of the target's queue delivers it. Opening a target
 * also delivers the receipts that earlier processes stored.
 */
import type { Engine } from "../engine.ts";
import { isStoreTrouble, RedriveError } from "../errors.ts";
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
import { messageOf } from "../std/thrown.ts";
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

/**
 * The options of a target. Settings create or change the target; if there are none, it must already exist.
 */
export interface TargetOptions extends TargetSettings, RunnerSettings {
  /** Implements the protocol `function`: a function that sends one receipt, or a custom `Protocol`. */
  readonly deliver?: DeliverFunction | Protocol;
  /** Whether this process delivers receipts. If false, it only stores them for another process. Default true. */
  readonly isDelivering?: boolean;
  /** How many receipts are sent concurrently. Default 10. */
  readonly concurrency?: number;
  /** A rate limit for this process, in addition to the target's rate limit. Default: no limit. */
  readonly ownRate?: Rate;
  /** Called after every attempt, once its result is stored. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Called when this process notices that the target was paused or resumed. */
  readonly onPaused?: (isPaused: boolean) => void;
  /** Called when the store is unavailable, and when this process can no longer deliver. */
  readonly onError?: (error: unknown) => void;
  /** The environment variables that tokens are read from. Default: `process.env`. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** Starts a service that runs until deliveries stop, e.g. one that maintains the target's letters. Default: none. */
  readonly alongside?: NonNullable<WorkPlan["alongside"]>;
}

/** The options for sending one receipt. */
export interface SendOptions {
  /**
   * The permanent identity of the receipt. The same receipt with the same key is sent once; another receipt with the same
   * key is a `receipt_conflict` error. Default: derived from the content.
   */
  readonly key?: string;
  /** Receipts with the same ordering key are delivered one at a time. Default: the value of `orderField`. */
  readonly orderingKey?: string;
  /** The same, by an earlier name. */
  readonly order?: string;
  /** Whether `send` waits until the receipt is delivered or dead, instead of until it is stored. Default true. */
  readonly wait?: boolean;
  /** Stops the wait. The receipt stays stored and is still delivered. */
  readonly signal?: AbortSignal;
}

/** A stored receipt. It will be delivered or become a letter, even if this process ends. */
export interface KeptReceipt {
  readonly key: string;
  /** False if the receipt was already sent before. */
  readonly isNew: boolean;
  /** Resolves with true when delivered and with false when dead. Rejects with `interrupted` when the wait is stopped. */
  delivered(signal?: AbortSignal): Promise<boolean>;
}

/** The result of draining a target. */
export interface DrainReport {
  /** The number of undelivered receipts. The next process that opens the target delivers them. */
  readonly left: number;
}

/** A receipt can be any JSON value. */
export type Receipt = Json;

/** How long to wait for a delivery that ignores its abort signal. */
const ABANDON_AFTER_MS = 5000;
const DRAIN_MS = 30_000;
const DRAIN_CHECK_MS = 100;

interface Opened {
  readonly delivery: Delivery;
  /** Null when this process only stores receipts. */
  readonly worker: Worker | null;
}

/** A receipt target. It opens when it is constructed, and delivers until it is closed. */
export class Target extends StandingQueue {
  /** Resolves when the target exists and deliveries have started; rejects when the target cannot be opened. */
  readonly opened: Promise<void>;
  readonly #options: TargetOptions;
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #waiters: Waiters;
  readonly #opening: Promise<Opened>;
  /** Rejects when the store is unavailable while the target opens, so that `send` rejects instead of waiting. */
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
    for (const promise of [this.#troubled, this.opened]) promise.catch(() => undefined); // `send` reports it
    if (options.onError) this.opened.catch(options.onError);
  }

  /** Whether the target no longer accepts receipts. */
  get isClosed(): boolean {
    return this.#isClosing;
  }

  /**
   * Stores the receipt and delivers it. Resolves with true when it is delivered and with false when it is dead, or with
   * `wait: false` as soon as it is stored. If `send` rejects, nothing was stored, unless the error is `interrupted`: then
   * only the wait was stopped.
   */
  send(receipt: Receipt, options?: SendOptions & { readonly wait?: true }): Promise<boolean>;
  send(receipt: Receipt, options: SendOptions & { readonly wait: false }): Promise<KeptReceipt>;
  async send(receipt: Receipt, options: SendOptions = {}): Promise<boolean | KeptReceipt> {
    const { delivery } = await this.#whenOpen();
    const data = receiptOf(receipt);
    const key = options.key ?? contentId(data);
    const problem = idProblem(key);
    if (problem !== undefined)
      throw new RedriveError("usage", `The receipt key ${problem}.`, { field: "key" });
    const { order, orderingKey: own = order } = options;
    const orderingKey = own ?? orderOf(data, delivery.settings.now().delivery.orderField);
    const keep = () => this.#outbox.add(compact({ itemId: key, data, orderingKey }));
    if (options.wait !== false) {
      return this.#waitFor(key, options.signal, async () => {
        if (!(await keep())) await this.#waiters.look(key);
      });
    }
    const isNew = await keep();
    const delivered = (signal?: AbortSignal) => this.#waitFor(key, signal, () => this.#waiters.look(key));
    return { key, isNew, delivered };
  }

  /** Registers the wait before it runs the action, so that no result is missed. */
  async #waitFor(key: string, signal: AbortSignal | undefined, action: () => Promise<void>) {
    const waiting = this.#waiters.wait(key);
    try {
      await action();
    } catch (error) {
      waiting.leave();
      throw error;
    }
    return waitUntil(waiting, key, signal);
  }

  /** Reads the stored settings. */
  async settings(): Promise<TargetSpec> {
    return targetSpecOf(await requireTarget(this.engine, this.name));
  }

  /** Changes the given settings. They take effect immediately in this process and within seconds in others. */
  async change(settings: TargetSettings): Promise<void> {
    const { delivery } = await this.#whenOpen();
    await changeTarget(this.engine, this.name, settings);
    await delivery.settings.refresh();
  }

  /** Checks whether the receiver is reachable, without sending a receipt. */
  async probe(signal?: AbortSignal): Promise<Reachability> {
    return (await this.#whenOpen()).delivery.probe(signal);
  }

  /** Stops accepting receipts, delivers pending ones until the time is up, and closes the target. The rest stays stored. */
  drain(withinMs: number = DRAIN_MS): Promise<DrainReport> {
    this.#isClosing = true;
    this.#deadline = Math.min(this.#deadline, this.#clock.now() + withinMs);
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Aborts running deliveries and releases their receipts; these attempts do not count. Also ends a drain. */
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
      const reason = messageOf(error);
      this.#waiters.end(this.#interrupted(`is no longer delivered by this process: ${reason}`, error));
      onError?.(error);
    });
    return worker;
  }

  async #whenOpen(): Promise<Opened> {
    if (this.#isClosing) throw this.#interrupted("is closed in this process.");
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
    this.#waiters.end(this.#interrupted("is closed in this process."));
    await opened?.delivery.close();
    return { left: opened === null ? 0 : await this.#left() };
  }

  #leftMs(): number {
    return Math.max(0, this.#deadline - this.#clock.now());
  }

  /** Whether a drain should wait longer. A paused target delivers nothing. */
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

  #interrupted(what: string, cause?: unknown): RedriveError {
    return new RedriveError("interrupted", `The target ${this.name} ${what}`, {
      ...(cause !== undefined && { cause }),
      hint: "Sent receipts are stored. The next process that opens the target delivers them.",
    });
  }
}

/** Extracts the settings from the options. Returns null when there are none, so that the target stays unchanged. */
function settingsIn(options: TargetOptions): TargetSettings | null {
  const { deliver, isDelivering, concurrency, ownRate, onSettled, onPaused, onError, ...rest } = options;
  const { storeWaitMs, poisonAfter, groupRules, classRules, env, clock, alongside, ...settings } = rest;
  const protocol = settings.protocol ?? (deliver === undefined ? undefined : "function");
  const given: TargetSettings = compact({ ...settings, protocol });
  return Object.keys(given).length === 0 ? null : given;
}
