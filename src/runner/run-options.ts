/** What the runner is told, whom it tells, and how it ends. Nouns only. */
import type { Handler } from "../attempt/handler.ts";
import type { Engine } from "../engine.ts";
import type { WorkError } from "../errors.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Outcome } from "../item/outcome.ts";
import type { Rate } from "../item/rate.ts";
import type { Clock } from "../kit/clock.ts";
import type { Random } from "../kit/random.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { HandlerReport } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import type { Patience } from "./patience.ts";

export interface RunOptions {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly handler: Handler;
  /** How many attempts run at a time. */
  readonly slots: number;
  /** Called when the policy is `custom` and an item would be given up. One that throws decides `dlq`. */
  readonly askHandler?: (item: LeasedItem, failure: Failure) => Promise<HandlerReport>;
  /** Work only the letters of this redrive. */
  readonly operationId?: string;
  /** Brings work into the queue while it is worked; yields how many items each step brought. */
  readonly feed?: Feed;
  /** Goes on when the queue is empty, and takes what comes. Default false. */
  readonly keepGoing?: boolean;
  /** What all workers of the queue together may begin. Default: no limit. */
  readonly rate?: Rate;
  /** What this runner alone may begin. Default: no limit. */
  readonly ownRate?: Rate;
  /** Asked before each lease: settings that may change while the queue is worked. Default: `policy` and `rate`. */
  readonly settings?: () => Pick<RunOptions, "policy" | "rate">;
  /** Aborted to end: running attempts are ended and given back. */
  readonly stop: AbortSignal;
  /** Aborted to drain: nothing more is leased, and what runs comes to its own end. */
  readonly drain?: AbortSignal;
  /** Attempts that do not heed the stop are given back without them after so long. Default: they are waited for. */
  readonly abandonAfterMs?: number;
  /** How long a store that cannot be written is waited for. Default 30 s. */
  readonly storeWaitMs?: number;
  readonly observer?: RunObserver;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly holderTtlMs?: number;
  /** Who the notes of attempts are by. Default: the holder and its slot. */
  readonly author?: string;
  /** Where copies of the evidence go that handlers name. Default: none are made. */
  readonly evidenceFolder?: string;
  /** From how many redrives an item may come back before it is toxic. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
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
  /** The queue was found paused, or is not any more. */
  paused?(isPaused: boolean): void;
  /** Told again and again while a runner that ends with its queue has nothing to do before the next item is due. */
  waiting?(wait: Waiting): void;
  trouble?(error: WorkError): void;
  recovered?(): void;
}

/** Nobody works an item, and none can be begun yet. */
export interface Waiting {
  /** How many are in line. */
  readonly items: number;
  /** When the next one may be begun, and what time it is, both by the store's clock. */
  readonly nextDueAt: number;
  readonly now: number;
}

export interface RunResult {
  readonly end: "finished" | "stopped" | "interrupted";
  /** Why it stopped, when it did. */
  readonly reason?: string;
}
