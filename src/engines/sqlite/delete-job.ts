/** Deletes a job with its items in SQLite, some at a time. Groups and their arrivals stay, and so does the queue's bare row. */
import type { DeleteJobStep } from "../../engine.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { deletedEvent, refuseToDelete } from "../delete-job-rules.ts";
import { writeEvent } from "./events.ts";
import { countQueue, queueNo, requireJob } from "./jobs.ts";
import type { Session } from "./session.ts";

/** True when nothing of it is left. */
export function deleteJob(session: Session, id: string, step: DeleteJobStep): boolean {
  const job = requireJob(session, id);
  const queue = queueNo(session, job.id);
  requireDeletable(session, job, queue);
  if (job.kind !== "deleting") begin(session, { job, queue, author: step.author });
  const some = "SELECT ref FROM items WHERE queue = ? LIMIT ?";
  const deleted = deleteItems(session, queue, session.all<ItemRef>(some, queue, step.itemsMax));
  if (deleted === step.itemsMax) return false;
  session.run("DELETE FROM holders WHERE queue = ?", queue);
  session.run("DELETE FROM jobs WHERE id = ?", job.id);
  return true;
}

function requireDeletable(session: Session, job: Job, queue: number): void {
  const held = session.get(
    "SELECT 1 FROM holders WHERE queue = ? AND gone = 0 AND expires_at > ? LIMIT 1",
    queue,
    session.clock.now(),
  );
  const discarded = session.get(
    "SELECT 1 FROM items WHERE queue = ? AND state = 'discarded' AND purged = 0 LIMIT 1",
    queue,
  );
  const counts = countQueue(session, job.id);
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

/** The new event comes first: numbers of events are never used again. */
function begin(session: Session, { job, queue, author }: Beginning): void {
  const event = deletedEvent(job, countQueue(session, job.id), author);
  writeEvent(session, session.clock.now(), event, { queue });
  session.run(
    "DELETE FROM events WHERE queue = ?1 AND id < (SELECT max(id) FROM events WHERE queue = ?1)",
    queue,
  );
  session.run("DELETE FROM counters WHERE queue = ?", queue);
  session.run("DELETE FROM selections WHERE operation IN (SELECT no FROM operations WHERE queue = ?)", queue);
  session.run(
    "UPDATE items SET operation = NULL, origin = NULL WHERE queue = ? AND (operation IS NOT NULL OR origin IS NOT NULL)",
    queue,
  );
  // The items of a lane depend on one another.
  deleteItems(
    session,
    queue,
    session.all<ItemRef>("SELECT ref FROM items WHERE queue = ? AND lane IS NOT NULL", queue),
  );
  session.run("DELETE FROM operations WHERE queue = ?", queue);
  session.run("UPDATE jobs SET kind = 'deleting' WHERE id = ?", job.id);
}

const OF_ITEMS = ["payloads", "attempts", "late_results", "amendments", "notes"] as const;

interface ItemRef {
  readonly ref: number;
}

function deleteItems(session: Session, queue: number, rows: readonly ItemRef[]): number {
  if (rows.length === 0) return 0;
  const refs = JSON.stringify(rows.map(({ ref }) => ref));
  const among = "ref IN (SELECT value FROM json_each(?))";
  for (const table of OF_ITEMS) session.run(`DELETE FROM ${table} WHERE ${among}`, refs);
  const sums = session.all<{ state: string; count: number; attempts: number }>(
    `SELECT state, count(*) AS count, sum(attempts) AS attempts FROM items WHERE ${among} GROUP BY state`,
    refs,
  );
  for (const { state, count, attempts } of sums) {
    const column = ITEM_STATES.find((known) => known === state);
    const sql = `UPDATE queues SET ${column} = ${column} - ?, attempts = attempts - ? WHERE no = ?`;
    session.run(sql, count, attempts, queue);
  }
  session.run(`DELETE FROM items WHERE ${among}`, refs);
  return rows.length;
}
