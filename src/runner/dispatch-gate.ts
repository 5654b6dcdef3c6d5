/** Decides before each lease whether the queue may be worked. Times are those of the store's clock. */
import type { Attempt, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import type { Report } from "../retry/breaker.ts";
import { isKnownReset, isOutageFailure, type OutageProgress, shouldStop } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { type Admitted, SharedBreaker } from "./shared-breaker.ts";

const FAULT_PAUSE_MS_MAX = 5000;
const FAULTS_MAX = 20;

export interface DispatchGateOptions {
  readonly queue: string;
  readonly author: string;
  /** The runner's own faults pause it but never end it. Default false. */
  readonly ignoresFaults?: boolean;
}

export class DispatchGate {
  readonly shared: SharedBreaker;
  readonly outage = new OutageClock();
  readonly #ignoresFaults: boolean;
  #policy: Policy;
  #pausedUntil = 0;
  #finished = 0;
  #dead = 0;
  #faults = 0;
  #stopReason: string | null = null;

  constructor(policy: Policy, { queue, author, ignoresFaults = false }: DispatchGateOptions) {
    this.#policy = policy;
    this.#ignoresFaults = ignoresFaults;
    this.shared = new SharedBreaker({ queue, author, ...(policy.breaker && { policy: policy.breaker }) });
  }

  get stopReason(): string | null {
    return this.#stopReason;
  }

  setPolicy(policy: Policy): void {
    this.#policy = policy;
    this.shared.setPolicy(policy.breaker);
  }

  clockStepped(stepMs: number): void {
    this.#pausedUntil += stepMs;
    this.outage.clockStepped(stepMs);
  }

  admit(wanted: number, now: number): Admitted {
    if (now < this.#pausedUntil) return { count: 0, ticket: 0, retryAt: this.#pausedUntil };
    return this.shared.admit(wanted, now);
  }

  /** Returns tickets for which no item was found, or whose attempt says nothing about the service. */
  returnTickets(ticket: number, now: number, count = 1): void {
    for (let n = 0; n < count; n += 1) this.shared.report(ticket, "cancelled", now);
  }

  /** Reports an outcome to the breaker. Called before `decide`, which depends on the breaker. */
  recordOutcome(ticket: number, outcome: Outcome, now: number): void {
    this.shared.report(ticket, reportOf(outcome), now);
    if (outcome.kind === "succeeded") this.outage.recordSuccess();
    else if (isOutageFailure(outcome)) this.outage.recordFailure(now);
    if (outcome.kind === "released") this.#pauseAfterFault(outcome.why, now);
    else this.#faults = 0;
  }

  /** Counts a verdict; it may park the queue or stop the run. */
  recordVerdict(verdict: Verdict, now: number, outcome?: Outcome): void {
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
    if (failed && isOutageFailure(failed)) this.outage.recordParking(now, until, isKnownReset(failed));
  }

  /** The runner's own faults do not count as attempts, so only a pause and a limit keep it from looping forever. */
  #pauseAfterFault(why: string, now: number): void {
    if (now < this.#pausedUntil) return; // all running attempts fail together
    this.#faults += 1;
    const pauseMs = Math.min(FAULT_PAUSE_MS_MAX, 2 ** Math.min(this.#faults, FAULTS_MAX) * 50);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs);
    if (this.#faults >= FAULTS_MAX && !this.#ignoresFaults)
      this.#stopReason ??= `${FAULTS_MAX} times in a row no attempt could be made: ${why}`;
  }
}

/** A permanent failure is caused by the item and says nothing about the service. */
function reportOf(outcome: Outcome): Report {
  if (outcome.kind === "succeeded") return "success";
  return outcome.kind === "failed" && outcome.failure.errorClass !== "permanent" ? "failure" : "cancelled";
}

/** A failure this long after the queue could be worked again starts a new outage. */
const GAP_MS_MAX = 3_600_000;

interface Outage {
  readonly since: number;
  readonly rounds: number;
  /** The end of the parking, or the time of the last failure. */
  readonly until: number;
}

/** Measures how long this runner has waited through an outage, which ends with the next success. */
export class OutageClock {
  #outage: Outage | null = null;

  /** The progress of the outage for an item that has failed because of it since the given time. */
  soFar(now: number, itemSince = now): OutageProgress {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    const waitedMs = Math.max(0, now - Math.min(since, itemSince));
    return { waitedMs, round: Math.max(1, rounds + (now >= until ? 1 : 0)) };
  }

  recordFailure(now: number): void {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    this.#outage = { since, rounds, until: Math.max(until, now) };
  }

  /** `isReset` means that the outage ends at a known time; a later failure belongs to another outage. */
  recordParking(now: number, until: number, isReset: boolean): void {
    const { since = now, until: before = now } = this.#current(now) ?? {};
    this.#outage = isReset
      ? { since: until, rounds: 0, until }
      : { since, rounds: this.soFar(now).round, until: Math.max(before, until) };
  }

  clockStepped(stepMs: number): void {
    if (this.#outage === null) return;
    const { since, rounds, until } = this.#outage;
    this.#outage = { since: since + stepMs, rounds, until: until + stepMs };
  }

  recordSuccess(): void {
    this.#outage = null;
  }

  #current(now: number): Outage | null {
    const outage = this.#outage;
    return outage !== null && now - outage.until <= GAP_MS_MAX ? outage : null;
  }
}

/** Since when the item has failed because of an outage, judged by its last attempts without a long gap between them. */
export function failingSince(attempts: readonly Attempt[], now: number): number {
  let since = now;
  for (const { failure, outcome, startedAt, endedAt = startedAt } of attempts.toReversed()) {
    if (outcome === "running" || outcome === "released") continue;
    const isOutage = failure?.errorClass === "throttled" || failure?.errorClass === "outage";
    if (!isOutage || since - endedAt > GAP_MS_MAX) return since;
    since = Math.min(since, endedAt);
  }
  return since;
}
