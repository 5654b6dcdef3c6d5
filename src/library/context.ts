/** The state shared by all objects of one open store. */
import type { Engine } from "../engine.ts";
import type { LimitSettings } from "../redrive/limits.ts";
import type { RunnerSettings } from "../runner/run-options.ts";
import type { Clock } from "../std/clock.ts";
import type { Listeners } from "./listeners.ts";
import type { Middleware } from "./middleware.ts";
import type { WorkerEvents } from "./reporter.ts";
import type { ResultWaiters } from "./results.ts";

export interface Context {
  readonly engine: Engine;
  /** The folder for archives and logs. */
  readonly home: string;
  readonly clock: Clock;
  /** The author of changes. */
  readonly author: string;
  readonly use: readonly Middleware[];
  readonly limits: LimitSettings;
  /** Rules for groups and error classes, for all workers and maps. */
  readonly runner: RunnerSettings;
  /** Called with messages for people. By default, only warnings are reported, as Node warnings. */
  readonly onNotice: ((notice: string) => void) | undefined;
  /** Listeners for all workers of this program. */
  readonly listeners: Listeners<WorkerEvents<unknown, unknown>>;
  /** The running workers and maps of this program. */
  readonly running: Set<Running>;
  readonly results: ResultWaiters;
  /** Aborted when the store is closed. */
  readonly closing: AbortSignal;
  /**
   * Called when a worker of the queue has settled and leased everything it can. Tests use it to detect that
   * the worker is idle.
   */
  readonly onTurn?: (queue: string) => void;
}

/** The context before the entry object exists, which closes it. */
export type OpenContext = Omit<Context, "closing">;

/** A worker or a map that `close` drains. */
export interface Running {
  readonly queue: string;
  drain(timeoutMs?: number): Promise<unknown>;
  /** Reports the error that ends it to the `error` listeners. */
  reportErrors(): void;
}
