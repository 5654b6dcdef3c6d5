/**
 * A job: one run of a map or a workflow. It owns the queue of the same name as its id. A named queue and a target of
 * receipts are owned by a job of their own kind, which never ends: its id and its name are the queue's.
 */
import type { JsonObject } from "../kit/json.ts";

/** `running` in the store without a live holder is shown as `interrupted`. */
export const JOB_STATUSES = ["running", "completed", "failed", "stopped", "interrupted"] as const;
/** One of `JOB_STATUSES`. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/**
 * `imported`: its letters came from elsewhere; it has no work of its own until it is given a workflow. `deleting`: its
 * deletion has begun.
 */
export const JOB_KINDS = ["map", "workflow", "imported", "deleting", "queue", "target"] as const;
/** One of `JOB_KINDS`. */
export type JobKind = (typeof JOB_KINDS)[number];

/** The kinds that never end, and are worked by workers that come and go. */
export const STANDING_KINDS: readonly JobKind[] = ["queue", "target"];

/** The kinds that come to an end: what `redrive jobs` is about. */
export const ENDING_KINDS: readonly JobKind[] = JOB_KINDS.filter((kind) => !STANDING_KINDS.includes(kind));

/** Whether its work is done by workers that come and go. */
export function isStanding({ kind }: Pick<NewJob, "kind">): boolean {
  return STANDING_KINDS.includes(kind);
}

/** Why nothing of a queue is leased. */
export interface Pause {
  readonly at: number;
  readonly author: string;
  readonly reason: string;
}

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
  /** Present while its queue is paused: nobody is given a lease of it, whatever they ask for. */
  readonly pause?: Pause;
}
