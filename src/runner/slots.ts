/** The slots of a runner. Each runs one attempt at a time; thousands run per second, so starting one must be cheap. */
import { OpenAttempt, perform } from "../attempt/handler.ts";
import type { QueuedLaunch } from "../attempt/launch.ts";
import { AttemptStop } from "../attempt/stop-signal.ts";
import { settlementOf } from "../dead-letter/bury.ts";
import { isStoreError } from "../errors.ts";
import type { HandlerProblem, Lease, LeasedItem, Settlement, Verdict } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import { applyClassRules } from "../retry/class-rule.ts";
import { decide, type HandlerReport, isOutageFailure, needsAnswer } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import { assert } from "../std/assert.ts";
import { BriefMap } from "../std/brief-map.ts";
import type { Json } from "../std/json.ts";
import { type DispatchGate, failingSince } from "./dispatch-gate.ts";
import { ProgressWriter } from "./progress-writer.ts";
import { AHEAD_MAX } from "./read-ahead.ts";
import { type ItemRequest, type RunnerSettings, type RunOptions, runnerSettings } from "./run-options.ts";

export interface Ended {
  readonly item: LeasedItem;
  readonly outcome: Outcome;
  readonly settlement: Settlement;
}

interface SlotsDeps {
  readonly options: RunOptions;
  readonly gate: DispatchGate;
  readonly random: () => number;
  readonly policy: () => Policy;
  /** The clock of this process, and of the store. */
  readonly now: () => number;
  readonly storeNow: () => number;
  readonly onEnded: (settlement: Settlement) => void;
  /** Called when an attempt begins to wait without its slot. */
  readonly onFreed: () => void;
}

interface StartContext {
  readonly ticket: number;
  readonly holderId: string;
  /** Aborted when the attempts of this holder must end. */
  readonly signal: AbortSignal;
  /** False while the leases may have expired; then nothing may start. */
  readonly mayStart: () => boolean;
  /** How long queued commands may still start. Absent: each starts immediately. */
  readonly startWithinMs?: number | undefined;
}

interface Running extends StartContext {
  /** Ends this attempt alone; present if people may request that. */
  readonly own: AttemptStop | undefined;
  readonly item: LeasedItem;
  readonly attempt: OpenAttempt;
  /** Set after an outage failure: the time since which the item has been failing because of the outage. */
  readonly failingSince?: number;
  ended: Promise<void>;
}

const TO_DLQ: HandlerReport = { answer: "dlq" };
const LEASE_TOO_OLD = "the lease may have expired before the work started";
const NOT_YET: Promise<void> = Promise.resolve();

export class Slots {
  readonly #deps: SlotsDeps;
  readonly #rules: RunnerSettings;
  readonly #free: number[];
  /** How many items may be leased beyond the slots. */
  #ahead = 0;
  /** The attempts whose commands are queued, with the times of their leases. */
  readonly #waiting = new BriefMap<Running, number>();
  /** How many attempts wait without a slot. */
  #withoutSlot = 0;
  readonly #marks = new MarkNumbers();
  readonly #running = new BriefMap<number, Running>();
  readonly #progress: ProgressWriter;
  readonly #followed = new WeakSet<AbortSignal>();
  #ended: Ended[] = [];

  constructor(deps: SlotsDeps) {
    const { slots, waitingMax = 0 } = deps.options;
    this.#deps = deps;
    this.#rules = runnerSettings(deps.options);
    this.#progress = new ProgressWriter(deps.options);
    const numbers = slots + waitingMax + (deps.options.commandQueue === undefined ? 0 : AHEAD_MAX);
    this.#free = Array.from({ length: numbers }, (_, index) => numbers - index);
  }

  get free(): number {
    const { slots, waitingMax = 0 } = this.#deps.options;
    const usable = slots + this.#ahead + Math.min(this.#withoutSlot, waitingMax);
    return Math.max(0, usable - this.#running.size);
  }

  get ahead(): number {
    return this.#ahead;
  }

  leaseAhead(items: number): void {
    this.#ahead = items;
  }

  /** When the attempt that has waited longest was leased; null if none waits. */
  get waitingSince(): number | null {
    return this.#waiting.values().next().value ?? null;
  }

  get running(): number {
    return this.#running.size;
  }

  get ended(): number {
    return this.#ended.length;
  }

  /** Whether the attempt is running, or has ended but is not settled yet. */
  has({ ref, attempt }: Lease): boolean {
    const isIt = (one: { readonly item: LeasedItem }) => one.item.ref === ref && one.item.attempt === attempt;
    return [...this.#running.values()].some(isIt) || this.#ended.some(isIt);
  }

  takeEnded(): Ended[] {
    const ended = this.#ended;
    this.#ended = [];
    this.#marks.reuse();
    return ended;
  }

  putBack(ended: readonly Ended[]): void {
    this.#ended = [...ended, ...this.#ended];
  }

  start(item: LeasedItem, context: StartContext): void {
    const slot = this.#free.pop();
    assert(slot !== undefined, "more items were leased than there are free slots");
    const { options } = this.#deps;
    const mark = context.startWithinMs === undefined ? undefined : this.#marks.take();
    if (mark === undefined) options.observer?.started?.(item, slot);
    const agentId = `${context.holderId}/${slot}`;
    const { mayStart } = context;
    const own = options.control && this.#ownStop(context.signal);
    const author = options.author ?? agentId;
    const onProgress = (value: Json) => this.#reportProgress(item, value);
    const attempt = new OpenAttempt({
      attempt: item.attempt,
      slot,
      agentId,
      stop: own ?? context.signal,
      mayStart,
      author,
      onProgress,
      queued: mark === undefined ? undefined : this.#queued(item, slot, mark, context),
      withoutSlot: options.waitingMax === undefined ? undefined : (work) => this.#wait(work),
    });
    const running: Running = { ...context, own, item, attempt, ended: NOT_YET };
    this.#running.set(slot, running);
    if (mark !== undefined) this.#waiting.set(running, this.#deps.now());
    running.ended = this.#work(running);
  }

  async #wait<T>(work: () => Promise<T>): Promise<T> {
    this.#withoutSlot += 1;
    this.#deps.onFreed();
    try {
      return await work();
    } finally {
      this.#withoutSlot -= 1;
    }
  }

  #queued(item: LeasedItem, slot: number, mark: number, { startWithinMs = 0 }: StartContext): QueuedLaunch {
    const { slots: limit, observer } = this.#deps.options;
    const { ref, attempt } = item;
    const onStarted = () => {
      const running = this.#running.get(slot);
      if (running?.item !== item) return;
      this.#waiting.delete(running);
      observer?.started?.(item, slot);
    };
    return { limit, mark, ref, attempt, startWithinMs, onStarted };
  }

  /** Ends one attempt, also when the holder's signal is aborted. The holder's signal gets one listener for all. */
  #ownStop(signal: AbortSignal): AttemptStop {
    const own = new AttemptStop();
    if (signal.aborted) own.abort();
    if (this.#followed.has(signal)) return own;
    this.#followed.add(signal);
    const endAll = () => {
      for (const running of this.#running.values()) if (running.signal === signal) running.own?.abort();
    };
    signal.addEventListener("abort", endAll, { once: true });
    return own;
  }

  /** Ends the attempts for which a person has requested it. */
  endRequested(): void {
    const { control } = this.#deps.options;
    for (const { item, own } of this.#running.values()) if (control?.requestFor(item)) own?.abort();
  }

  #reportProgress(item: LeasedItem, value: Json): void {
    this.#deps.options.observer?.progress?.(item, value);
    this.#progress.report(item, value);
  }

  async allEnded(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  /** Releases attempts that do not end. Their handlers may keep running, but their results are ignored. */
  abandon(): void {
    for (const running of [...this.#running.values()]) {
      this.#settle(running, { kind: "released", why: "the handler did not stop" }, TO_DLQ);
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
    const { options, now } = this.#deps;
    const { expiresAt, startedAt } = item;
    if (expiresAt !== undefined && startedAt >= expiresAt) return expired(item, attempt.agentId);
    if (!mayStart()) return { kind: "released", why: LEASE_TOO_OLD };
    if (options.control?.requestFor(item)) return { kind: "released", why: "a person has requested it" };
    return perform(item, options.handler, attempt, { now, evidenceFolder: options.evidenceFolder });
  }
  #classified(outcome: Outcome): Outcome {
    const { classRules = [] } = this.#deps.options;
    if (classRules.length === 0 || outcome.kind !== "failed") return outcome;
    return { ...outcome, failure: applyClassRules(outcome.failure, classRules) };
  }

  /**
   * Returns the time since which the item has been failing because of an outage; undefined if the store
   * cannot be read.
   */
  async #failingSince({ ref }: LeasedItem): Promise<number | undefined> {
    try {
      return failingSince(await this.#deps.options.engine.listAttempts(ref), this.#deps.storeNow());
    } catch (error) {
      if (isStoreError(error)) return undefined; // the runner gets the same error when it settles
      throw error;
    }
  }

  async #askHandler(item: LeasedItem, outcome: Outcome, failingSince?: number): Promise<HandlerReport> {
    const { gate, options, policy, storeNow } = this.#deps;
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
    const { slot, queued } = running.attempt;
    this.#waiting.delete(this.#running.get(slot) ?? running);
    this.#running.delete(slot);
    this.#free.push(slot);
    if (queued !== undefined) this.#marks.giveBack(queued.mark);
    this.#progress.forget(running.item);
    const ended = this.#end(running, outcome, report);
    this.#ended.push(ended);
    this.#deps.onEnded(ended.settlement);
  }

  /** An error in the decision is a bug in Redrive: releases the item and records the error in the error log. */
  #end(running: Running, outcome: Outcome, report: HandlerReport): Ended {
    const { item, attempt } = running;
    try {
      return { item, outcome, settlement: this.#decide(running, outcome, report) };
    } catch (error) {
      const fault = { kind: "released", why: `no decision could be made: ${messageOf(error)}` } as const;
      this.#deps.gate.recordOutcome(running.ticket, fault, this.#deps.storeNow());
      const settlement = settlementOf(item, { outcome: fault, verdict: { kind: "release" } });
      return { item, outcome: fault, settlement: { ...settlement, fault: fault.why, ...notesOf(attempt) } };
    }
  }

  #decide(running: Running, outcome: Outcome, report: HandlerReport): Settlement {
    const { item, attempt, ticket, signal, failingSince } = running;
    const { gate, random } = this.#deps;
    const now = this.#deps.storeNow();
    const isOutage = gate.shared.isOutage;
    // Ended by the runner, so the breaker ignores it.
    const request = this.#deps.options.control?.requestFor(item);
    const isEnded = signal.aborted || request !== undefined;
    const isCutOff = outcome.kind === "released" && (isEnded || outcome.isRecalled === true);
    if (isCutOff) gate.returnTickets(ticket, now);
    else gate.recordOutcome(ticket, outcome, now);
    const breaker = { waitMs: gate.shared.waitMs(now), isOutage };
    const outage = gate.outage.soFar(now, failingSince);
    const { answer } = report;
    const wanted = request && verdictOf(request, outcome);
    const verdict = wanted ?? decide(item, outcome, this.#deps.policy(), { random, breaker, outage, answer });
    if (!wanted) gate.recordVerdict(verdict, now, outcome); // recorded before more is leased in the same step
    const settlement = settlementOf(item, { outcome, verdict, ...this.#rules });
    const fault = outcome.kind === "released" && !isCutOff ? { fault: outcome.why } : undefined;
    const counts = "counts" in outcome ? outcome.counts : undefined;
    const { problem } = report;
    if (!fault && !counts && !problem && attempt.notes === null) return settlement;
    if (problem !== undefined) attempt.note(problemText(problem));
    const handler = problem && { handlerProblem: problem };
    return { ...settlement, ...fault, ...handler, ...(counts && { counts }), ...notesOf(attempt) };
  }
}

/** How long a stopped item must not be leased. It is held before this time is over. */
const UNTIL_HELD_MS = 3000;

/** Returns undefined if the attempt ended by itself before the request, so that its own outcome counts. */
function verdictOf({ action, author }: ItemRequest, outcome: Outcome): Verdict | undefined {
  if (outcome.kind === "succeeded") return undefined;
  if (action === "skip") return { kind: "skip", reason: `skipped by ${author}` };
  return outcome.kind === "released" ? { kind: "park", delayMs: UNTIL_HELD_MS } : undefined;
}

/** The numbers of start marks. One is reused after its attempt is settled, because until then a reaper may read it. */
class MarkNumbers {
  #free: number[] = [];
  #ended: number[] = [];
  #next = 0;

  take(): number {
    return this.#free.pop() ?? this.#next++;
  }

  giveBack(mark: number): void {
    this.#ended.push(mark);
  }

  /** Must be called when the ended attempts are about to be settled, because nothing starts before that. */
  reuse(): void {
    this.#free.push(...this.#ended);
    this.#ended = [];
  }
}

function notesOf({ notes }: OpenAttempt): Pick<Settlement, "notes"> {
  return notes === null ? {} : { notes };
}

function problemText({ message, output, log }: HandlerProblem): string {
  const lines = [`The on_item_failure handler failed: ${message}`, output?.trimEnd(), log && `Log: ${log}`];
  return lines.filter(Boolean).join("\n");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
/** An expired item is not retried, because its result is no longer wanted. */
function expired({ attempt, startedAt }: LeasedItem, agentId: string): Outcome {
  const failure = {
    attemptNumber: attempt,
    timestamp: startedAt,
    errorType: { name: "Timeout" },
    errorClass: "permanent",
    errorMessage: "The item expired before its attempt started.",
    agentId,
    stepFailed: "expiry",
    durationMs: 0,
  } as const;
  return { kind: "failed", failure };
}
