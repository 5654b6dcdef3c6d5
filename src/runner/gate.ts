/**
 * Decides before each lease whether the queue may be worked at all: not while it is parked or its breaker is open, and
 * not any more once the job has to stop. What is not leased stays ready; nothing dies here.
 */
import type { Verdict } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { admit, type Breaker, breakerOf, breakerWaitMs, type Report, report } from "../retry/breaker.ts";
import type { Policy } from "../retry/policy.ts";
import { shouldStop } from "../retry/thresholds.ts";

export interface Tickets {
  /** One ticket for each item that may be leased; each has to be given back with `heard` or `unused`. */
  readonly tickets: readonly number[];
  /** When to ask again, in milliseconds of the runner's clock, if nothing was admitted. */
  readonly againAt: number | null;
}

const FAULT_PAUSE_MS_MAX = 5000;
const FAULTS_MAX = 20;

export class Gate {
  readonly #policy: Policy;
  #breaker: Breaker | null;
  #parkedUntil = 0;
  #finished = 0;
  #dead = 0;
  #faults = 0;
  #stopReason: string | null = null;

  constructor(policy: Policy) {
    this.#policy = policy;
    this.#breaker = policy.breaker ? breakerOf(policy.breaker) : null;
  }

  /** Why the job has to stop; null while it may go on. */
  get stopReason(): string | null {
    return this.#stopReason;
  }

  get isBreakerOpen(): boolean {
    return this.#breaker?.gate.kind === "open";
  }

  /** Half open: a few probes decide. */
  get isProbing(): boolean {
    return this.#breaker?.gate.kind === "half_open";
  }

  ask(wanted: number, now: number): Tickets {
    if (now < this.#parkedUntil) return { tickets: [], againAt: this.#parkedUntil };
    if (this.#breaker === null) return { tickets: new Array<number>(wanted).fill(0), againAt: null };
    const tickets: number[] = [];
    while (tickets.length < wanted) {
      const admission = admit(this.#breaker, now);
      this.#breaker = admission.state;
      if (!admission.admitted) return { tickets, againAt: admission.retryAtMs ?? null };
      tickets.push(admission.ticket);
    }
    return { tickets, againAt: null };
  }

  /** Gives a ticket back that no item was found for. */
  unused(ticket: number, now: number): void {
    this.#report(ticket, "cancelled", now);
  }

  /** How long nobody is let through, for `decide`. */
  waitMs(now: number): number {
    return this.#breaker === null ? 0 : breakerWaitMs(this.#breaker, now);
  }

  /** What an attempt says about the world: the breaker hears of it before `decide` is asked. */
  heard(ticket: number, outcome: Outcome, now: number): void {
    this.#report(ticket, reportOf(outcome), now);
    if (outcome.kind === "released") this.#pauseAfterFault(outcome.why, now);
    else this.#faults = 0;
  }

  /** What was decided about an item: it may close the gate for the rest. */
  judged(verdict: Verdict, now: number): void {
    if (verdict.kind === "park") this.#parkedUntil = Math.max(this.#parkedUntil, now + verdict.delayMs);
    const died = verdict.kind === "bury" || verdict.kind === "stop";
    if (died || verdict.kind === "done" || verdict.kind === "skip") this.#finished += 1;
    if (died) this.#dead += 1;
    if (verdict.kind === "stop")
      this.#stopReason ??= `an item failed (${verdict.reason}), and on_item_failure is stop`;
    if (died) this.#stopReason ??= shouldStop(this.#policy, { finished: this.#finished, dead: this.#dead });
  }

  /** The runner's own fault spends nothing, so only a pause and an end keep it from spinning for ever. */
  #pauseAfterFault(why: string, now: number): void {
    if (now < this.#parkedUntil) return; // one fault takes all that run with it
    this.#faults += 1;
    this.#parkedUntil = Math.max(
      this.#parkedUntil,
      now + Math.min(FAULT_PAUSE_MS_MAX, 2 ** this.#faults * 50),
    );
    if (this.#faults >= FAULTS_MAX)
      this.#stopReason ??= `${FAULTS_MAX} times in a row no attempt could be made: ${why}`;
  }

  #report(ticket: number, result: Report, now: number): void {
    if (this.#breaker !== null) this.#breaker = report(this.#breaker, ticket, result, now);
  }
}

/** A permanent failure is the item's own and says nothing about the other side. */
function reportOf(outcome: Outcome): Report {
  if (outcome.kind === "succeeded") return "success";
  return outcome.kind === "failed" && outcome.failure.errorClass !== "permanent" ? "failure" : "cancelled";
}
