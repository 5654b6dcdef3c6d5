/** When a job may be deleted, and what is written about it: the same in every engine. */
import type { QueueCounts } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { EventDraft } from "../item/event.ts";
import type { Job } from "../item/job.ts";

/** Refuses a job that is at work or has letters: these are archived and purged first, by an operation of their own. */
export function refuseToDelete(
  job: Job,
  has: { readonly isStanding: boolean; readonly isHeld: boolean; readonly hasLetters: boolean },
): void {
  if (has.isStanding) throw new WorkError("illegal_move", `${job.id} is a ${job.kind}, not a job that ends.`);
  if (has.isHeld) {
    throw new WorkError("job_running", `Another process is running the job ${job.id}.`, {
      hint: "Stop it first, or wait until it has ended.",
    });
  }
  if (!has.hasLetters) return;
  throw new WorkError("illegal_move", `The job ${job.id} still has letters.`, {
    hint: `Purge them first: redrive dlq purge --job ${job.id} --state all`,
  });
}

/** What the job had, because nothing else tells of it afterwards. */
export function deletedEvent({ name }: Job, counts: QueueCounts, author: string): EventDraft {
  const { total, done, attempts, purged, evicted } = counts;
  return { type: "job_deleted", data: { name, author, items: total, done, attempts, purged, evicted } };
}
