/** Deletes a job with its items, some at a time. Groups and their arrivals stay, and so does the bare queue. */
import type { DeleteJobStep } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { deletedEvent, refuseToDelete } from "../delete-job-rules.ts";
import { record } from "./events.ts";
import { count } from "./look.ts";
import { type Queue, type Row, requireQueue, type Store } from "./store.ts";

/** True when nothing of it is left. */
export function deleteJob(store: Store, id: string, { author, itemsMax }: DeleteJobStep): boolean {
  const job = store.jobs.get(id);
  if (job === undefined) throw new WorkError("job_not_found", `There is no job ${id}.`);
  const queue = requireQueue(store, id);
  requireDeletable(store, job, queue);
  if (job.kind !== "deleting") begin(store, job, author);
  const rows = [...queue.byId.values()].slice(0, itemsMax);
  for (const row of rows) deleteItem(store, row);
  if (rows.length === itemsMax) return false;
  for (const [holderId, holder] of store.holders) if (holder.queue === id) store.holders.delete(holderId);
  store.jobs.delete(id);
  return true;
}

function requireDeletable(store: Store, job: Job, queue: Queue): void {
  const holders = [...store.holders.values()].filter((holder) => holder.queue === job.id);
  const rows = [...queue.byId.values()];
  refuseToDelete(job, {
    isStanding: isStanding(job),
    isHeld: queue.counts.leased > 0 || holders.some(({ expiresAt }) => expiresAt > store.now),
    hasLetters: rows.some(({ burial }) => burial !== undefined),
  });
}

function begin(store: Store, job: Job, author: string): void {
  const told = store.events.length;
  record(store, { ...deletedEvent(job, count(store, job.id), author), queue: job.id });
  for (const { id, queue } of store.events.slice(0, told).filter(() => true)) {
    if (queue === job.id) Reflect.deleteProperty(store.events, id - 1);
  }
  requireQueue(store, job.id).counters.clear();
  for (const [id, { asked }] of store.operations) if (asked.queue === job.id) store.operations.delete(id);
  // The items of a lane depend on one another.
  for (const row of [...requireQueue(store, job.id).byId.values()])
    if (row.lane !== undefined) deleteItem(store, row);
  store.jobs.set(job.id, { ...job, kind: "deleting" });
}

/** Numbers of items and events are never used again: their places stay empty. */
function deleteItem(store: Store, row: Row): void {
  const { queue } = row;
  queue.counts[row.state] -= 1;
  queue.attempts -= row.started;
  queue.byId.delete(row.itemId);
  const at = queue.line.indexOf(row);
  if (at >= 0) queue.line.splice(at, 1);
  if (row.lane !== undefined) queue.lanes.delete(row.lane);
  Reflect.deleteProperty(store.rows, row.ref - 1);
}
