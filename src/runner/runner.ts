/**
 * The loop that drives leasing, attempts, decisions and settling for every kind of queue. Each turn settles what has
 * ended and leases what is due in one durable step of the store; then the leased items start. It holds no more
 * items in memory than it has slots, and acknowledges nothing before the store has it.
 */
import { type Handler, perform } from "../attempt/handler.ts";
import { settlementOf } from "../dead-letter/bury.ts";
import type { Engine, Exchange, Exchanged } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { assert } from "../kit/assert.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import type { Random } from "../kit/random.ts";
import { decide, type HandlerAnswer, needsAnswer } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import { Gate } from "./gate.ts";
import { Patience } from "./patience.ts";
import { Teller } from "./teller.ts";
import { Tenure } from "./tenure.ts";
import { Wake } from "./wake.ts";

export interface RunOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly handler: Handler;
  /** How many attempts run at a time. */
  readonly slots: number;
  /** Asked when the policy is `custom` and an item would be given up. One that throws has said `dlq`. */
  readonly askHandler?: (item: LeasedItem, failure: Failure) => Promise<HandlerAnswer>;
  /** Work only the letters of this redrive. */
  readonly operationId?: string;
  /** Brings work into the queue while it is worked; yields how many items each step brought. */
  readonly feed?: Feed;
  /** Aborted to drain: running attempts are ended and given back. */
  readonly stop: AbortSignal;
  /** How long a store that cannot be written is waited for. Default 30 s. */
  readonly storeWaitMs?: number;
  readonly observer?: RunObserver;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly holderTtlMs?: number;
  /** From how many redrives an item may come back before it is toxic. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
}

/** A feed does its own writing to the store, through the runner's patience, and ends when the signal is aborted. */
export type Feed = (patience: Patience, signal: AbortSignal) => AsyncIterable<number>;

/** Told of what happens, after it is durable. */
export interface RunObserver {
  started?(item: LeasedItem, slot: number): void;
  settled?(item: LeasedItem, settlement: Settlement, outcome: Outcome): void;
  added?(items: number): void;
  /** A promise makes the runner wait before it leases more: whoever takes the results is behind. */
  ready?(): Promise<unknown> | undefined;
  trouble?(error: WorkError): void;
  recovered?(): void;
}

export interface RunResult {
  readonly end: "finished" | "stopped" | "interrupted";
  /** Why it stopped, when it did. */
  readonly reason?: string;
}

/** Works the queue until nothing is left, the policy stops it, or it is told to stop. */
export async function runQueue(options: RunOptions): Promise<RunResult> {
  return new Runner(options).run();
}

/** How often other processes' changes are looked for when there is nothing to do. */
const POLL_MS = 500;

const GATHER_MS = 2;

interface Running {
  readonly item: LeasedItem;
  readonly ended: Promise<void>;
}

interface Ended {
  readonly item: LeasedItem;
  readonly outcome: Outcome;
  readonly settlement: Settlement;
}

class Runner {
  readonly #options: RunOptions;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #gate: Gate;
  readonly #wake = new Wake();
  readonly #patience: Patience;
  readonly #teller: Teller;
  readonly #tenure: Tenure;
  readonly #freeSlots: number[];
  readonly #running = new Map<number, Running>();
  readonly #feedStop = new AbortController();
  #ended: Ended[] = [];
  #isOver = false;
  #leaseAgainAt = 0;
  #stopGathering: (() => void) | undefined;
  #feedDone: boolean;
  #fault: unknown = null;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#engine = options.engine;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#gate = new Gate(options.policy);
    this.#teller = new Teller(options.engine, options.queue);
    this.#patience = new Patience(options.storeWaitMs ?? 30_000, this.#clock, {
      trouble: (error) => {
        this.#teller.trouble(error);
        options.observer?.trouble?.(error);
      },
      recovered: () => {
        options.observer?.recovered?.();
        this.#teller.recovered(this.#patience);
      },
    });
    this.#freeSlots = Array.from({ length: options.slots }, (_, index) => options.slots - index);
    this.#tenure = new Tenure({
      engine: options.engine,
      queue: options.queue,
      policy: options.policy,
      random: this.#random,
      clock: this.#clock,
      patience: this.#patience,
      ...(options.holderTtlMs !== undefined && { ttlMs: options.holderTtlMs }),
      ...(options.toxicAfter !== undefined && { toxicAfter: options.toxicAfter }),
      ...(options.groupRules && { groupRules: options.groupRules }),
      onReaped: () => this.#lookAgain(),
      onFault: (error) => {
        this.#fault ??= error;
      },
    });
    this.#feedDone = options.feed === undefined;
  }

  async run(): Promise<RunResult> {
    const onStop = () => {
      this.#tenure.stop();
      this.#feedStop.abort();
      this.#wake.ring();
    };
    this.#options.stop.addEventListener("abort", onStop, { once: true });
    const { background } = await this.#tenure.begin();
    const feeding = this.#takeIn();
    try {
      if (this.#options.stop.aborted) onStop();
      await this.#loop();
    } catch (error) {
      this.#fault = error;
    }
    this.#options.stop.removeEventListener("abort", onStop);
    this.#isOver = true;
    this.#tenure.over();
    this.#feedStop.abort();
    await Promise.all([this.#windDown(), background, feeding]);
    if (this.#fault !== null) throw this.#fault;
    return this.#result();
  }

  /** Ends what still runs and says goodbye. After a fault the store gets one more chance to hear how it ended. */
  async #windDown(): Promise<void> {
    this.#tenure.stop();
    await Promise.all([...this.#running.values()].map((running) => running.ended));
    try {
      if (this.#ended.length > 0) {
        await this.#engine.exchange(null, { settle: this.#ended.map((one) => one.settlement) });
      }
      await this.#teller.told();
      await this.#engine.leave(this.#tenure.holderId);
    } catch (error) {
      this.#fault ??= error; // what is not settled stays leased, and is taken back as lost by the next runner
    }
  }

  async #loop(): Promise<void> {
    for (;;) {
      await this.#turn();
      await this.#options.observer?.ready?.();
      if (await this.#isFinished()) return;
      await this.#wake.wait(this.#idleMs(), this.#clock);
    }
  }

  /** Settle and lease in one durable step, then start what was leased. */
  async #turn(): Promise<void> {
    const tickets = this.#mayLease() ? this.#askGate() : [];
    const { holderId, signal } = this.#tenure;
    const ended = this.#ended;
    if (ended.length === 0 && tickets.length === 0) return;
    this.#ended = [];
    const { queue, operationId } = this.#options;
    const lease = { queue, max: tickets.length, ...(operationId !== undefined && { operationId }) };
    const settle = ended.map((one) => one.settlement);
    const exchanged = await this.#exchange(holderId, { settle, ...(tickets.length > 0 && { lease }) }, ended);
    for (const ticket of tickets.slice(exchanged?.leased.length ?? 0))
      this.#gate.unused(ticket, this.#clock.now());
    if (exchanged === null) return;
    if (tickets.length > 0) this.#planNextLease(exchanged, tickets.length);
    this.#announce(ended, exchanged);
    for (const [index, item] of exchanged.leased.entries()) this.#start(item, tickets[index] ?? 0, signal);
  }

  /**
   * What could not be written is kept and written later; nothing that ended is forgotten. Null when the leases were
   * lost: nothing was written, and the runner is a new holder now.
   */
  async #exchange(holderId: string, request: Exchange, ended: readonly Ended[]): Promise<Exchanged | null> {
    try {
      return await this.#patience.through(() => this.#engine.exchange(holderId, request));
    } catch (error) {
      this.#ended = [...ended, ...this.#ended];
      if (!(error instanceof WorkError) || error.code !== "lease_lost") throw error;
      await this.#tenure.renew();
      return null;
    }
  }

  #announce(ended: readonly Ended[], { stale }: Exchanged): void {
    const staleRefs = new Set(stale.map((lease) => `${lease.ref}/${lease.attempt}`));
    for (const { item, outcome, settlement } of ended) {
      if (staleRefs.has(`${item.ref}/${item.attempt}`)) continue;
      this.#options.observer?.settled?.(item, settlement, outcome);
    }
  }

  #start(item: LeasedItem, ticket: number, signal: AbortSignal): void {
    const slot = this.#freeSlots.pop();
    assert(slot !== undefined, "more items were leased than there are free slots");
    this.#options.observer?.started?.(item, slot);
    this.#running.set(slot, { item, ended: this.#attempt(item, slot, ticket, signal) });
  }

  async #attempt(item: LeasedItem, slot: number, ticket: number, signal: AbortSignal): Promise<void> {
    const context = { slot, agentId: `${this.#tenure.holderId}/${slot}`, signal };
    const outcome = await perform(item, this.#options.handler, context, () => this.#clock.now());
    const answer = await this.#askHandler(item, outcome);
    this.#running.delete(slot);
    this.#freeSlots.push(slot);
    try {
      if (isCutOff(outcome, signal)) this.#gate.unused(ticket, this.#clock.now());
      else this.#gate.heard(ticket, outcome, this.#clock.now());
      this.#ended.push(this.#judge(item, outcome, answer));
    } catch (error) {
      this.#fault ??= error; // the item stays leased, and comes back by the next runner
    }
    this.#ringSoon();
  }

  /** Group commit: while more run than have ended, a moment's wait lets one durable step settle several. */
  #ringSoon(): void {
    if (this.#ended.length < this.#running.size && !this.#isEnding()) {
      this.#stopGathering ??= this.#clock.after(GATHER_MS, () => this.#ringNow());
    } else {
      this.#ringNow();
    }
  }

  #ringNow(): void {
    this.#stopGathering?.();
    this.#stopGathering = undefined;
    this.#wake.ring();
  }

  async #askHandler(item: LeasedItem, outcome: Outcome): Promise<HandlerAnswer> {
    const { askHandler, policy } = this.#options;
    if (!askHandler || outcome.kind !== "failed" || !needsAnswer(item, outcome, policy)) return "dlq";
    try {
      return await askHandler(item, outcome.failure);
    } catch {
      return "dlq"; // a handler that fails has not handled it
    }
  }

  #judge(item: LeasedItem, outcome: Outcome, answer: HandlerAnswer): Ended {
    const now = this.#clock.now();
    const breaker = { waitMs: this.#gate.waitMs(now) };
    const { policy, toxicAfter, groupRules } = this.#options;
    const verdict = decide(item, outcome, policy, { random: this.#random, breaker, answer });
    this.#gate.judged(verdict, now); // before anything else is leased, also in the same step
    if (verdict.kind === "retry") this.#leaseAgainAt = Math.min(this.#leaseAgainAt, now + verdict.delayMs);
    this.#teller.lookAt(this.#gate, this.#patience);
    const judging = { ...(toxicAfter !== undefined && { toxicAfter }), ...(groupRules && { groupRules }) };
    return { item, outcome, settlement: settlementOf(item, { outcome, verdict, ...judging }) };
  }

  #mayLease(): boolean {
    return this.#freeSlots.length > 0 && !this.#isEnding() && this.#leaseInMs() === 0;
  }

  /** A longer wait than was ever planned means that the clock was put back. */
  #leaseInMs(): number {
    const leftMs = this.#leaseAgainAt - this.#clock.now();
    return leftMs > POLL_MS ? 0 : Math.max(0, leftMs);
  }

  #askGate(): readonly number[] {
    const { tickets, againAt } = this.#gate.ask(this.#freeSlots.length, this.#clock.now());
    if (tickets.length === 0) this.#leaseAgainAt = Math.min(againAt ?? Infinity, this.#clock.now() + POLL_MS);
    return tickets;
  }

  /** When fewer came than were wanted, there is no use in asking before something is due or has changed. */
  #planNextLease({ leased, nextDueAt, now }: Exchanged, wanted: number): void {
    if (leased.length === wanted) return;
    const dueInMs = nextDueAt === null ? POLL_MS : Math.min(POLL_MS, nextDueAt - now);
    this.#leaseAgainAt = this.#clock.now() + dueInMs;
  }

  #idleMs(): number {
    if (this.#ended.length > 0) return 0;
    return this.#freeSlots.length === 0 ? POLL_MS : this.#leaseInMs();
  }

  #isEnding(): boolean {
    return this.#options.stop.aborted || this.#gate.stopReason !== null || this.#fault !== null;
  }

  async #isFinished(): Promise<boolean> {
    if (this.#running.size > 0 || this.#ended.length > 0) return false;
    if (this.#isEnding()) return true;
    if (!this.#feedDone || this.#leaseInMs() === 0) return false;
    return this.#patience.through(() => this.#isNothingLeft());
  }

  /** Other runners of the same queue may still be at work; if one dies, its items come back to us. */
  async #isNothingLeft(): Promise<boolean> {
    const { operationId, queue } = this.#options;
    if (operationId !== undefined)
      return (await this.#engine.closeOperation(operationId)).endedAt !== undefined;
    const counts = await this.#engine.count(queue);
    return counts.ready === 0 && counts.leased === 0;
  }

  #result(): RunResult {
    if (this.#options.stop.aborted) return { end: "interrupted" };
    const reason = this.#gate.stopReason;
    return reason === null ? { end: "finished" } : { end: "stopped", reason };
  }

  async #takeIn(): Promise<void> {
    try {
      for await (const brought of this.#options.feed?.(this.#patience, this.#feedStop.signal) ?? []) {
        this.#options.observer?.added?.(brought);
        this.#lookAgain();
        await new Promise((resolve) => setImmediate(resolve)); // attempts that ended meanwhile come first
        if (this.#isEnding() || this.#isOver) return;
      }
      this.#feedDone = true;
    } catch (error) {
      this.#fault ??= error;
    }
    this.#lookAgain();
  }

  /** There may be something to lease that was not there before. */
  #lookAgain(): void {
    this.#leaseAgainAt = 0;
    this.#wake.ring();
  }
}

/** The runner itself ended the attempt, which says nothing about the world. */
function isCutOff(outcome: Outcome, signal: AbortSignal): boolean {
  return outcome.kind === "released" && signal.aborted;
}
