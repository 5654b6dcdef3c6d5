/**
 * A target of receipts for a service: `send` stores a receipt first, and the runner of queues delivers it. Receipts of an
 * earlier process are delivered as soon as the target is opened.
 */
import type { Engine, QueueCounts } from "../engine.ts";
import { isStoreTrouble, WorkError } from "../errors.ts";
import { contentId, idProblem } from "../intake/identity.ts";
import { requireTarget } from "../queue/find-job.ts";
import { Worker } from "../queue/worker.ts";
import { StoreRetry } from "../runner/store-retry.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { compact, type Json } from "../std/json.ts";
import { LiveDelivery, LiveProtocol } from "./open-delivery.ts";
import { Outbox, Waiters, waitUntil } from "./outbox.ts";
import type { Reachability } from "./protocol.ts";
import { orderOf, receiptOf } from "./receipt.ts";
import { deliveryHandler } from "./receipt-handler.ts";
import {
  changeTarget,
  type DrainReport,
  type KeptReceipt,
  type Receipt,
  type SendOptions,
  setTarget,
  splitOptions,
  type TargetOptions,
  type TargetSettings,
} from "./target-settings.ts";
import { type TargetSpec, targetSpecOf } from "./target-spec.ts";

/** How long a function has to heed a stop before its receipt is given back without it. */
const ABANDON_AFTER_MS = 5000;
const DRAIN_MS = 30_000;
const DRAIN_LOOK_MS = 100;

/** What there is once the target is open. */
interface Opened {
  readonly live: LiveDelivery;
  readonly protocol: LiveProtocol;
  /** Null when this process only takes receipts in. */
  readonly worker: Worker | null;
}

/** A target of receipts. It is opened at once, and delivers until it is closed. */
export class Target {
  readonly name: string;
  /** Resolves when the target is there and its deliveries have begun; rejects with why not. */
  readonly opened: Promise<void>;
  readonly #engine: Engine;
  readonly #options: TargetOptions;
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #waiters: Waiters;
  readonly #opening: Promise<Opened>;
  /** Rejects when the store did not answer while the target was being opened: `send` says so instead of waiting. */
  readonly #troubled: Promise<never>;
  #tellTrouble: (error: unknown) => void = () => undefined;
  #open: Opened | null = null;
  #closing: Promise<DrainReport> | null = null;
  #isClosing = false;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(engine: Engine, name: string, options: TargetOptions = {}) {
    this.name = name;
    this.#engine = engine;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#outbox = new Outbox(engine, name);
    this.#waiters = new Waiters(engine, name, this.#clock);
    this.#troubled = new Promise((_, reject) => {
      this.#tellTrouble = reject;
    });
    this.#opening = this.#begin();
    this.opened = this.#opening.then(() => undefined);
    for (const promise of [this.#troubled, this.opened]) promise.catch(() => undefined); // whoever sends hears of it
    if (options.onError) this.opened.catch(options.onError);
  }

  /** Whether it takes no more receipts. */
  get isClosed(): boolean {
    return this.#isClosing;
  }

  /**
   * Keeps the receipt and delivers it: resolves true when it is delivered and false when it is dead. With `wait: false` it
   * resolves as soon as it is kept. When it rejects, nothing was kept, unless the error is `interrupted`: then nobody here
   * waits for it any more.
   */
  send(receipt: Receipt, options?: SendOptions & { readonly wait?: true }): Promise<boolean>;
  send(receipt: Receipt, options: SendOptions & { readonly wait: false }): Promise<KeptReceipt>;
  async send(receipt: Receipt, options: SendOptions = {}): Promise<boolean | KeptReceipt> {
    const { live } = await this.#whenOpen();
    const data = receiptOf(receipt);
    const key = options.key ?? contentId(data);
    requireKey(key);
    const lane = options.order ?? orderOf(data, live.last.orderField);
    if (options.wait === false) return this.#keep({ itemId: key, data, lane });
    const waiting = this.#waiters.wait(key);
    try {
      const { isNew } = await this.#keep({ itemId: key, data, lane });
      if (!isNew) await this.#waiters.look(key);
    } catch (error) {
      waiting.leave();
      throw error;
    }
    return waitUntil(waiting, key, options.signal);
  }

  /** The settings as the store has them. */
  async settings(): Promise<TargetSpec> {
    return targetSpecOf(await requireTarget(this.#engine, this.name));
  }

  /** Changes what is given; every process that delivers obeys it within seconds, this one at once. */
  async change(settings: TargetSettings): Promise<void> {
    const { live } = await this.#whenOpen();
    await changeTarget(this.#engine, this.name, settings);
    await live.look();
  }

  /** How many receipts are in each state. */
  counts(): Promise<QueueCounts> {
    return this.#engine.count(this.name);
  }

  /** Asks whether there is anybody on the other side, without sending a receipt. */
  async probe(signal?: AbortSignal): Promise<Reachability> {
    const { live, protocol } = await this.#whenOpen();
    const settings = await live.now();
    const limit = AbortSignal.timeout(settings.timeoutMs);
    return protocol.probe(settings, signal ? AbortSignal.any([signal, limit]) : limit);
  }

  /** Nothing is delivered from now on, by any process; receipts are kept. */
  async pause({ author = "redrive", reason = "" } = {}): Promise<void> {
    await requireTarget(this.#engine, this.name);
    await this.#engine.changeJob(this.name, { pause: { author, reason } });
  }

  /** Ends a pause, also the one that a refused token made. */
  async resume(): Promise<void> {
    await requireTarget(this.#engine, this.name);
    await this.#engine.changeJob(this.name, { pause: null });
  }

  /**
   * Takes no more receipts, delivers what waits for at most so long, and closes the target. What is left then waits in the
   * store; who opens the target next goes on with it.
   */
  drain(withinMs: number = DRAIN_MS): Promise<DrainReport> {
    this.#isClosing = true;
    this.#deadline = Math.min(this.#deadline, this.#clock.now() + withinMs);
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Ends what is on its way and gives it back to the store, unspent; a drain that goes on, too. */
  async close(): Promise<void> {
    const closing = this.drain(0);
    await this.#open?.worker?.stop().catch(() => undefined); // told by `onError`
    await closing;
  }

  async #begin(): Promise<Opened> {
    const { storeWaitMs = Number.POSITIVE_INFINITY, onError } = this.#options;
    const clock = this.#clock;
    const storeRetry = new StoreRetry(storeWaitMs, clock, {
      trouble: (error) => {
        this.#tellTrouble(error);
        onError?.(error);
      },
      isEnding: () => this.#isClosing,
    });
    const job = await storeRetry.run(() => this.#findOrMake());
    const { delivery: settings } = targetSpecOf(job);
    const live = new LiveDelivery(this.#engine, this.name, { settings, clock });
    const protocol = new LiveProtocol(this.#options);
    if (this.#options.isDelivering === false) return this.#remember({ live, protocol, worker: null });
    await protocol.of(settings);
    return this.#remember({ live, protocol, worker: this.#startWorker(live, protocol) });
  }

  #remember(opened: Opened): Opened {
    this.#open = opened;
    return opened;
  }

  #findOrMake() {
    const settings = splitOptions(this.#options);
    return settings === null
      ? requireTarget(this.#engine, this.name)
      : setTarget(this.#engine, this.name, settings);
  }

  #startWorker(live: LiveDelivery, protocol: LiveProtocol): Worker {
    const { concurrency, ownRate, storeWaitMs, poisonAfter, groupRules, alongside } = this.#options;
    const { onSettled, onPaused, onError } = this.#options;
    const clock = this.#clock;
    const worker = new Worker(this.#engine, this.name, {
      ...compact({ concurrency, rate: ownRate, storeWaitMs, poisonAfter, groupRules, alongside }),
      isTarget: true,
      clock,
      abandonAfterMs: ABANDON_AFTER_MS,
      handler: deliveryHandler({
        engine: this.#engine,
        protocol,
        settings: () => live.now(),
        now: clock.now,
      }),
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
      this.#waiters.end(gone(this.name, error));
      onError?.(error);
    });
    return worker;
  }

  async #whenOpen(): Promise<Opened> {
    if (this.#isClosing) throw closed(this.name);
    return this.#open ?? Promise.race([this.#opening, this.#troubled]);
  }

  async #keep(item: { itemId: string; data: Json; lane: string | undefined }): Promise<KeptReceipt> {
    const { itemId: key } = item;
    const kept = await this.#outbox.add(compact(item));
    return { key, isNew: kept === "added", delivered: (signal) => this.#delivered(key, signal) };
  }

  async #delivered(key: string, signal: AbortSignal | undefined): Promise<boolean> {
    const waiting = this.#waiters.wait(key);
    try {
      await this.#waiters.look(key);
    } catch (error) {
      waiting.leave();
      throw error;
    }
    return waitUntil(waiting, key, signal);
  }

  async #close(): Promise<DrainReport> {
    const opened = await this.#opening.catch(() => null);
    await this.#outbox.idle();
    if (opened?.worker) {
      while (this.#leftMs() > 0 && (await this.#mayGoOn()))
        await this.#clock.sleep(Math.min(DRAIN_LOOK_MS, this.#leftMs()));
      await opened.worker.drain(this.#leftMs()).catch(() => undefined); // told by `onError`
    }
    this.#waiters.end(closed(this.name));
    await opened?.protocol.close();
    return { left: opened === null ? 0 : await this.#left() };
  }

  #leftMs(): number {
    return Math.max(0, this.#deadline - this.#clock.now());
  }

  /** Of a paused target nothing more will go, however long one waits. */
  async #mayGoOn(): Promise<boolean> {
    try {
      if ((await this.#engine.findJob(this.name))?.pause) return false;
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
}

function requireKey(key: string): void {
  const problem = idProblem(key);
  if (problem !== undefined) throw new WorkError("usage", `The key of the receipt ${problem}.`);
}

function gone(name: string, cause: unknown): WorkError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new WorkError("interrupted", `The target ${name} is not delivered here any more: ${why}`, {
    cause,
    hint: "What was sent is kept: who opens the target next goes on with it.",
  });
}

function closed(name: string): WorkError {
  return new WorkError("interrupted", `The target ${name} is closed here.`, {
    hint: "What was sent is kept: who opens the target next goes on with it.",
  });
}
