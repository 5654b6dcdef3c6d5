/** The options of library objects and jobs, including the limits of their dead letter queues. */
import type { TargetOptions as DeliveryOptions } from "../delivery/target-settings.ts";
import type { ProcessOptions as QueueOptions } from "../queue/queue.ts";
import type { WorkPlan as QueuePlan } from "../queue/worker.ts";
import type { LimitSettings } from "../redrive/limits.ts";
import type { RunDeps as JobDeps } from "../run/run-job.ts";

/** The limits of a dead letter queue while a worker runs. All options are optional. */
export interface LetterLimitOptions {
  /**
   * The size and age limits. Letters beyond them are archived and deleted. Default: 10,000 letters, 30 days.
   */
  readonly limits?: LimitSettings;
  /** The folder for archives. Default: `REDRIVE_HOME`, or else `~/.redrive`. */
  readonly home?: string;
  /**
   * Called with notices for a person, for example about a nearly full dead letter queue. Default: a Node
   * warning.
   */
  readonly onNotice?: (notice: string) => void;
}

/** The options of `queue.process`. All of them are optional. */
export interface ProcessOptions extends QueueOptions, LetterLimitOptions {}

/** The handler and options of a worker. */
export interface WorkPlan extends QueuePlan, LetterLimitOptions {}

/**
 * The options of a target. Given settings are stored: they create or change the target. Without settings the
 * target must exist.
 */
export interface TargetOptions extends DeliveryOptions, LetterLimitOptions {}

/** What a job runs with. */
export interface RunDeps extends JobDeps {
  /**
   * The size and age limits. Letters beyond them are archived and deleted. Default: 10,000 letters, 30 days.
   */
  readonly limits?: LimitSettings;
}
