/**
 * Decides before each lease whether the queue may be worked at all: not while it is parked or its breaker is open, which
 * all workers share, and not any more once this run has to stop. What is not leased stays ready; nothing dies here. Times
 * are those of the store's clock.
 */
import type { Verdict } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Report } from "../retry/breaker.ts";
import { isKnownReset, isOutageFailure } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { shouldStop } from "../retry/thresholds.ts";
import { OutageClock } from "./outage-clock.ts";
import { type Admitted, SharedGate } from "./shared-gate.ts";

const FAULT_PAUSE_MS_MAX = 5000;
const FAULTS_MAX = 20;

export interface GateOptions {
  readonly queue: string;
  /** Names this runner in what it writes. */
  readonly author: string;
  /** Faults of the runner's own pause it, but never end it. Default false. */
  readonly isTireless?: boolean;
}

export class Gate {
  readonly shared: SharedGate;
  readonly outage = new OutageClock();
  readonly #isTireless: boolean;
  #policy: Policy;
  #pausedUntil = 0;
  #finished = 0;
  #dead = 0;
  #faults = 0;
  #stopReason: string | null = null;

  constructor(policy: Policy, { queue, author, isTireless = false }: GateOptions) {
    this.#policy = policy;
    this.#isTireless = isTireless;
    this.shared = new SharedGate({ queue, author, ...(policy.breaker && { policy: policy.breaker }) });
  }

  /** Why the run has to stop; null while it may go on. */
  get stopReason(): string | null {
    return this.#stopReason;
  }

  obey(policy: Policy): void {
    this.#policy = policy;
    this.shared.obey(policy.breaker);
  }

  ask(wanted: number, now: number): Admitted {
    if (now < this.#pausedUntil) return { count: 0, ticket: 0, againAt: this.#pausedUntil };
    return this.shared.ask(wanted, now);
  }

  /** Gives tickets back that no item was found for, or whose attempt says nothing about the world. */
  unused(ticket: number, now: number, count = 1): void {
    for (let n = 0; n < count; n += 1) this.shared.report(ticket, "cancelled", now);
  }

  /** What an attempt says about the world: the breaker hears of it before `decide` is asked. */
  heard(ticket: number, outcome: Outcome, now: number): void {
    this.shared.report(ticket, reportOf(outcome), now);
    if (outcome.kind === "succeeded") this.outage.over();
    else if (isOutageFailure(outcome)) this.outage.failed(now);
    if (outcome.kind === "released") this.#pauseAfterFault(outcome.why, now);
    else this.#faults = 0;
  }

  /** What was decided about an item: it may close the gate for the rest. */
  judged(verdict: Verdict, now: number, outcome?: Outcome): void {
    if (verdict.kind === "park") this.#park(now, now + verdict.delayMs, outcome);
    const died = verdict.kind === "bury" || verdict.kind === "stop";
    if (died || verdict.kind === "done" || verdict.kind === "skip") this.#finished += 1;
    if (died) this.#dead += 1;
    if (verdict.kind === "stop")
      this.#stopReason ??= `an item failed (${verdict.reason}), and on_item_failure is stop`;
    if (died) this.#stopReason ??= shouldStop(this.#policy, { finished: this.#finished, dead: this.#dead });
  }

  #park(now: number, until: number, outcome: Outcome | undefined): void {
    const failed = outcome?.kind === "failed" ? outcome : undefined;
    this.shared.park(until, failed?.failure.errorMessage);
    if (failed && isOutageFailure(failed)) this.outage.parked(now, until, isKnownReset(failed));
  }

  /** The runner's own fault spends nothing, so only a pause and an end keep it from spinning for ever. */
  #pauseAfterFault(why: string, now: number): void {
    if (now < this.#pausedUntil) return; // one fault takes all that run with it
    this.#faults += 1;
    const pauseMs = Math.min(FAULT_PAUSE_MS_MAX, 2 ** Math.min(this.#faults, FAULTS_MAX) * 50);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs);
    if (this.#faults >= FAULTS_MAX && !this.#isTireless)
      this.#stopReason ??= `${FAULTS_MAX} times in a row no attempt could be made: ${why}`;
  }
}

/** A permanent failure is the item's own and says nothing about the other side. */
function reportOf(outcome: Outcome): Report {
  if (outcome.kind === "succeeded") return "success";
  return outcome.kind === "failed" && outcome.failure.errorClass !== "permanent" ? "failure" : "cancelled";
}
