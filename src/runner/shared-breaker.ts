/**
 * The breaker of a queue and its parking, shared by all workers as one document that changes by compare-and-set.
 * This class is the view of one worker: the stored state plus changes that are not stored yet.
 */
import type { SettleAndLease, SettleAndLeaseResult, SharedDocument } from "../engine.ts";
import {
  admit as admitRequest,
  type Breaker,
  breakerOf,
  breakerWaitMs,
  type Report,
  report,
} from "../retry/breaker.ts";
import type { BreakerPolicy } from "../retry/policy.ts";
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";

export interface Admitted {
  /** How many items may be leased. Each must be reported with `report`. */
  readonly count: number;
  readonly ticket: number;
  /** They are probes of a half-open breaker: the store has to record them, even when no item was found for them. */
  readonly isProbe?: true;
  /** When to try again at the latest, by the store's clock, if nothing was admitted. */
  readonly retryAt: number | null;
}

type Proposal = NonNullable<SettleAndLease["gate"]>;

interface GateState {
  readonly breaker: Breaker | null;
  readonly parkedUntil: number;
  /** The reason, shown to people. */
  readonly parkedFor?: string;
}

/** A change that is applied again when another worker has written the document first. */
type Change = (state: GateState) => GateState;

interface Pending {
  /** Distinguishes our write from another worker's write of the same content. */
  readonly writeId: string;
  readonly state: GateState;
  readonly changes: number;
}

export class SharedBreaker {
  readonly #queue: string;
  readonly #author: string;
  #policy: BreakerPolicy | undefined;
  #version = 0;
  #base: GateState;
  /** The stored state with the changes that are not stored yet. */
  #state: GateState;
  #unsaved: Change[] = [];
  #pending: Pending | null = null;
  #writes = 0;

  constructor(options: { readonly queue: string; readonly author: string; readonly policy?: BreakerPolicy }) {
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

  get breaker(): Breaker | null {
    return this.#state.breaker;
  }

  /** The breaker is open or half open: a failure now is part of the outage. */
  get isOutage(): boolean {
    const { breaker } = this.#state;
    return breaker !== null && breaker.gate.kind !== "closed";
  }

  get hasChanges(): boolean {
    return this.#state !== this.#base;
  }

  admit(wanted: number, now: number): Admitted {
    const { breaker, parkedUntil } = this.#state;
    if (now < parkedUntil) return { count: 0, ticket: 0, retryAt: parkedUntil };
    if (breaker === null) return { count: wanted, ticket: 0, retryAt: null };
    if (breaker.gate.kind === "closed") return { count: wanted, ticket: breaker.generation, retryAt: null };
    return this.#admitProbes(breaker, wanted, now);
  }

  #admitProbes(current: Breaker, wanted: number, now: number): Admitted {
    let breaker = current;
    for (let count = 0; count < wanted; count += 1) {
      const admission = admitRequest(breaker, now);
      if (!admission.admitted) {
        return { count, ticket: breaker.generation, retryAt: admission.retryAtMs, isProbe: true };
      }
      breaker = admission.state;
      this.#state = { ...this.#state, breaker };
    }
    return { count: wanted, ticket: breaker.generation, retryAt: null, isProbe: true };
  }

  report(ticket: number, result: Report, now: number): void {
    this.#change((state) => {
      if (state.breaker === null) return state;
      const breaker = report(state.breaker, ticket, result, now);
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
    return this.#state.breaker === null ? 0 : breakerWaitMs(this.#state.breaker, now);
  }

  /** The part of the next `settleAndLease` request. Each proposal ends with `answered` or `withdraw`. */
  proposal(): Proposal {
    const common = { queue: this.#queue, seen: this.#version };
    if (!this.hasChanges) return common;
    this.#writes += 1;
    const writeId = `${this.#author}/${this.#writes}`;
    this.#pending = { writeId, state: this.#state, changes: this.#unsaved.length };
    const event = eventOf(this.#base, this.#state);
    return { ...common, next: bodyOf(this.#state, writeId), ...(event && { event }) };
  }

  /** False when another worker has written first: then nothing was leased, and the stored state is taken over. */
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

  /** The request failed: undoes what it admitted and keeps the changes for the next one. */
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

  /** Applies the current policy to a breaker that may have been written under another one. */
  #withPolicy(state: GateState): GateState {
    const policy = this.#policy;
    if (policy === undefined) return { ...state, breaker: null };
    return { ...state, breaker: state.breaker === null ? breakerOf(policy) : { ...state.breaker, policy } };
  }
}

const REASON_CHARS_MAX = 300;

function bodyOf({ breaker, parkedUntil, parkedFor }: GateState, by: string): JsonObject {
  const reason = parkedFor === undefined ? {} : { parkedFor };
  return { breaker: breaker as unknown as Json, parkedUntil, ...reason, by };
}

function isBreaker(json: unknown): json is Breaker {
  if (!isJsonObject(json) || typeof json.generation !== "number" || !isJsonObject(json.gate)) return false;
  return ["closed", "open", "half_open"].includes(String(json.gate.kind));
}

/** Changes to half open have no event: the probes decide which one follows. */
function eventOf(before: GateState, after: GateState): Proposal["event"] {
  const [was, is] = [before.breaker?.gate.kind ?? "closed", after.breaker?.gate.kind ?? "closed"];
  if (was === "closed" && is === "open") return { type: "breaker_opened" };
  return was !== "closed" && is === "closed" ? { type: "breaker_closed" } : undefined;
}
