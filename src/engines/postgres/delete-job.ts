/** Deletes a job with its items in PostgreSQL, some at a time. Groups and their arrivals stay, and so does the queue's bare row. */
import type { DeleteJobStep } from "../../engine.ts";
import { isStanding, type Job } from "../../item/job.ts";
import type { ItemState } from "../../item/state.ts";
import { deletedEvent, refuseToDelete } from "../delete-job-rules.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { writeEvent } from "./events.ts";
import { countQueue, queueNo, requireJob } from "./jobs.ts";
import type { Tx } from "./session.ts";

/** True when nothing of it is left. Under the lock of letters and operations, because it deletes the latter. */
export async function deleteJob(tx: Tx, id: string, step: DeleteJobStep): Promise<boolean> {
  await tx.run("SELECT 1 FROM jobs WHERE id = ? FOR UPDATE", id);
  const job = await requireJob(tx, id);
  const queue = await queueNo(tx, job.id);
  await requireDeletable(tx, job, queue);
  if (job.kind !== "deleting") await begin(tx, { job, queue, author: step.author });
  const deleted = await deleteItems(tx, queue, { itemsMax: step.itemsMax, where: "queue = ?" });
  if (deleted === step.itemsMax) return false;
  await tx.run("DELETE FROM leases WHERE holder IN (SELECT no FROM holders WHERE queue = ?)", queue);
  await tx.run("DELETE FROM holders WHERE queue = ?", queue);
  await tx.run("DELETE FROM jobs WHERE id = ?", job.id);
  return true;
}

async function requireDeletable(tx: Tx, job: Job, queue: number): Promise<void> {
  const held = await tx.get(
    "SELECT 1 FROM holders WHERE queue = ? AND gone = 0 AND expires_at > ?::bigint LIMIT 1",
    queue,
    tx.now,
  );
  const discarded = await tx.get(
    "SELECT 1 FROM items WHERE queue = ? AND state = 'discarded' AND purged = 0 LIMIT 1",
    queue,
  );
  const counts = await countQueue(tx, job.id);
  refuseToDelete(job, {
    isStanding: isStanding(job),
    isHeld: held !== undefined || counts.leased > 0,
    hasLetters: counts.letters + counts.resolved > 0 || discarded !== undefined,
  });
}

interface Beginning {
  readonly job: Job;
  readonly queue: number;
  readonly author: string;
}

async function begin(tx: Tx, { job, queue, author }: Beginning): Promise<void> {
  const event = deletedEvent(job, await countQueue(tx, job.id), author);
  await tx.run("DELETE FROM events WHERE queue = ?", queue);
  await writeEvent(tx, tx.now, event, { queue });
  await tx.run("DELETE FROM counters WHERE queue = ?", queue);
  await tx.run("UPDATE items SET origin = NULL WHERE queue = ? AND origin IS NOT NULL", queue);
  // The items of a lane depend on one another.
  await deleteItems(tx, queue, { itemsMax: null, where: "queue = ? AND lane IS NOT NULL" });
  for (const table of ["lanes", "lane_heads"]) await tx.run(`DELETE FROM ${table} WHERE queue = ?`, queue);
  await tx.run(
    "DELETE FROM selections WHERE operation IN (SELECT no FROM operations WHERE queue = ?)",
    queue,
  );
  await tx.run("DELETE FROM operations WHERE queue = ?", queue);
  await tx.run("UPDATE jobs SET kind = 'deleting' WHERE id = ?", job.id);
}

const OF_ITEMS = ["payloads", "attempts", "late_results", "amendments", "notes"] as const;

interface DeletedRow {
  readonly ref: number;
  readonly state: ItemState;
  readonly attempts: number;
  readonly priority: number;
  readonly due_at: number;
}

async function deleteItems(
  tx: Tx,
  queue: number,
  { itemsMax, where }: { readonly itemsMax: number | null; readonly where: string },
): Promise<number> {
  const rows = await tx.all<DeletedRow>(
    `DELETE FROM items WHERE ref IN (SELECT ref FROM items WHERE ${where} LIMIT ?::bigint)
     RETURNING ref, state, attempts, priority, due_at`,
    queue,
    itemsMax,
  );
  const refs = rows.map(({ ref }) => ref);
  await tx.run(
    `DELETE FROM ready_items l USING unnest(?::integer[], ?::bigint[], ?::bigint[]) AS i (priority, due_at, ref)
      WHERE l.queue = ? AND l.priority = i.priority AND l.due_at = i.due_at AND l.ref = i.ref`,
    rows.map(({ priority }) => priority),
    rows.map(({ due_at }) => due_at),
    refs,
    queue,
  );
  for (const table of OF_ITEMS) await tx.run(`DELETE FROM ${table} WHERE ref = ANY (?::bigint[])`, refs);
  const deltas = new CounterDeltas();
  for (const { state, attempts } of rows) {
    deltas.queue(queue, state, -1);
    deltas.queue(queue, "attempts", -attempts);
  }
  await deltas.write(tx);
  return rows.length;
}
