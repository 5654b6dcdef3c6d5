/** Deletes a job and its items in batches. Groups, their arrivals and the queue's row stay. */
import type { DeleteJobStep, QueueCounts } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { EventDraft } from "../../item/event.ts";
import { isStanding, type Job } from "../../item/job.ts";
import type { ItemState } from "../../item/state.ts";
import type { Db, Step } from "./db.ts";
import { writeEvent } from "./events.ts";
import { countQueue, queueNo, requireJob } from "./jobs.ts";

/**
 * Returns true when nothing is left to delete. Requires the lock on letters and operations, because it
 * deletes operations.
 */
export function* deleteJob(db: Db, id: string, step: DeleteJobStep): Step<boolean> {
  const job = yield* requireJob(db, id, db.sql.forUpdate);
  const queue = yield* queueNo(db, job.id);
  const counts = yield* requireDeletable(db, job, queue);
  if (job.kind !== "deleting") yield* begin(db, queue, { job, counts, author: step.author });
  const deleted = yield* deleteItems(db, queue, "queue = ?", step.itemsMax);
  if (deleted === step.itemsMax) return false;
  yield* db.deleteQueueState(queue);
  yield* db.run("DELETE FROM agent_runs WHERE queue = ?", queue);
  yield* db.run("DELETE FROM documents WHERE name = ?", `control/${job.id}`);
  yield* db.run("DELETE FROM holders WHERE queue = ?", queue);
  yield* db.run("DELETE FROM jobs WHERE id = ?", job.id);
  return true;
}

/** Refuses a job that is running or has letters: a separate operation must archive and purge these first. */
function* requireDeletable(db: Db, job: Job, queue: number): Step<QueueCounts> {
  const counts = yield* countQueue(db, job.id);
  if (isStanding(job)) throw new RedriveError("illegal_move", `${job.id} is a ${job.kind}, not a job.`);
  const holder = yield* db.get(
    "SELECT 1 FROM holders WHERE queue = ? AND gone = 0 AND expires_at > ? LIMIT 1",
    queue,
    db.now,
  );
  if (holder !== undefined || counts.leased > 0) {
    throw new RedriveError("job_running", `Another process is running the job ${job.id}.`, {
      hint: "Stop it first, or wait until it has ended.",
    });
  }
  const discarded = yield* db.get(
    "SELECT 1 FROM items WHERE queue = ? AND state = 'discarded' AND purged = 0 LIMIT 1",
    queue,
  );
  if (counts.letters + counts.resolved === 0 && discarded === undefined) return counts;
  throw new RedriveError("illegal_move", `The job ${job.id} still has letters.`, {
    hint: `Purge them first: redrive dlq purge --job ${job.id} --state all`,
  });
}

interface Deletion {
  readonly job: Job;
  readonly counts: QueueCounts;
  readonly author: string;
}

/** Writes the event before older ones are deleted, because event numbers are never reused. */
function* begin(db: Db, queue: number, deletion: Deletion): Step<void> {
  yield* writeEvent(db, deletedEvent(deletion), { queue });
  yield* db.run(
    `DELETE FROM events WHERE queue = ?1
        AND id < (SELECT max(id) FROM events WHERE queue = ?1 AND type = 'job_deleted')`,
    queue,
  );
  yield* db.run("DELETE FROM counters WHERE queue = ?", queue);
  yield* db.run(
    "DELETE FROM selections WHERE operation IN (SELECT no FROM operations WHERE queue = ?)",
    queue,
  );
  yield* db.run(
    "UPDATE items SET operation = NULL, origin = NULL WHERE queue = ? AND (operation IS NOT NULL OR origin IS NOT NULL)",
    queue,
  );
  // Items with an ordering key depend on one another, so all of them are deleted at once.
  yield* deleteItems(db, queue, "queue = ? AND ordering_key IS NOT NULL", Number.MAX_SAFE_INTEGER);
  yield* db.deleteQueueState(queue);
  yield* db.run("DELETE FROM operations WHERE queue = ?", queue);
  yield* db.run("UPDATE jobs SET kind = 'deleting' WHERE id = ?", deletion.job.id);
}

/** Records the counts of the job, because they are not stored elsewhere after its deletion. */
function deletedEvent({ job, counts, author }: Deletion): EventDraft {
  const { total, done, attempts, purged, evicted } = counts;
  return {
    type: "job_deleted",
    data: { name: job.name, author, items: total, done, attempts, purged, evicted },
  };
}

const OF_ITEMS = ["payloads", "attempts", "late_results", "amendments", "notes", "progress"] as const;

function* deleteItems(db: Db, queue: number, where: string, max: number): Step<number> {
  const rows = yield* db.all<{ ref: number; state: ItemState; attempts: number }>(
    `SELECT ref, state, attempts FROM items WHERE ${where} LIMIT ?`,
    queue,
    max,
  );
  if (rows.length === 0) return 0;
  const refs = rows.map(({ ref }) => ref);
  yield* db.beforeDelete(refs);
  for (const table of [...OF_ITEMS, "items"]) {
    yield* db.run(`DELETE FROM ${table} WHERE ${db.sql.among("ref", "?")}`, refs);
  }
  const deltas = db.newDeltas();
  for (const { state, attempts } of rows) {
    deltas.queue(queue, state, -1);
    deltas.queue(queue, "attempts", -attempts);
  }
  yield* db.writeDeltas(deltas);
  return rows.length;
}
