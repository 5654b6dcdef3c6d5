/**
 * The time in which a runner is a holder of leases: it enters, beats, reaps those who vanished, and leaves. When others
 * took its own leases for lost (a machine that slept), what runs is ended and a new tenure begins.
 */
import { setMaxListeners } from "node:events";
import type { Engine, NewHolder } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { Clock } from "../kit/clock.ts";
import type { Random } from "../kit/random.ts";
import { describeSelf } from "../lease/holder.ts";
import { reap } from "../lease/reap.ts";
import type { Policy } from "../retry/policy.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import type { Patience } from "./patience.ts";

export interface TenureOptions {
  readonly engine: Engine;
  readonly queue: string;
  /** As it is at the time. */
  readonly policy: () => Policy;
  readonly random: Random;
  readonly clock: Clock;
  readonly patience: Patience;
  readonly ttlMs?: number;
  readonly toxicAfter?: number;
  readonly groupRules?: readonly GroupRule[];
  /** Items were taken back from a holder that vanished. */
  readonly onReaped: () => void;
  /** Something that is no store trouble went wrong in the background. */
  readonly onFault: (error: unknown) => void;
}

/** Of the time to live. What remains covers the start itself. */
const STARTABLE_SHARE = 7 / 8;

export class Tenure {
  readonly #options: TenureOptions;
  readonly #over = new AbortController();
  #holder: NewHolder;
  #running = newController();
  #renewing: Promise<void> | undefined;
  #isEnded = false;
  #confirmedAt: Moment;

  constructor(options: TenureOptions) {
    this.#options = options;
    this.#holder = describeSelf(options.queue, options.ttlMs);
    this.#confirmedAt = momentOf(options.clock);
  }

  get holderId(): string {
    return this.#holder.id;
  }

  /** Aborted when the attempts of the present holder must end. */
  get signal(): AbortSignal {
    return this.#running.signal;
  }

  /**
   * False when the leases may have expired, because the process or its machine was stalled: nothing starts then until a
   * heartbeat has succeeded. Measured by both clocks, because one stands still in sleep and the other can be moved.
   */
  get isConfirmed(): boolean {
    const { clock } = this.#options;
    const ageMs = Math.max(
      clock.monotonicNow() - this.#confirmedAt.monotonic,
      clock.now() - this.#confirmedAt.wall,
    );
    return ageMs < this.#holder.ttlMs * STARTABLE_SHARE;
  }

  /** Sends a heartbeat; a holder that was revoked is replaced by a new one. */
  async confirm(): Promise<void> {
    const { id } = this.#holder;
    const sentAt = momentOf(this.#options.clock);
    const isKnown = await this.#options.engine.beat(id);
    if (id !== this.#holder.id) return;
    if (isKnown) this.#confirmedAt = sentAt;
    else await this.renew();
  }

  /** Enters, takes back what the vanished held, and goes on with both in the background until `over`. */
  async begin(): Promise<{ readonly background: Promise<unknown> }> {
    const { patience } = this.#options;
    await patience.through(() => this.#enter(this.#holder));
    await patience.through(() => this.#reap());
    return { background: Promise.all([this.#beatForEver(), this.#reapForEver()]) };
  }

  /** Ends the attempts; the holder stays until it has left. */
  stop(): void {
    this.#isEnded = true;
    this.#running.abort("stopped");
  }

  /** Ends the background work. */
  over(): void {
    this.#over.abort();
  }

  /** The heartbeat and the loop may both find out that the leases are lost; the second one waits for the first. */
  renew(): Promise<void> {
    this.#renewing ??= this.#change().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #change(): Promise<void> {
    if (this.#isEnded) return;
    const { patience, queue, ttlMs } = this.#options;
    this.#running.abort("leases lost");
    const holder = describeSelf(queue, ttlMs);
    await patience.through(() => this.#enter(holder));
    this.#holder = holder;
    this.#running = newController();
    if (this.#isEnded) this.#running.abort("stopped");
  }

  async #enter(holder: NewHolder): Promise<void> {
    const sentAt = momentOf(this.#options.clock);
    await this.#options.engine.enter(holder);
    this.#confirmedAt = sentAt;
  }

  async #beatForEver(): Promise<void> {
    while (await this.#pause()) await this.#tolerate(() => this.confirm(), undefined);
  }

  async #reapForEver(): Promise<void> {
    while (await this.#pause()) {
      const reaped = await this.#tolerate(() => this.#reap(), 0);
      if (reaped > 0) this.#options.onReaped();
    }
  }

  /** False when it is over. */
  async #pause(): Promise<boolean> {
    await this.#options.clock.sleep(this.#holder.ttlMs / 4, this.#over.signal);
    return !this.#over.signal.aborted;
  }

  #reap(): Promise<number> {
    const { engine, queue, policy, random, toxicAfter, groupRules } = this.#options;
    const selfId = this.#holder.id;
    const judging = { ...(toxicAfter !== undefined && { toxicAfter }), ...(groupRules && { groupRules }) };
    return reap({ engine, queue, policy: policy(), random, selfId, ...judging });
  }

  /** The background tries again by itself; the runner's loop is the one that gives up. */
  async #tolerate<T>(action: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (!isStoreTrouble(error)) this.#options.onFault(error);
      return otherwise;
    }
  }
}

/** One moment by both clocks. */
interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

function momentOf(clock: Clock): Moment {
  return { wall: clock.now(), monotonic: clock.monotonicNow() };
}

function newController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one listener for each slot
  return controller;
}
