/** What can be changed about a job, and how one is deleted. Nouns only. */
import type { JsonObject } from "../kit/json.ts";
import type { EventType } from "./event.ts";
import type { JobKind, JobStatus, Pause } from "./job.ts";

export interface DeleteJobStep {
  readonly author: string;
  /** How many items go in one step. */
  readonly itemsMax: number;
}

export interface JobChange {
  readonly status?: JobStatus;
  readonly kind?: JobKind;
  readonly intakeComplete?: boolean;
  readonly spec?: JsonObject;
  /** Replaces the progress of the phases. */
  readonly progress?: JsonObject;
  /** Sets the start of the run to now and clears the end. */
  readonly restarted?: boolean;
  /** Pauses the queue, or with null ends the pause. One that is paused stays as it was paused. */
  readonly pause?: Omit<Pause, "at"> | null;
  readonly event?: { readonly type: EventType; readonly data?: JsonObject };
}
