/** A runner as a holder of leases. Registers again after other runners have reaped its leases, e.g. when the machine slept. */
import { setMaxListeners } from "node:events";
import { endOrphans } from "../attempt/process-tree.ts";
import type { Engine, NewHolder } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { LeasedItem } from "../item/item.ts";
import { describeSelf } from "../lease/holder.ts";
import { reap } from "../lease/reap.ts";
import { createStartMarks, removeStartMarks } from "../lease/start-marks.ts";
import type { Policy } from "../retry/policy.ts";
import type { Clock } from "../std/clock.ts";
import type { Random } from "../std/random.ts";
import { tryTo } from "../std/try-to.ts";
import { AHEAD_MAX } from "./read-ahead.ts";
import { type RunOptions, runnerSettings } from "./run-options.ts";
import type { StoreRetry } from "./store-retry.ts";

interface LeaseHolderOptions {
  readonly run: RunOptions;
  readonly policy: () => Policy;
  readonly random: Random;
  readonly clock: Clock;
  readonly storeRetry: StoreRetry;
  /** Called when leases were reaped and their items are ready again. */
  readonly onReaped: () => void;
  /** Called for background errors other than store failures. */
  readonly onFault: (error: unknown) => void;
}

/** The share of the TTL in which work may start. The rest covers the time to start it. */
const STARTABLE_SHARE = 7 / 8;
const UNSTARTED = {
  outcome: "released",
  verdict: { kind: "release" },
  fault: "the operation that leased it failed after its commit",
} as const;

export class LeaseHolder {
  readonly #options: LeaseHolderOptions;
  readonly #engine: Engine;
  readonly #over = new AbortController();
  #holder: NewHolder;
  #running = newController();
  #renewing: Promise<void> | undefined;
  #isEnded = false;
  #mayHoldUnstarted = false;
  #hasStartMarks = false;
  #confirmedAt: ClockReading;

  constructor(options: LeaseHolderOptions) {
    this.#options = options;
    this.#engine = options.run.engine;
    this.#holder = describeSelf(options.run.queue, options.run.holderTtlMs);
    this.#confirmedAt = readClocks(options.clock);
  }

  get holderId(): string {
    return this.#holder.id;
  }

  get signal(): AbortSignal {
    return this.#running.signal;
  }

  /**
   * False if leases may have expired after a stall. Checks two clocks, because one stops during sleep and the
   * other can be set.
   */
  get isConfirmed(): boolean {
    return this.startableMs > 0;
  }

  get #confirmedAgeMs(): number {
    const { clock } = this.#options;
    const { monotonic, wall } = this.#confirmedAt;
    return Math.max(clock.monotonicNow() - monotonic, clock.now() - wall);
  }

  /** How long work may start without another heartbeat. */
  get startableMs(): number {
    return this.#holder.ttlMs * STARTABLE_SHARE - this.#confirmedAgeMs;
  }

  /**
   * Whether the holder records what it has started, so that it may lease items that it does not start
   * immediately.
   */
  get hasStartMarks(): boolean {
    return this.#hasStartMarks;
  }

  /** Sends a heartbeat. If the holder was revoked, registers a new one. */
  async confirm(): Promise<void> {
    const { id } = this.#holder;
    const sentAt = readClocks(this.#options.clock);
    const isKnown = await this.#engine.heartbeat(id);
    if (id !== this.#holder.id) return;
    if (isKnown) this.#confirmedAt = sentAt;
    else await this.renew();
  }

  /** Registers, reaps vanished holders, and continues with heartbeats and reaping in the background until `end`. */
  async begin(): Promise<{ readonly background: Promise<unknown> }> {
    const { storeRetry } = this.#options;
    await storeRetry.run(() => this.#registerHolder(this.#holder));
    await storeRetry.run(() => this.#reap());
    return { background: Promise.all([this.#sendHeartbeats(), this.#reapVanished()]) };
  }

  stop(): void {
    this.#isEnded = true;
    this.#running.abort("stopped");
  }

  end(): void {
    this.#over.abort();
  }

  /**
   * Runs a leasing step. A failed step may nevertheless have been committed; its leases are then held but not
   * started.
   */
  step<T>(step: () => Promise<T>): Promise<T> {
    return step().catch((error: unknown) => {
      this.#mayHoldUnstarted = true;
      throw error;
    });
  }

  /** Releases leases of a failed step, because heartbeats would keep them forever. */
  async releaseUnstarted(holderId: string, started: { has(item: LeasedItem): boolean }): Promise<void> {
    if (!this.#mayHoldUnstarted) return;
    const { storeRetry, onReaped } = this.#options;
    const held = await storeRetry.run(() => this.#engine.listLeases(holderId));
    const unstarted = held.filter((item) => !started.has(item));
    const settle = unstarted.map(({ ref, attempt }) => ({ lease: { ref, attempt }, ...UNSTARTED }));
    if (settle.length > 0) await storeRetry.run(() => this.#engine.settleAndLease(null, { settle }));
    this.#mayHoldUnstarted = false;
    if (settle.length > 0) onReaped();
  }

  /** Registers again after the leases were lost. Concurrent calls share one registration. */
  renew(): Promise<void> {
    this.#renewing ??= this.#registerAgain().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #registerAgain(): Promise<void> {
    if (this.#isEnded) return;
    this.#running.abort("leases lost");
    const { queue, holderTtlMs } = this.#options.run;
    const holder = describeSelf(queue, holderTtlMs);
    await this.#options.storeRetry.run(() => this.#registerHolder(holder));
    this.#holder = holder;
    this.#running = newController();
    if (this.#isEnded) this.#running.abort("stopped");
  }

  async #registerHolder(holder: NewHolder): Promise<void> {
    const sentAt = readClocks(this.#options.clock);
    await this.#engine.registerHolder(holder);
    this.#confirmedAt = sentAt;
    this.#createStartMarks(holder.id);
  }

  /** On a store of several machines, another machine may reap and cannot read the marks. */
  #createStartMarks(holderId: string): void {
    const { engine, commandQueue, startMarksFolder, slots } = this.#options.run;
    if (commandQueue === undefined || startMarksFolder === undefined || engine.can.sharedByMachines) return;
    // Twice, because attempts that have ended keep their marks until they are settled.
    const count = 2 * (slots + AHEAD_MAX);
    const path = tryTo(() => createStartMarks(startMarksFolder, holderId, count));
    this.#hasStartMarks = path !== undefined;
    if (path !== undefined) commandQueue.setMarksFile(path);
  }

  async unregister(): Promise<void> {
    await this.#engine.unregisterHolder(this.holderId);
    const { startMarksFolder } = this.#options.run;
    if (this.#hasStartMarks && startMarksFolder !== undefined)
      removeStartMarks(startMarksFolder, this.holderId);
  }

  async #sendHeartbeats(): Promise<void> {
    while (await this.#pause()) await this.#tolerate(() => this.confirm());
  }

  async #reapVanished(): Promise<void> {
    while (await this.#pause()) {
      const reaped = (await this.#tolerate(() => this.#reap())) ?? 0;
      if (reaped > 0) this.#options.onReaped();
    }
  }

  async #pause(): Promise<boolean> {
    await this.#options.clock.sleep(this.#holder.ttlMs / 4, this.#over.signal);
    return !this.#over.signal.aborted;
  }

  #reap(): Promise<number> {
    const { run, policy, random } = this.#options;
    const { engine, queue, startMarksFolder } = run;
    const selfId = this.#holder.id;
    const settings = { ...runnerSettings(run), policy: policy(), random, startMarksFolder };
    return reap({ ...settings, engine, queue, selfId, endOrphans });
  }

  /** Ignores store failures: the next round tries again, and only the runner's main loop gives up. */
  async #tolerate<T>(action: () => Promise<T>): Promise<T | undefined> {
    return action().catch((error: unknown) => {
      if (!isStoreTrouble(error)) this.#options.onFault(error);
      return undefined;
    });
  }
}

type ClockReading = ReturnType<typeof readClocks>;

function readClocks(clock: Clock): { readonly wall: number; readonly monotonic: number } {
  return { wall: clock.now(), monotonic: clock.monotonicNow() };
}

function newController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one listener for each slot
  return controller;
}
