/** Jobs: created with their queue, found by id or name, changed together with their event. */
import type { JobChange } from "../../../src/engine.ts";
import { RedriveError } from "../../../src/errors.ts";
import { type Job, type NewJob, type Pause, STANDING_KINDS } from "../../../src/item/job.ts";
import type { JsonObject } from "../../../src/std/json.ts";
import { compact, stringifyJson } from "../../../src/std/json.ts";
import { record } from "./events.ts";
import { frozenCopy, newQueue, type Store } from "./store.ts";

/** No job may have the id or the name of another as its id or name; otherwise `job_changed`. */
export function createJob(store: Store, job: NewJob): Job {
  const rival = findJob(store, job.id) ?? findJob(store, job.name);
  if (rival) {
    throw new RedriveError(
      "job_changed",
      `Job "${job.name}" (${job.id}) cannot be made: "${rival.name}" (${rival.id}) has its id or name.`,
      { hint: "Resume that job, or give the new one another name." },
    );
  }
  const now = store.now;
  const made = frozenCopy<Job>({
    ...job,
    status: "running",
    progress: {},
    intakeComplete: false,
    createdAt: now,
    startedAt: now,
  });
  store.jobs.set(made.id, made);
  if (!store.queues.has(made.id)) store.queues.set(made.id, newQueue(made.id)); // of a deleted job it is there
  const type = STANDING_KINDS.includes(made.kind) ? "queue_created" : "job_started";
  record(store, { type, queue: made.id, data: { name: made.name } });
  return made;
}

/** By id first, then by name. */
export function findJob(store: Store, idOrName: string): Job | null {
  const byName = () => [...store.jobs.values()].find(({ name }) => name === idOrName);
  return store.jobs.get(idOrName) ?? byName() ?? null;
}

export function hasSpec(store: Store, id: string, spec: JsonObject): boolean {
  return stringifyJson(store.jobs.get(id)?.spec) === stringifyJson(spec);
}

/** The first status other than `running` ends the job now; `running` and a restart clear the end. */
export function changeJob(store: Store, id: string, change: JobChange): Job {
  const job = store.jobs.get(id);
  if (!job) {
    throw new RedriveError("job_not_found", `There is no job "${id}".`, {
      hint: "List the jobs of this store with `redrive jobs`.",
    });
  }
  const changed = frozenCopy(withChange(job, change, store.now));
  store.jobs.set(id, changed);
  tellOfPause(store, job, changed);
  if (change.event) record(store, { ...change.event, queue: id });
  return changed;
}

function withChange(job: Job, change: JobChange, now: number): Job {
  return compact({
    ...job,
    status: change.status ?? job.status,
    kind: change.kind ?? job.kind,
    intakeComplete: change.intakeComplete ?? job.intakeComplete,
    spec: change.spec ?? job.spec,
    progress: change.progress ?? job.progress,
    startedAt: change.restarted ? now : job.startedAt,
    endedAt: endOf(job, change, now),
    pause: pauseAfter(job, change, now),
  });
}

function pauseAfter(job: Job, { pause, author = "redrive" }: JobChange, now: number): Pause | undefined {
  if (pause === null) return undefined;
  return job.pause ?? (pause && { author, ...pause, at: now });
}

function tellOfPause(store: Store, before: Job, { id, pause }: Job): void {
  if (pause && !before.pause) {
    const { author, reason } = pause;
    record(store, { type: "queue_paused", queue: id, data: { author, reason } });
  } else if (!pause && before.pause) {
    record(store, { type: "queue_resumed", queue: id });
  }
}

function endOf(job: Job, { status, restarted }: JobChange, now: number): number | undefined {
  if (restarted || (status ?? job.status) === "running") return undefined;
  return job.endedAt ?? now;
}
