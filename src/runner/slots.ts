/**
 * The slots of a runner: each runs one attempt at a time, from the lease to the settlement that says how it ended. What
 * has ended is kept here until the store has it. There are thousands a second, so each costs little.
 */
import { perform } from "../attempt/handler.ts";
import { OpenAttempt } from "../attempt/open-attempt.ts";
import { settlementOf } from "../dead-letter/bury.ts";
import { isStoreError } from "../errors.ts";
import type { HandlerProblem, LeasedItem, Settlement } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import { assert } from "../kit/assert.ts";
import { applyClassRules } from "../retry/class-rule.ts";
import { decide, type HandlerReport, isOutageFailure, needsAnswer } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { Gate } from "./gate.ts";
import { failingSince } from "./outage-clock.ts";
import type { RunOptions } from "./run-options.ts";

export interface Ended {
  readonly item: LeasedItem;
  readonly outcome: Outcome;
  readonly settlement: Settlement;
}

/** What a slot needs to know besides the options. */
export interface SlotsPlan {
  readonly options: RunOptions;
  readonly gate: Gate;
  readonly random: () => number;
  readonly policy: () => Policy;
  /** By our own clock, and by the store's. */
  readonly now: () => number;
  readonly storeNow: () => number;
  /** Told when an attempt has ended. */
  readonly onEnded: (settlement: Settlement) => void;
}

export interface Place {
  readonly ticket: number;
  readonly holderId: string;
  /** Aborted when the attempts of this holder must end. */
  readonly signal: AbortSignal;
  /** False while its leases may have expired: then nothing starts under them. */
  readonly mayStart: () => boolean;
}

interface Running extends Place {
  readonly item: LeasedItem;
  readonly attempt: OpenAttempt;
  /** Of an attempt that failed because of an outage: since when its item does. */
  readonly failingSince?: number;
  ended: Promise<void>;
}

const TO_DLQ: HandlerReport = { answer: "dlq" };
const LEASE_TOO_OLD = "the lease may have expired before the work started";
const NOT_YET: Promise<void> = Promise.resolve();

export class Slots {
  readonly #plan: SlotsPlan;
  readonly #free: number[];
  readonly #running = new Map<number, Running>();
  #ended: Ended[] = [];

  constructor(plan: SlotsPlan) {
    const { slots } = plan.options;
    this.#plan = plan;
    this.#free = Array.from({ length: slots }, (_, index) => slots - index);
  }

  get free(): number {
    return this.#free.length;
  }

  get running(): number {
    return this.#running.size;
  }

  /** How many have ended and are not handed over. */
  get ended(): number {
    return this.#ended.length;
  }

  /** Hands over what has ended. */
  takeEnded(): Ended[] {
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** What could not be written is kept and written later. */
  putBack(ended: readonly Ended[]): void {
    this.#ended = [...ended, ...this.#ended];
  }

  start(item: LeasedItem, place: Place): void {
    const slot = this.#free.pop();
    assert(slot !== undefined, "more items were leased than there are free slots");
    const { options } = this.#plan;
    options.observer?.started?.(item, slot);
    const agentId = `${place.holderId}/${slot}`;
    const { signal, mayStart } = place;
    const author = options.author ?? agentId;
    const attempt = new OpenAttempt({ attempt: item.attempt, slot, agentId, signal, mayStart, author });
    const running: Running = { ...place, item, attempt, ended: NOT_YET };
    this.#running.set(slot, running);
    running.ended = this.#work(running);
  }

  /** Resolves when nothing runs any more. */
  async allEnded(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Gives back what does not end: its handler may go on, but nobody listens to it any more. */
  abandon(): void {
    for (const running of [...this.#running.values()]) {
      this.#settle(running, { kind: "released", why: "it did not heed the stop" }, TO_DLQ);
    }
  }

  async #work(running: Running): Promise<void> {
    const { item, attempt } = running;
    const outcome = this.#classified(await this.#perform(running));
    const failingSince = isOutageFailure(outcome) ? await this.#failingSince(item) : undefined;
    const report = outcome.kind === "failed" ? await this.#askHandler(item, outcome, failingSince) : TO_DLQ;
    if (this.#running.get(attempt.slot) !== running) return;
    this.#settle({ ...running, ...(failingSince !== undefined && { failingSince }) }, outcome, report);
  }

  async #perform({ item, attempt, mayStart }: Running): Promise<Outcome> {
    const { options, now } = this.#plan;
    if (isExpired(item)) return expired(item, attempt.agentId);
    if (!mayStart()) return { kind: "released", why: LEASE_TOO_OLD };
    return perform(item, options.handler, attempt, { now, evidenceFolder: options.evidenceFolder });
  }

  #classified(outcome: Outcome): Outcome {
    const { classRules = [] } = this.#plan.options;
    if (classRules.length === 0 || outcome.kind !== "failed") return outcome;
    return { ...outcome, failure: applyClassRules(outcome.failure, classRules) };
  }

  /** Of an item that fails because of an outage: since when. Undefined when it is not known, which costs it no attempt. */
  async #failingSince({ ref }: LeasedItem): Promise<number | undefined> {
    try {
      return failingSince(await this.#plan.options.engine.listAttempts(ref), this.#plan.storeNow());
    } catch (error) {
      if (isStoreError(error)) return undefined; // the runner meets the same trouble when it settles
      throw error;
    }
  }

  async #askHandler(
    item: LeasedItem,
    outcome: Outcome,
    failingSince: number | undefined,
  ): Promise<HandlerReport> {
    const { gate, options, policy, storeNow } = this.#plan;
    const { askHandler } = options;
    const outage = gate.outage.soFar(storeNow(), failingSince);
    if (!askHandler || outcome.kind !== "failed" || !needsAnswer(item, outcome, policy(), { outage }))
      return TO_DLQ;
    try {
      return await askHandler(item, outcome.failure);
    } catch (error) {
      return { answer: "dlq", problem: { message: messageOf(error) } };
    }
  }

  #settle(running: Running, outcome: Outcome, report: HandlerReport): void {
    const { slot } = running.attempt;
    this.#running.delete(slot);
    this.#free.push(slot);
    const ended = this.#judge(running, outcome, report);
    this.#ended.push(ended);
    this.#plan.onEnded(ended.settlement);
  }

  /** A decision that cannot be made is a fault of ours: the item is given back, and the error log tells why. */
  #judge(running: Running, outcome: Outcome, report: HandlerReport): Ended {
    const { item, attempt } = running;
    try {
      return { item, outcome, settlement: this.#decide(running, outcome, report) };
    } catch (error) {
      const fault = { kind: "released", why: `no decision could be made: ${messageOf(error)}` } as const;
      this.#plan.gate.heard(running.ticket, fault, this.#plan.storeNow());
      const settlement = settlementOf(item, { outcome: fault, verdict: { kind: "release" } });
      return { item, outcome: fault, settlement: { ...settlement, fault: fault.why, ...notesOf(attempt) } };
    }
  }

  #decide(running: Running, outcome: Outcome, report: HandlerReport): Settlement {
    const { item, attempt, ticket, signal, failingSince } = running;
    const { gate, random, options } = this.#plan;
    const now = this.#plan.storeNow();
    const isOutage = gate.shared.isOutage;
    const isCutOff = outcome.kind === "released" && signal.aborted; // by the runner: it says nothing about the world
    if (isCutOff) gate.unused(ticket, now);
    else gate.heard(ticket, outcome, now);
    const breaker = { waitMs: gate.shared.waitMs(now), isOutage };
    const outage = gate.outage.soFar(now, failingSince);
    const { answer } = report;
    const verdict = decide(item, outcome, this.#plan.policy(), { random, breaker, outage, answer });
    gate.judged(verdict, now, outcome); // before anything else is leased, also in the same step
    const { toxicAfter, groupRules } = options;
    const judging = { ...(toxicAfter !== undefined && { toxicAfter }), ...(groupRules && { groupRules }) };
    const settlement = settlementOf(item, { outcome, verdict, ...judging });
    const fault = outcome.kind === "released" && !isCutOff ? { fault: outcome.why } : undefined;
    const counts = "counts" in outcome ? outcome.counts : undefined;
    const { problem } = report;
    if (!fault && !counts && !problem && attempt.notes === null) return settlement;
    if (problem !== undefined) attempt.note(problemText(problem));
    const handler = problem && { handlerProblem: problem };
    return { ...settlement, ...fault, ...handler, ...(counts && { counts }), ...notesOf(attempt) };
  }
}

function notesOf({ notes }: OpenAttempt): Pick<Settlement, "notes"> {
  return notes === null ? {} : { notes };
}

/** The note that a failed handler leaves on the item. */
function problemText({ message, output, log }: HandlerProblem): string {
  const lines = [
    `The handler of on_item_failure failed: ${message}`,
    output?.trimEnd(),
    log && `Log: ${log}`,
  ];
  return lines.filter(Boolean).join("\n");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

function isExpired({ expiresAt, startedAt }: LeasedItem): boolean {
  return expiresAt !== undefined && startedAt >= expiresAt;
}

/** Whoever set the time does not want it done any more: trying again would not help. */
function expired(item: LeasedItem, agentId: string): Outcome {
  return {
    kind: "failed",
    failure: {
      attemptNumber: item.attempt,
      timestamp: item.startedAt,
      errorType: { name: "Timeout" },
      errorClass: "permanent",
      errorMessage: "The item expired before it was worked.",
      agentId,
      stepFailed: "expiry",
      durationMs: 0,
    },
  };
}
