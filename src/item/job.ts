/** A job: one run of a map or a workflow. It owns the queue of the same name as its id. */
import type { JsonObject } from "../kit/json.ts";

/** `running` in the store without a live holder is shown as `interrupted`. */
export const JOB_STATUSES = ["running", "completed", "failed", "stopped", "interrupted"] as const;
/** One of `JOB_STATUSES`. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** `imported`: its letters came from elsewhere; it has no work of its own until it is given a workflow. */
export type JobKind = "map" | "workflow" | "imported";

export interface NewJob {
  readonly id: string;
  /** What people call it. Two jobs may not share one. */
  readonly name: string;
  readonly kind: JobKind;
  /** All that is needed to run the work again: command, directory, policy, input. */
  readonly spec: JsonObject;
}

/** A job as the store knows it. */
export interface Job extends NewJob {
  readonly status: JobStatus;
  /** How far its phases have come, for the process that goes on with it. */
  readonly progress: JsonObject;
  /** Whether all of the input was taken in. */
  readonly intakeComplete: boolean;
  readonly createdAt: number;
  /** The start of the latest run. */
  readonly startedAt: number;
  readonly endedAt?: number;
}
