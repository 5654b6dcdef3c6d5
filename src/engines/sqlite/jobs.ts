/** Jobs and the counters of their queues in SQLite. */
import type { JobChange, QueueCounts } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { type Job, type JobKind, type NewJob, type Pause, STANDING_KINDS } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { type JsonObject, stringifyJson } from "../../std/json.ts";
import { type JobRow, jobOf } from "../job-row.ts";
import { writeEvent } from "./events.ts";
import type { Session } from "./session.ts";

export function createJob(session: Session, job: NewJob): Job {
  if (findJob(session, job.id) !== null || findJob(session, job.name) !== null) {
    throw new WorkError(
      "job_changed",
      `A job with the id ${job.id} or the name ${job.name} is already there.`,
    );
  }
  const now = session.clock.now();
  session.run("INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING", job.id); // of a deleted job it is there
  const queue = queueNo(session, job.id);
  session.run(
    `INSERT INTO jobs (id, name, kind, spec, status, created_at, started_at) VALUES (?, ?, ?, ?, 'running', ?, ?)`,
    job.id,
    job.name,
    job.kind,
    stringifyJson(job.spec),
    now,
    now,
  );
  const type = STANDING_KINDS.includes(job.kind) ? "queue_created" : "job_started";
  writeEvent(session, now, { type, data: { name: job.name } }, { queue });
  return requireJob(session, job.id);
}

export function findJob(session: Session, idOrName: string): Job | null {
  const row =
    session.get<JobRow>("SELECT * FROM jobs WHERE id = ?", idOrName) ??
    session.get<JobRow>("SELECT * FROM jobs WHERE name = ?", idOrName);
  return row === undefined ? null : jobOf(row);
}

export function hasSpec(session: Session, id: string, spec: JsonObject): boolean {
  return session.get("SELECT 1 FROM jobs WHERE id = ? AND spec = ?", id, stringifyJson(spec)) !== undefined;
}

export function listJobs(
  session: Session,
  page: { readonly limit: number; readonly before?: number; readonly kinds?: readonly JobKind[] },
): Job[] {
  return session
    .all<JobRow>(
      `SELECT * FROM jobs WHERE created_at < ?1 AND (?2 IS NULL OR kind IN (SELECT value FROM json_each(?2)))
        ORDER BY no DESC LIMIT ?3`,
      page.before ?? Number.MAX_SAFE_INTEGER,
      page.kinds === undefined ? null : JSON.stringify(page.kinds),
      page.limit,
    )
    .map(jobOf);
}

export function changeJob(session: Session, id: string, change: JobChange): Job {
  const job = requireJob(session, id);
  const now = session.clock.now();
  const status = change.status ?? job.status;
  const ended = status === "running" ? null : (job.endedAt ?? now);
  session.run(
    "UPDATE jobs SET status = ?, kind = ?, intake_complete = ?, spec = ?, progress = ?, started_at = ?, ended_at = ? WHERE id = ?",
    status,
    change.kind ?? job.kind,
    (change.intakeComplete ?? job.intakeComplete) ? 1 : 0,
    stringifyJson(change.spec ?? job.spec),
    stringifyJson(change.progress ?? job.progress),
    change.restarted ? now : job.startedAt,
    change.restarted ? null : ended,
    job.id,
  );
  if (change.pause !== undefined) changePause(session, job, change.pause, now);
  if (change.event) writeEvent(session, now, change.event, { queue: queueNo(session, job.id) });
  return requireJob(session, job.id);
}

/** One that is paused stays as it was paused; one that is not has no pause to end. */
function changePause(session: Session, job: Job, pause: Omit<Pause, "at"> | null, now: number): void {
  if ((pause === null) === (job.pause === undefined)) return;
  const queue = queueNo(session, job.id);
  session.run(
    "UPDATE jobs SET paused_at = ?, paused_by = ?, paused_why = ? WHERE id = ?",
    ...[pause && now, pause?.author ?? null, pause?.reason ?? null, job.id],
  );
  const { author = "", reason = "" } = pause ?? {};
  const paused = { type: "queue_paused", data: { author, reason } } as const;
  writeEvent(session, now, pause ? paused : { type: "queue_resumed" }, { queue });
  if (!pause) session.notify(queue);
}

/** The number of a queue. Adding to one that is not there is an error. */
export function queueNo(session: Session, name: string): number {
  const row = session.get<{ no: number }>("SELECT no FROM queues WHERE name = ?", name);
  if (row === undefined) throw new WorkError("job_not_found", `There is no job or queue ${name}.`);
  return row.no;
}

export function countQueue(session: Session, queue: string): QueueCounts {
  const row = session.get<Omit<QueueCounts, "total">>("SELECT * FROM queues WHERE name = ?", queue);
  if (row === undefined) throw new WorkError("job_not_found", `There is no job or queue ${queue}.`);
  const { ready, leased, held, done, dead, skipped, discarded } = row;
  const { letters, resolved, purged, evicted, attempts } = row;
  const total = ITEM_STATES.reduce((sum, state) => sum + row[state], 0);
  return {
    ...{ ready, leased, held, done, dead, skipped, discarded, total },
    ...{ letters, resolved, purged, evicted, attempts },
  };
}

/** Also finds by name. */
export function requireJob(session: Session, id: string): Job {
  const job = findJob(session, id);
  if (job === null) throw new WorkError("job_not_found", `There is no job ${id}.`);
  return job;
}
