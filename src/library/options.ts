/** The options of objects and jobs that a program opens: those of the parts below, and how letters are kept meanwhile. */
import type { TargetOptions as DeliveryOptions } from "../delivery/target-options.ts";
import type { RunDeps as JobDeps } from "../job/run-job.ts";
import type { ProcessOptions as QueueOptions } from "../queue/queue.ts";
import type { WorkPlan as QueuePlan } from "../queue/worker.ts";
import type { LimitSettings } from "../redrive/limits.ts";

/** How the letters of a queue are kept while it is worked. All of it may be left out. */
export interface LetterLimitOptions {
  /** How many letters the queue keeps, and how long; what goes is archived first. Default: 10,000 letters, 30 days. */
  readonly limits?: LimitSettings;
  /** Where archives go. Default: `REDRIVE_HOME`, else `~/.redrive`. */
  readonly home?: string;
  /** Receives what a person should know, such as a dead letter queue that is nearly full. Default: a warning of Node. */
  readonly onNotice?: (notice: string) => void;
}

/** How a function works a queue. All of it may be left out. */
export interface ProcessOptions extends QueueOptions, LetterLimitOptions {}

/** What a worker works with, and how its letters are kept. */
export interface WorkPlan extends QueuePlan, LetterLimitOptions {}

/**
 * How this process treats the target. Settings that are given are written to the store: the target is made with them, or
 * changed to them. Without any it has to be there.
 */
export interface TargetOptions extends DeliveryOptions, LetterLimitOptions {}

/** What a job runs with, and how its letters are kept. */
export interface RunDeps extends JobDeps {
  /** How many letters the job keeps, and how long; what goes is archived first. Default: 10,000 letters, 30 days. */
  readonly limits?: LimitSettings;
}
