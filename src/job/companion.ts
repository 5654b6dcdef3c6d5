/**
 * What goes along with a run and looks after the job's letters beside the work: the keeper of the limits, the writer of
 * the letter directory. A companion never holds up the work and never fails it; what it cannot do it says as a notice.
 */
import type { Engine } from "../engine.ts";
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Clock } from "../kit/clock.ts";

export interface Companion {
  /** Told after the store has it. Returns at once. */
  settled?(item: LeasedItem, settlement: Settlement): void;
  /** The run has ended: does what is left to do, and lets go of everything. */
  stop(): Promise<void>;
}

/** Called when a run of a job begins. */
export type OpenCompanion = (job: Job, surroundings: CompanionSurroundings) => Companion;

export interface CompanionSurroundings {
  readonly engine: Engine;
  readonly home: string;
  readonly clock: Clock;
  readonly onNotice: (notice: string) => void;
}
