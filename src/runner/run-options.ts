/** The options of a runner, its observer and its result. */
import type { Handler } from "../attempt/handler.ts";
import type { Launcher } from "../attempt/launch.ts";
import type { Engine } from "../engine.ts";
import type { RedriveError } from "../errors.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Rate } from "../item/rate.ts";
import type { Outcome } from "../item/settlement.ts";
import type { ClassRule } from "../retry/class-rule.ts";
import type { HandlerReport } from "../retry/decide.ts";
import type { Policy } from "../retry/policy.ts";
import type { Clock } from "../std/clock.ts";
import { compact, type Json } from "../std/json.ts";
import type { Random } from "../std/random.ts";
import type { GroupRule } from "../triage/grouping.ts";
import type { StoreRetry } from "./store-retry.ts";

/** Settings common to all ways of starting a runner. */
export interface RunnerSettings {
  /**
   * How long to wait for a store that cannot be written. Default 30 s; a queue worker waits until the store
   * answers.
   */
  readonly storeWaitMs?: number;
  /** After how many redrives an item that fails again is poison. Default 5. */
  readonly poisonAfter?: number;
  /** Rules that name failure groups and take precedence over the algorithm. Default: none. */
  readonly groupRules?: readonly GroupRule[];
  /** Rules that correct the type and class of failures. Default: none. */
  readonly classRules?: readonly ClassRule[];
}

/** Extracts these settings from larger options. */
export function runnerSettings(options: RunnerSettings): RunnerSettings {
  const { storeWaitMs, poisonAfter, groupRules, classRules } = options;
  return compact({ storeWaitMs, poisonAfter, groupRules, classRules });
}

/** The queue and the options of a run. */
export interface RunOptions extends RunnerSettings {
  readonly engine: Engine;
  readonly queue: string;
  readonly policy: Policy;
  readonly handler: Handler;
  /** How many attempts run concurrently. */
  readonly slots: number;
  /** How many attempts may wait without a slot, see `AttemptContext.withoutSlot`. Default 0. */
  readonly waitingMax?: number | undefined;
  /** Called before an item is given up, if the policy is `custom`. If it throws, the item is buried. */
  readonly askHandler?: ((item: LeasedItem, failure: Failure) => Promise<HandlerReport>) | undefined;
  /** Runs only the letters of this redrive. */
  readonly operationId?: string | undefined;
  /** Adds items to the queue during the run; yields how many each step added. */
  readonly feed?: Feed | undefined;
  /** Keeps running when the queue is empty. Default false. */
  readonly keepGoing?: boolean;
  /** The rate limit of all workers of the queue together. Default: no limit. */
  readonly rate?: Rate;
  /** The rate limit of this runner alone. Default: no limit. */
  readonly ownRate?: Rate | undefined;
  /** Called before each lease, for settings that may change during the run. Default: `policy` and `rate`. */
  readonly settings?: (() => Pick<RunOptions, "policy" | "rate">) | undefined;
  /** Abort to stop: running attempts are ended and released. */
  readonly stop: AbortSignal;
  /** Abort to drain: nothing more is leased, and running attempts finish. */
  readonly drain?: AbortSignal | undefined;
  /** How long to wait for attempts that ignore the stop before their leases are released. Default: forever. */
  readonly abandonAfterMs?: number | undefined;
  /** Returns why nothing more may be leased, e.g. because a budget is used up. Running attempts finish. Default: never. */
  readonly stopReason?: (() => string | undefined) | undefined;
  /** Requests of people for single items. Default: none. */
  readonly control?: ItemControl | undefined;
  readonly observer?: RunObserver | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random;
  readonly holderTtlMs?: number;
  /** Called before ended attempts are settled, to write what their records refer to. Must not throw. */
  readonly beforeSettle?: (() => void) | undefined;
  /** The launcher in which the commands of leased items may wait. Default: no item is leased before it can start. */
  readonly commandQueue?: CommandQueue | undefined;
  /** The folder in which holders record what they have started (lease/start-marks.ts). Default: nothing is recorded. */
  readonly startMarksFolder?: string | undefined;
  /** The author of notes that attempts write. Default: the holder and its slot. */
  readonly author?: string | undefined;
  /** The folder for copies of the evidence files that handlers report. Default: no copies. */
  readonly evidenceFolder?: string | undefined;
}

export type CommandQueue = Pick<Launcher, "setMarksFile" | "recall">;

/** A person's request for an item: end its attempt and hold it, or skip it. */
export interface ItemRequest {
  readonly action: "stop" | "skip";
  readonly author: string;
}

export interface ItemControl {
  requestFor(item: LeasedItem): ItemRequest | undefined;
  /** Calls the function after each request, until the returned function is called. */
  listen(onRequest: () => void): () => void;
}

/** A feed writes to the store itself, through the runner's `StoreRetry`, and ends when the signal is aborted. */
export type Feed = (storeRetry: StoreRetry, signal: AbortSignal) => AsyncIterable<number>;

/** Callbacks for the events of a run. Called after the event is durable. */
export interface RunObserver {
  started?(item: LeasedItem, slot: number): void;
  settled?(item: LeasedItem, settlement: Settlement, outcome: Outcome): void;
  /** Called for every progress report of a running attempt, before it is stored. */
  progress?(item: LeasedItem, value: Json): void;
  added?(items: number): void;
  /** May return a promise that delays the next lease, e.g. when results accumulate. */
  ready?(): Promise<unknown> | undefined;
  /** Called when the queue is paused or resumed. */
  paused?(isPaused: boolean): void;
  /** Called repeatedly while a runner without `keepGoing` waits for the next item to become due. */
  waiting?(wait: Waiting): void;
  trouble?(error: RedriveError): void;
  recovered?(): void;
  /** Called when the store's clock was set forward or back by this amount; see `Engine.watchClock`. */
  clockStepped?(stepMs: number): void;
}

/** Describes a wait in which nothing runs, because no item is due yet. */
export interface Waiting {
  /** How many items are ready. */
  readonly items: number;
  /** When the next item may start, and the current time, both by the store's clock. */
  readonly nextDueAt: number;
  readonly now: number;
}

/** The result of a run. */
export interface RunResult {
  readonly end: "finished" | "stopped" | "interrupted";
  readonly reason?: string;
}
