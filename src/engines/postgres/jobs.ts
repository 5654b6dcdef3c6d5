/** Jobs and their queues in PostgreSQL, and the counts of a queue. */

import type { JobChange, QueueCounts } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { type Job, type JobKind, type NewJob, type Pause, STANDING_KINDS } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { stringifyJson } from "../../std/json.ts";
import { type JobRow, jobOf } from "../job-row.ts";
import { writeEvent } from "./events.ts";
import type { Tx } from "./session.ts";

/** Two that make the same one at once: the first row of `jobs` decides. The queue of a deleted job is there already. */
export async function createJob(tx: Tx, job: NewJob): Promise<Job> {
  if ((await findJob(tx, job.id)) !== null || (await findJob(tx, job.name)) !== null) throw taken(job);
  await tx.run("INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING", job.id);
  const made = await tx.run(
    `INSERT INTO jobs (id, name, kind, spec, status, created_at, started_at) VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?5)
     ON CONFLICT DO NOTHING`,
    ...[job.id, job.name, job.kind, stringifyJson(job.spec), tx.now],
  );
  if (made === 0) throw taken(job);
  const queue = await queueNo(tx, job.id);
  const type = STANDING_KINDS.includes(job.kind) ? "queue_created" : "job_started";
  await writeEvent(tx, tx.now, { type, data: { name: job.name } }, { queue });
  return requireJob(tx, job.id);
}

function taken({ id, name }: NewJob): WorkError {
  return new WorkError("job_changed", `A job with the id ${id} or the name ${name} is already there.`);
}

export async function findJob(tx: Tx, idOrName: string): Promise<Job | null> {
  const row = await tx.get<JobRow>(
    "SELECT * FROM jobs WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC LIMIT 1",
    idOrName,
  );
  return row === undefined ? null : jobOf(row);
}

export async function listJobs(
  tx: Tx,
  page: { readonly limit: number; readonly before?: number; readonly kinds?: readonly JobKind[] },
): Promise<Job[]> {
  const rows = await tx.all<JobRow>(
    `SELECT * FROM jobs WHERE created_at < ?1 AND (?2::text[] IS NULL OR kind = ANY (?2::text[]))
      ORDER BY no DESC LIMIT ?3`,
    page.before ?? Number.MAX_SAFE_INTEGER,
    page.kinds ?? null,
    page.limit,
  );
  return rows.map(jobOf);
}

/** The row is locked first: two changes of one job come one after the other. */
export async function changeJob(tx: Tx, id: string, change: JobChange): Promise<Job> {
  await tx.run("SELECT 1 FROM jobs WHERE id = ? FOR UPDATE", id);
  const job = await requireJob(tx, id);
  const status = change.status ?? job.status;
  const ended = status === "running" ? null : (job.endedAt ?? tx.now);
  const pause = pauseAfter(job, change, tx.now);
  await tx.run(
    `UPDATE jobs SET status = ?, kind = ?, intake_complete = ?, spec = ?, progress = ?, started_at = ?, ended_at = ?,
            paused_at = ?, paused_by = ?, paused_why = ? WHERE id = ?`,
    status,
    change.kind ?? job.kind,
    (change.intakeComplete ?? job.intakeComplete) ? 1 : 0,
    stringifyJson(change.spec ?? job.spec),
    stringifyJson(change.progress ?? job.progress),
    change.restarted ? tx.now : job.startedAt,
    change.restarted ? null : ended,
    ...[pause?.at ?? null, pause?.author ?? null, pause?.reason ?? null],
    job.id,
  );
  const queue = await queueNo(tx, job.id);
  await tellOfPause(tx, { job, pause, queue });
  if (change.event) await writeEvent(tx, tx.now, change.event, { queue });
  return requireJob(tx, job.id);
}

function pauseAfter(job: Job, { pause }: JobChange, now: number): Pause | undefined {
  if (pause === null) return undefined;
  return job.pause ?? (pause && { ...pause, at: now });
}

async function tellOfPause(
  tx: Tx,
  { job, pause, queue }: { readonly job: Job; readonly pause: Pause | undefined; readonly queue: number },
): Promise<void> {
  if (pause && !job.pause) {
    const { author, reason } = pause;
    await writeEvent(tx, tx.now, { type: "queue_paused", data: { author, reason } }, { queue });
  } else if (!pause && job.pause) {
    await writeEvent(tx, tx.now, { type: "queue_resumed" }, { queue });
    await tx.notify(job.id);
  }
}

/** The number of a queue. Adding to one that is not there is an error. */
export async function queueNo(tx: Tx, name: string): Promise<number> {
  const row = await tx.get<{ no: number }>("SELECT no FROM queues WHERE name = ?", name);
  if (row === undefined) throw noQueue(name);
  return row.no;
}

export function noQueue(name: string): WorkError {
  return new WorkError("job_not_found", `There is no job or queue ${name}.`);
}

export async function countQueue(tx: Tx, queue: string): Promise<QueueCounts> {
  const row = await tx.get<Omit<QueueCounts, "total">>("SELECT * FROM queue_totals WHERE name = ?", queue);
  if (row === undefined) throw noQueue(queue);
  const { ready, leased, held, done, dead, skipped, discarded } = row;
  const { letters, resolved, purged, evicted, attempts } = row;
  const total = ITEM_STATES.reduce((sum, state) => sum + row[state], 0);
  return {
    ...{ ready, leased, held, done, dead, skipped, discarded, total },
    ...{ letters, resolved, purged, evicted, attempts },
  };
}

export async function requireJob(tx: Tx, id: string): Promise<Job> {
  const job = await findJob(tx, id);
  if (job === null) throw new WorkError("job_not_found", `There is no job ${id}.`);
  return job;
}
