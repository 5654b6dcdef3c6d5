/**
 * The gate of a queue as all its workers share it: its breaker, and how long it is parked, by the store's clock. The store
 * keeps it as one versioned document that changes only inside an exchange, by compare-and-set. This is one worker's view:
 * what the store has, and on top of it what the store has not heard yet. It never talks to the store itself.
 */
import type { Exchange, Exchanged, SharedDocument } from "../engine.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { admit, type Breaker, breakerOf, breakerWaitMs, type Report, report } from "../retry/breaker.ts";
import type { BreakerPolicy } from "../retry/policy.ts";
import { oneLine } from "../triage/clean.ts";

export interface Admitted {
  /** How many may be leased. Each has to be given back with `report`. */
  readonly count: number;
  /** The one ticket of all of them. */
  readonly ticket: number;
  /** They are probes of a half-open breaker: the store has to know of them, also when nothing was found for them. */
  readonly isProbe?: true;
  /** When to ask again at the latest, by the store's clock, if nothing was admitted. */
  readonly againAt: number | null;
}

type Proposal = NonNullable<Exchange["gate"]>;

interface GateState {
  readonly breaker: Breaker | null;
  readonly parkedUntil: number;
  /** Why it is parked, for people. */
  readonly parkedFor?: string;
}

/** What happened, to be told to whatever the store has by then. */
type Change = (state: GateState) => GateState;

interface Sent {
  /** Tells our own writing from another worker's with the same content. */
  readonly mark: string;
  readonly state: GateState;
  readonly changes: number;
}

export class SharedGate {
  readonly #queue: string;
  readonly #author: string;
  #policy: BreakerPolicy | undefined;
  #version = 0;
  /** As the store has it. */
  #base: GateState;
  /** With what it has not heard yet. */
  #state: GateState;
  #unheard: Change[] = [];
  #sent: Sent | null = null;
  #writes = 0;

  constructor(options: { readonly queue: string; readonly author: string; readonly policy?: BreakerPolicy }) {
    this.#queue = options.queue;
    this.#author = options.author;
    this.#policy = options.policy;
    this.#base = this.#read(null);
    this.#state = this.#base;
  }

  /** The settings of the breaker may change while it is used; what it has seen stays. */
  obey(policy: BreakerPolicy | undefined): void {
    if (policy === this.#policy) return;
    this.#policy = policy;
    const isSame = this.#state === this.#base;
    this.#base = this.#under(this.#base);
    this.#state = isSame ? this.#base : this.#under(this.#state);
  }

  get breaker(): Breaker | null {
    return this.#state.breaker;
  }

  /** The breaker is open or probes: who fails now fails with the others. */
  get isOutage(): boolean {
    const { breaker } = this.#state;
    return breaker !== null && breaker.gate.kind !== "closed";
  }

  /** Whether the store has to be told something. */
  get hasNews(): boolean {
    return this.#state !== this.#base;
  }

  ask(wanted: number, now: number): Admitted {
    const { breaker, parkedUntil } = this.#state;
    if (now < parkedUntil) return { count: 0, ticket: 0, againAt: parkedUntil };
    if (breaker === null) return { count: wanted, ticket: 0, againAt: null };
    if (breaker.gate.kind === "closed") return { count: wanted, ticket: breaker.generation, againAt: null };
    return this.#askBreaker(breaker, wanted, now);
  }

  #askBreaker(asked: Breaker, wanted: number, now: number): Admitted {
    let breaker = asked;
    for (let count = 0; count < wanted; count += 1) {
      const admission = admit(breaker, now);
      if (!admission.admitted) {
        return { count, ticket: breaker.generation, againAt: admission.retryAtMs, isProbe: true };
      }
      breaker = admission.state;
      this.#state = { ...this.#state, breaker };
    }
    return { count: wanted, ticket: breaker.generation, againAt: null, isProbe: true };
  }

  report(ticket: number, result: Report, now: number): void {
    this.#change((state) => {
      if (state.breaker === null) return state;
      const breaker = report(state.breaker, ticket, result, now);
      return breaker === state.breaker ? state : { ...state, breaker };
    });
  }

  /** The whole queue waits. */
  park(until: number, reason?: string): void {
    const parkedFor = reason === undefined ? {} : { parkedFor: oneLine(reason, REASON_CHARS_MAX) };
    this.#change((state) =>
      until <= state.parkedUntil ? state : { ...state, parkedUntil: until, ...parkedFor },
    );
  }

  /** How long from now the breaker lets nobody through. */
  waitMs(now: number): number {
    return this.#state.breaker === null ? 0 : breakerWaitMs(this.#state.breaker, now);
  }

  /** What goes into the next exchange. One at a time: `answered` or `withdraw` ends it. */
  proposal(): Proposal {
    const common = { queue: this.#queue, seen: this.#version };
    if (!this.hasNews) return common;
    this.#writes += 1;
    const mark = `${this.#author}/${this.#writes}`;
    this.#sent = { mark, state: this.#state, changes: this.#unheard.length };
    const event = eventOf(this.#base, this.#state);
    return { ...common, next: bodyOf(this.#state, mark), ...(event && { event }) };
  }

  /** False when another worker was there first: nothing was leased, and what the store has now is asked again. */
  answered(answer: Exchanged["gate"]): boolean {
    const sent = this.#sent;
    this.#sent = null;
    if (sent !== null && answer !== null && answer.body.by === sent.mark) {
      this.#version = answer.version;
      this.#unheard = this.#unheard.slice(sent.changes);
      this.#rebase(sent.state);
      return true;
    }
    if (sent === null && (answer?.version ?? 0) === this.#version) return true;
    this.look(answer);
    return false;
  }

  /** The exchange was not made: what it admitted is taken back, what it told is told again. */
  withdraw(): void {
    this.#sent = null;
    this.#rebase(this.#base);
  }

  /** Takes over what the store has. */
  look(document: SharedDocument | null): void {
    const version = document?.version ?? 0;
    const base = version === this.#version ? this.#base : this.#read(document?.body ?? null);
    this.#sent = null;
    this.#version = version;
    this.#rebase(base);
  }

  #change(change: Change): void {
    const changed = change(this.#state);
    if (changed === this.#state) return;
    this.#state = changed;
    this.#unheard.push(change);
  }

  #rebase(base: GateState): void {
    this.#base = base;
    this.#state = this.#unheard.reduce((state, change) => change(state), base);
    if (this.#state === base) this.#unheard = [];
  }

  #read(body: Json): GateState {
    const { breaker, parkedUntil, parkedFor } = isJsonObject(body) ? body : ({} as JsonObject);
    return this.#under({
      breaker: isBreaker(breaker) ? breaker : null,
      parkedUntil: typeof parkedUntil === "number" ? parkedUntil : 0,
      ...(typeof parkedFor === "string" && { parkedFor }),
    });
  }

  /** The breaker obeys the policy of now, whichever one it was written under. */
  #under(state: GateState): GateState {
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

/** Half open is neither: a few probes decide what is told next. */
function eventOf(before: GateState, after: GateState): Proposal["event"] {
  const [was, is] = [before.breaker?.gate.kind ?? "closed", after.breaker?.gate.kind ?? "closed"];
  if (was === "closed" && is === "open") return { type: "breaker_opened" };
  return was !== "closed" && is === "closed" ? { type: "breaker_closed" } : undefined;
}
