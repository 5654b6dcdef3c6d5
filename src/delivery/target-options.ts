/** What a target is opened with, what a receipt is sent with, and what comes back. Nouns only. */
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Rate } from "../item/rate.ts";
import type { Clock } from "../kit/clock.ts";
import type { Json } from "../kit/json.ts";
import type { WorkPlan } from "../queue/worker.ts";
import type { GroupRule } from "../triage/group-rule.ts";
import type { DeliverFunction } from "./function.ts";
import type { Protocol } from "./protocol.ts";
import type { TargetSettings } from "./settings.ts";
import type { Environment } from "./token.ts";

/**
 * How this process treats the target. Settings that are given are written to the store: the target is made with them, or
 * changed to them. Without any it has to be there.
 */
export interface TargetOptions extends TargetSettings {
  /** How receipts travel when the target's protocol is `function`: a function that sends one, or a way of your own. */
  readonly deliver?: DeliverFunction | Protocol;
  /** Whether this process delivers; if not, it only takes receipts in for one that does. Default true. */
  readonly isDelivering?: boolean;
  /** How many receipts are on their way at a time. Default 10. */
  readonly concurrency?: number;
  /** What this process alone may begin, besides the target's own rate. Default: no limit. */
  readonly ownRate?: Rate;
  /** Told of every try once the store has its end. */
  readonly onSettled?: (item: LeasedItem, settlement: Settlement) => void;
  /** Told when the target was found paused, and when it is not any more. */
  readonly onPaused?: (isPaused: boolean) => void;
  /** Told when the store does not answer, and when the target cannot deliver any more. */
  readonly onError?: (error: unknown) => void;
  /** How long a store that does not answer is waited for by what delivers; `send` never waits. Default: for ever. */
  readonly storeWaitMs?: number;
  /** Where tokens are looked up. Default: the environment of the process. */
  readonly env?: Environment;
  readonly clock?: Clock;
  /** From how many redrives a letter may come back before it is toxic. Default 5. */
  readonly toxicAfter?: number;
  /** Rules that name the groups of failures, before the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Opened with the deliveries and stopped with them: it looks after the letters. Default: nothing. */
  readonly alongside?: NonNullable<WorkPlan["alongside"]>;
}

/** How one receipt is sent. */
export interface SendOptions {
  /**
   * What the receipt is known by, for ever: the same key and the same receipt again is the one that was sent, another receipt
   * under the same key is a `receipt_conflict`. Default: made from its content.
   */
  readonly key?: string;
  /** Receipts of the same order are delivered one after the other. Default: as the target's `orderField` says. */
  readonly order?: string;
  /** False: resolves as soon as the receipt is kept. Default true: resolves when it is delivered or dead. */
  readonly wait?: boolean;
  /** Aborted to wait no longer; the receipt is kept and delivered all the same. */
  readonly signal?: AbortSignal;
}

/** A receipt that is kept: it will be delivered, or become a letter, whatever happens to this process. */
export interface KeptReceipt {
  readonly key: string;
  /** False when it was sent before. */
  readonly isNew: boolean;
  /** Resolves true when it is delivered and false when it is dead; rejects with `interrupted` when nobody here will know. */
  delivered(signal?: AbortSignal): Promise<boolean>;
}

/** What was left when the target was closed. */
export interface DrainReport {
  /** Receipts that wait in the store; whoever opens the target next goes on with them. */
  readonly left: number;
}

/** Anything that JSON can say. */
export type Receipt = Json;
