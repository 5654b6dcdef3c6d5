/** Jobs and their queues, and the counts of a queue. */
import type { JobChange, QueueCounts } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { withAuthor } from "../../item/event.ts";
import { type Job, type JobKind, type NewJob, type Pause, STANDING_KINDS } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { writeEvent } from "./events.ts";
import { objectOf } from "./rows.ts";

/** If two processes create the same job, the first row of `jobs` wins. The queue of a deleted job still exists. */
export function* createJob(db: Db, job: NewJob): Step<Job> {
  const isTaken = (yield* findJob(db, job.id)) !== null || (yield* findJob(db, job.name)) !== null;
  if (isTaken) throw taken(job);
  yield* db.run("INSERT INTO queues (name) VALUES (?) ON CONFLICT DO NOTHING", job.id);
  const made = yield* db.run(
    `INSERT INTO jobs (id, name, kind, spec, status, created_at, started_at) VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?5)
     ON CONFLICT DO NOTHING`,
    ...[job.id, job.name, job.kind, stringifyJson(job.spec), db.now],
  );
  if (made === 0) throw taken(job);
  const type = STANDING_KINDS.includes(job.kind) ? "queue_created" : "job_started";
  const event = withAuthor({ type, data: { name: job.name } }, job.author);
  yield* writeEvent(db, event, { queue: yield* queueNo(db, job.id) });
  return yield* requireJob(db, job.id);
}

function taken({ id, name }: NewJob): RedriveError {
  return new RedriveError("job_changed", `A job with the id ${id} or the name ${name} already exists.`);
}

const COLUMNS = `id, name, kind, spec, progress, status, intake_complete, created_at, started_at, ended_at,
  paused_at, paused_by, paused_why`;

type StoredJob = Omit<Job, "pause"> &
  Partial<Record<"pausedBy" | "pausedWhy", string>> & { pausedAt?: number };

function jobOf(row: object): Job {
  const stored = objectOf<StoredJob>(row, { json: ["spec", "progress"], flags: ["intake_complete"] });
  const { pausedAt: at, pausedBy: author = "", pausedWhy: reason = "", ...job } = stored;
  return at === undefined ? job : { ...job, pause: { at, author, reason } };
}

export function* findJob(db: Db, idOrName: string, lock = ""): Step<Job | null> {
  const row = yield* db.get<object>(
    `SELECT ${COLUMNS} FROM jobs WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC LIMIT 1 ${lock}`,
    idOrName,
  );
  return row === undefined ? null : jobOf(row);
}

export function* requireJob(db: Db, idOrName: string, lock = ""): Step<Job> {
  const job = yield* findJob(db, idOrName, lock);
  if (job === null) throw new RedriveError("job_not_found", `There is no job ${idOrName}.`);
  return job;
}

export function* listJobs(
  db: Db,
  page: { readonly limit: number; readonly before?: number; readonly kinds?: readonly JobKind[] },
): Step<Job[]> {
  const { typed, among } = db.sql;
  const rows = yield* db.all<object>(
    `SELECT ${COLUMNS} FROM jobs WHERE created_at < ?1 AND (${typed("?2", "text[]")} IS NULL OR ${among("kind", "?2", "text")})
      ORDER BY no DESC LIMIT ?3`,
    page.before ?? Number.MAX_SAFE_INTEGER,
    page.kinds ?? null,
    page.limit,
  );
  return rows.map(jobOf);
}

/** Locks the row, so that concurrent changes of one job are applied one after the other. */
export function* changeJob(db: Db, id: string, change: JobChange): Step<Job> {
  const job = yield* requireJob(db, id, db.sql.forUpdate);
  const status = change.status ?? job.status;
  const ended = status === "running" ? null : (job.endedAt ?? db.now);
  const pause = pauseAfter(job, change, db.now);
  yield* db.run(
    `UPDATE jobs SET status = ?, kind = ?, intake_complete = ?, spec = ?, progress = ?, started_at = ?, ended_at = ?,
            paused_at = ?, paused_by = ?, paused_why = ? WHERE id = ?`,
    status,
    change.kind ?? job.kind,
    (change.intakeComplete ?? job.intakeComplete) ? 1 : 0,
    stringifyJson(change.spec ?? job.spec),
    stringifyJson(change.progress ?? job.progress),
    change.restarted ? db.now : job.startedAt,
    change.restarted ? null : ended,
    ...[pause?.at ?? null, pause?.author ?? null, pause?.reason ?? null],
    job.id,
  );
  yield* tell(db, { job, pause, change });
  return yield* requireJob(db, job.id);
}

/** A queue that is already paused keeps its original pause. */
function pauseAfter(job: Job, { pause, author = "redrive" }: JobChange, now: number): Pause | undefined {
  if (pause === null) return undefined;
  return job.pause ?? (pause && { author, ...pause, at: now });
}

interface Changed {
  readonly job: Job;
  readonly pause: Pause | undefined;
  readonly change: JobChange;
}

function* tell(db: Db, { job, pause, change }: Changed): Step<void> {
  const isPaused = pause !== undefined && job.pause === undefined;
  const isResumed = pause === undefined && job.pause !== undefined;
  if (!isPaused && !isResumed && change.event === undefined) return;
  const no = yield* queueNo(db, job.id);
  if (isPaused) {
    const { author, reason } = pause;
    yield* writeEvent(db, { type: "queue_paused", data: { author, reason } }, { queue: no });
  } else if (isResumed) {
    yield* writeEvent(db, withAuthor({ type: "queue_resumed" }, change.author), { queue: no });
    yield* db.notify({ no, name: job.id });
  }
  if (change.event) yield* writeEvent(db, withAuthor(change.event, change.author), { queue: no });
}

/** Returns the number of a queue; throws if it does not exist. */
export function* queueNo(db: Db, name: string): Step<number> {
  const row = yield* db.get<{ no: number }>("SELECT no FROM queues WHERE name = ?", name);
  if (row === undefined) throw noQueue(name);
  return row.no;
}

export function noQueue(name: string): RedriveError {
  return new RedriveError("job_not_found", `There is no job or queue ${name}.`);
}

export function* countQueue(db: Db, queue: string): Step<QueueCounts> {
  const sql = `SELECT * FROM ${db.sql.queueTotals} WHERE name = ?`;
  const row = yield* db.get<Omit<QueueCounts, "total">>(sql, queue);
  if (row === undefined) throw noQueue(queue);
  const { ready, leased, held, done, dead, skipped, discarded } = row;
  const { letters, resolved, purged, evicted, attempts } = row;
  const total = ITEM_STATES.reduce((sum, state) => sum + row[state], 0);
  return {
    ...{ ready, leased, held, done, dead, skipped, discarded, total },
    ...{ letters, resolved, purged, evicted, attempts },
  };
}

/** The position of the queue's next item. */
export function* nextPosition(db: Db, queue: number): Step<number> {
  const row = yield* db.get<{ next: number }>(
    `SELECT ${ITEM_STATES.join(" + ")} AS next FROM ${db.sql.queueTotals} WHERE no = ?`,
    queue,
  );
  return row?.next ?? 0;
}
