/** What all objects of one open store share. */
import type { Engine } from "../engine.ts";
import type { LimitSettings } from "../redrive/limits.ts";
import type { Clock } from "../std/clock.ts";
import type { Listeners } from "./listeners.ts";
import type { Middleware } from "./middleware.ts";
import type { ResultWaiters } from "./results.ts";
import type { Worker, WorkerEvents } from "./worker.ts";

export interface Context {
  readonly engine: Engine;
  /** The folder for archives and logs. */
  readonly home: string;
  readonly clock: Clock;
  /** The author of changes. */
  readonly author: string;
  readonly use: readonly Middleware[];
  readonly limits: LimitSettings;
  /** Called with messages for people. Without it, only warnings are reported, as warnings of Node. */
  readonly onNotice: ((notice: string) => void) | undefined;
  /** Listeners for all workers of this program. */
  readonly listeners: Listeners<WorkerEvents<unknown, unknown>>;
  /** The running workers of this program. */
  readonly workers: Set<Worker<unknown, unknown>>;
  readonly results: ResultWaiters;
}
