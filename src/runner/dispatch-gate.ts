/**
 * Decides before each lease whether items may start. All workers share the breaker of a queue and its parking as one
 * document, which is updated by compare-and-set. All times use the store's clock.
 */
import type { SettleAndLease, SettleAndLeaseResult, SharedDocument } from "../engine.ts";
import type { Attempt, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import * as breakers from "../retry/breaker.ts";
import { isKnownReset, isOutageFailure, type OutageProgress, shouldStop } from "../retry/decide.ts";
import type { BreakerPolicy, Policy } from "../retry/policy.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";

const FAULT_PAUSE_MS_MAX = 5000;
const FAULTS_MAX = 20;

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

  /** `ignoresFaults` means that faults of the runner itself pause it but never end it. */
  constructor(
    policy: Policy,
    { queue, author, ignoresFaults = false }: { queue: string; author: string; ignoresFaults?: boolean },
  ) {
    this.#policy = policy;
    this.#ignoresFaults = ignoresFaults;
    this.shared = new SharedBreaker({ queue, author, policy: policy.breaker });
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

  /** Returns unused tickets, and those of attempts that do not show whether the service works. */
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

  /** Counts a verdict, which may park the queue or stop the run. */
  recordVerdict(verdict: Verdict, now: number, outcome?: Outcome): void {
    if (verdict.kind === "park") {
      const failed = outcome?.kind === "failed" ? outcome : undefined;
      const until = now + verdict.delayMs;
      this.shared.park(until, failed?.failure.errorMessage);
      if (failed && isOutageFailure(failed)) this.outage.recordParking(now, until, isKnownReset(failed));
    }
    const died = verdict.kind === "bury" || verdict.kind === "stop";
    if (died || verdict.kind === "done" || verdict.kind === "skip") this.#finished += 1;
    if (died) this.#dead += 1;
    if (verdict.kind === "stop")
      this.#stopReason ??= `an item failed (${verdict.reason}), and on_item_failure is stop`;
    if (died) this.#stopReason ??= shouldStop(this.#policy, { finished: this.#finished, dead: this.#dead });
  }

  /** Faults of the runner do not count as attempts, so only a pause and a limit prevent an endless loop. */
  #pauseAfterFault(why: string, now: number): void {
    if (now < this.#pausedUntil) return; // all running attempts fail together
    this.#faults += 1;
    const pauseMs = Math.min(FAULT_PAUSE_MS_MAX, 2 ** Math.min(this.#faults, FAULTS_MAX) * 50);
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs);
    if (this.#faults >= FAULTS_MAX && !this.#ignoresFaults)
      this.#stopReason ??= `no attempt could be made ${FAULTS_MAX} times in a row: ${why}`;
  }
}

/** A permanent failure is caused by the item, so the breaker ignores it. */
function reportOf(outcome: Outcome): breakers.Report {
  if (outcome.kind === "succeeded") return "success";
  return outcome.kind === "failed" && outcome.failure.errorClass !== "permanent" ? "failure" : "cancelled";
}

/** A failure this long after the last parking or failure starts a new outage. */
const GAP_MS_MAX = 3_600_000;

interface Outage {
  readonly since: number;
  readonly rounds: number;
  /** The end of the parking, or the time of the last failure if that is later. */
  readonly until: number;
}

/** Measures how long this runner has waited through an outage, which ends with the next success. */
export class OutageClock {
  #outage: Outage | null = null;

  /** Returns the progress of the outage for an item that has been failing since `itemSince`. */
  soFar(now: number, itemSince = now): OutageProgress {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    const waitedMs = Math.max(0, now - Math.min(since, itemSince));
    return { waitedMs, round: Math.max(1, rounds + (now >= until ? 1 : 0)) };
  }

  recordFailure(now: number): void {
    const { since = now, rounds = 0, until = now } = this.#current(now) ?? {};
    this.#outage = { since, rounds, until: Math.max(until, now) };
  }

  /** `isReset` means that the outage ends at a known time, so that a later failure belongs to another outage. */
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

/**
 * Returns the time since which the item has been failing because of an outage, according to its latest
 * attempts.
 */
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

export interface Admitted {
  /** How many items may be leased. The outcome of each must be passed to `report`. */
  readonly count: number;
  readonly ticket: number;
  /** Set for probes of a half-open breaker: the store must record them even if no item was found. */
  readonly isProbe?: true;
  /** If nothing was admitted: the latest time for the next try, by the store's clock. */
  readonly retryAt: number | null;
}

type Proposal = NonNullable<SettleAndLease["gate"]>;

interface GateState {
  readonly breaker: breakers.Breaker | null;
  readonly parkedUntil: number;
  /** The reason for the parking, for display. */
  readonly parkedFor?: string;
}

/** A change that is applied again when another worker has written the document first. */
type Change = (state: GateState) => GateState;

/** One worker's view of the breaker: the stored state plus unsaved changes. Never accesses the store itself. */
export class SharedBreaker {
  readonly #queue: string;
  readonly #author: string;
  #policy: BreakerPolicy | undefined;
  #version = 0;
  #base: GateState;
  /** `#base` with the unsaved changes applied. */
  #state: GateState;
  #unsaved: Change[] = [];
  /** `writeId` distinguishes this write from another worker's write of the same content. */
  #pending: { readonly writeId: string; readonly state: GateState; readonly changes: number } | null = null;
  #writes = 0;

  constructor(options: { queue: string; author: string; policy?: BreakerPolicy | undefined }) {
    this.#queue = options.queue;
    this.#author = options.author;
    this.#policy = options.policy;
    this.#base = this.#read(null);
    this.#state = this.#base;
  }

  setPolicy(policy: BreakerPolicy | undefined): void {
    if (policy === this.#policy) return;
    this.#policy = policy;
    const isSame = this.#state === this.#base;
    this.#base = this.#withPolicy(this.#base);
    this.#state = isSame ? this.#base : this.#withPolicy(this.#state);
  }

  get breaker(): breakers.Breaker | null {
    return this.#state.breaker;
  }

  /** Whether the breaker is open or half open, so that a failure is part of the outage. */
  get isOutage(): boolean {
    return (this.breaker?.gate.kind ?? "closed") !== "closed";
  }

  get hasChanges(): boolean {
    return this.#state !== this.#base;
  }

  admit(wanted: number, now: number): Admitted {
    const { breaker, parkedUntil } = this.#state;
    if (now < parkedUntil) return { count: 0, ticket: 0, retryAt: parkedUntil };
    if (breaker === null) return { count: wanted, ticket: 0, retryAt: null };
    if (breaker.gate.kind === "closed") return { count: wanted, ticket: breaker.generation, retryAt: null };
    let probed = breaker;
    for (let count = 0; count < wanted; count += 1) {
      const admission = breakers.admit(probed, now);
      if (!admission.admitted)
        return { count, ticket: probed.generation, retryAt: admission.retryAtMs, isProbe: true };
      probed = admission.state;
      this.#state = { ...this.#state, breaker: probed };
    }
    return { count: wanted, ticket: probed.generation, retryAt: null, isProbe: true };
  }

  report(ticket: number, result: breakers.Report, now: number): void {
    this.#change((state) => {
      const breaker = state.breaker && breakers.report(state.breaker, ticket, result, now);
      return breaker === state.breaker ? state : { ...state, breaker };
    });
  }

  park(until: number, reason?: string): void {
    const parkedFor = reason === undefined ? {} : { parkedFor: oneLine(reason, REASON_CHARS_MAX) };
    this.#change((state) =>
      until <= state.parkedUntil ? state : { ...state, parkedUntil: until, ...parkedFor },
    );
  }

  waitMs(now: number): number {
    return this.breaker === null ? 0 : breakers.breakerWaitMs(this.breaker, now);
  }

  /** Returns the gate part of the next `settleAndLease` request. Each proposal ends with `answered` or `withdraw`. */
  proposal(): Proposal {
    const common = { queue: this.#queue, seen: this.#version };
    if (!this.hasChanges) return common;
    this.#writes += 1;
    const writeId = `${this.#author}/${this.#writes}`;
    this.#pending = { writeId, state: this.#state, changes: this.#unsaved.length };
    const event = eventOf(this.#base, this.#state);
    return { ...common, next: bodyOf(this.#state, writeId), ...(event && { event }) };
  }

  /**
   * Returns false if another worker wrote first. Nothing was then leased, and the other worker's state is
   * adopted.
   */
  answered(answer: SettleAndLeaseResult["gate"]): boolean {
    const pending = this.#pending;
    this.#pending = null;
    if (pending !== null && answer !== null && answer.body.by === pending.writeId) {
      this.#version = answer.version;
      this.#unsaved = this.#unsaved.slice(pending.changes);
      this.#rebase(pending.state);
      return true;
    }
    if (pending === null && (answer?.version ?? 0) === this.#version) return true;
    this.load(answer);
    return false;
  }

  /** Called when the request failed: undoes what it admitted and keeps the changes for the next one. */
  withdraw(): void {
    this.#pending = null;
    this.#rebase(this.#base);
  }

  load(document: SharedDocument | null): void {
    const version = document?.version ?? 0;
    const base = version === this.#version ? this.#base : this.#read(document?.body ?? null);
    this.#pending = null;
    this.#version = version;
    this.#rebase(base);
  }

  #change(change: Change): void {
    const changed = change(this.#state);
    if (changed === this.#state) return;
    this.#state = changed;
    this.#unsaved.push(change);
  }

  #rebase(base: GateState): void {
    this.#base = base;
    this.#state = this.#unsaved.reduce((state, change) => change(state), base);
    if (this.#state === base) this.#unsaved = [];
  }

  #read(body: Json): GateState {
    const { breaker, parkedUntil, parkedFor } = isJsonObject(body) ? body : ({} as JsonObject);
    return this.#withPolicy({
      breaker: isBreaker(breaker) ? breaker : null,
      parkedUntil: typeof parkedUntil === "number" ? parkedUntil : 0,
      ...(typeof parkedFor === "string" && { parkedFor }),
    });
  }

  /** Applies the current policy to a breaker that may have been stored with another one. */
  #withPolicy(state: GateState): GateState {
    const policy = this.#policy;
    if (policy === undefined) return { ...state, breaker: null };
    return {
      ...state,
      breaker: state.breaker === null ? breakers.breakerOf(policy) : { ...state.breaker, policy },
    };
  }
}

const REASON_CHARS_MAX = 300;

function bodyOf({ breaker, parkedUntil, parkedFor }: GateState, by: string): JsonObject {
  return compact({ breaker: breaker as unknown as Json, parkedUntil, parkedFor, by });
}

function isBreaker(json: unknown): json is breakers.Breaker {
  if (!isJsonObject(json) || typeof json.generation !== "number" || !isJsonObject(json.gate)) return false;
  return ["closed", "open", "half_open"].includes(String(json.gate.kind));
}

/** A change to half open has no event, because the probes decide whether the breaker closes or opens again. */
function eventOf(before: GateState, after: GateState): Proposal["event"] {
  const [was, is] = [before.breaker?.gate.kind ?? "closed", after.breaker?.gate.kind ?? "closed"];
  if (was === "closed" && is === "open") return { type: "breaker_opened" };
  return was !== "closed" && is === "closed" ? { type: "breaker_closed" } : undefined;
}
