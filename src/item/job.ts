/** A job: one run of a map or workflow, with a queue. Named queues and targets are jobs that never end. */
import type { JsonObject } from "../std/json.ts";
import type { EventType } from "./event.ts";

/** The statuses of a job. A job that is `running` in the store without a live holder is shown as `interrupted`. */
export const JOB_STATUSES = ["running", "completed", "failed", "stopped", "interrupted"] as const;
/** One of `JOB_STATUSES`. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The kinds of jobs. `imported`: has letters but no workflow to run. `deleting`: its deletion has begun. */
export const JOB_KINDS = ["map", "workflow", "imported", "deleting", "queue", "target"] as const;
export type JobKind = (typeof JOB_KINDS)[number];

/** Job kinds that never end. Workers process their items. */
export const STANDING_KINDS: readonly JobKind[] = ["queue", "target"];

/** Job kinds that end; `redrive jobs` lists them. */
export const ENDING_KINDS: readonly JobKind[] = JOB_KINDS.filter((kind) => !STANDING_KINDS.includes(kind));

export function isStanding({ kind }: Pick<NewJob, "kind">): boolean {
  return STANDING_KINDS.includes(kind);
}

export interface Pause {
  readonly at: number;
  readonly author: string;
  readonly reason: string;
}

export interface NewJob {
  readonly id: string;
  /** A unique display name. */
  readonly name: string;
  readonly kind: JobKind;
  /** Everything needed to run the job again: command, directory, policy, input. */
  readonly spec: JsonObject;
  /** Who creates the job, for the audit. Default: nobody. */
  readonly author?: string;
}

/** A run of a map or a workflow. */
export interface Job extends Omit<NewJob, "author"> {
  readonly status: JobStatus;
  /** The progress of the phases, for the process that resumes the job. */
  readonly progress: JsonObject;
  /** Whether the whole input was read. */
  readonly intakeComplete: boolean;
  readonly createdAt: number;
  /** The start of the latest run. */
  readonly startedAt: number;
  readonly endedAt?: number;
  /** Present while the queue is paused; a paused queue leases nothing. */
  readonly pause?: Pause;
}

export interface DeleteJobStep {
  readonly author: string;
  readonly itemsMax: number;
}

export interface JobChange {
  /** Who makes the change, for the audit. Default: nobody. */
  readonly author?: string;
  readonly status?: JobStatus;
  readonly kind?: JobKind;
  readonly intakeComplete?: boolean;
  readonly spec?: JsonObject;
  readonly progress?: JsonObject;
  /** Sets `startedAt` to now and removes `endedAt`. */
  readonly restarted?: boolean;
  /** Pauses the queue, by default in the name of `author`; null resumes it. A paused queue keeps its first pause. */
  readonly pause?: { readonly author?: string; readonly reason: string } | null;
  readonly event?: { readonly type: EventType; readonly data?: JsonObject };
}
