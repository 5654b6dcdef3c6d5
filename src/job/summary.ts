/** How a job stands, in numbers: what `map`, `run`, `resume` and `jobs` answer. */
import { type LetterStats, letterStatsToJson, NO_LETTERS, readLetterStats } from "../dead-letter/stats.ts";
import type { Engine, QueueCounts } from "../engine.ts";
import type { Job, JobKind, JobStatus } from "../item/job.ts";
import type { JsonObject } from "../kit/json.ts";
import { isGone, isOwn } from "../lease/holder.ts";

/** A job in numbers. */
export interface JobSummary {
  readonly jobId: string;
  readonly name: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly total: number;
  readonly succeeded: number;
  readonly dead: number;
  readonly skipped: number;
  /** Given up by a person, or deleted. */
  readonly discarded: number;
  readonly remaining: number;
  readonly attempts: number;
  /** Of the latest run. */
  readonly durationMs: number;
  readonly startedAt: number;
  /** Whether the latest run went on with what an earlier one had left. */
  readonly isResumed: boolean;
  readonly groups: readonly {
    readonly signature: string;
    readonly pattern: string;
    readonly count: number;
  }[];
  readonly letters: LetterStats;
}

/** Counts what the job's queue holds now. */
export async function summarise(engine: Engine, job: Job): Promise<JobSummary> {
  const counts = await engine.count(job.id);
  const groups = await engine.listGroups({ queue: job.id });
  const status = await statusOf(engine, job);
  const end = job.endedAt ?? (await engine.now());
  return {
    jobId: job.id,
    name: job.name,
    kind: job.kind,
    status,
    total: counts.total,
    succeeded: counts.done,
    dead: counts.dead,
    skipped: counts.skipped,
    discarded: counts.discarded,
    remaining: counts.ready + counts.leased + counts.held,
    attempts: counts.attempts,
    durationMs: Math.max(0, end - job.startedAt),
    startedAt: job.startedAt,
    isResumed: job.startedAt > job.createdAt,
    groups: groups.map(({ signature, pattern, count }) => ({ signature, pattern, count })),
    letters: hasLetters(counts) ? await readLetterStats(engine, job.id) : NO_LETTERS,
  };
}

/** Most jobs have none, and a summary is asked for again and again while a job runs. */
function hasLetters({ letters, resolved, discarded, purged, evicted }: QueueCounts): boolean {
  return letters + resolved + discarded + purged + evicted > 0;
}

/** A job that says it runs, but that no living runner is at, was interrupted. */
export async function statusOf(engine: Engine, job: Job): Promise<JobStatus> {
  if (job.status !== "running") return job.status;
  return (await hasRunner(engine, job.id)) ? "running" : "interrupted";
}

/** Whether a living runner works the queue. */
export async function hasRunner(engine: Engine, queue: string): Promise<boolean> {
  const holders = await engine.listHolders();
  return holders.some((holder) => holder.queue === queue && !isGone(holder));
}

/** Whether a living runner of another process does. */
export async function hasOtherRunner(engine: Engine, queue: string): Promise<boolean> {
  const holders = await engine.listHolders();
  return holders.some((holder) => holder.queue === queue && !isGone(holder) && !isOwn(holder));
}

/** The form of a summary outside the process. */
export function summaryToJson(summary: JobSummary): JsonObject {
  return {
    job_id: summary.jobId,
    name: summary.name,
    status: summary.status,
    total: summary.total,
    succeeded: summary.succeeded,
    dead: summary.dead,
    skipped: summary.skipped,
    discarded: summary.discarded,
    remaining: summary.remaining,
    attempts: summary.attempts,
    duration_ms: summary.durationMs,
    groups: summary.groups.map((group) => ({ ...group })),
    dlq: letterStatsToJson(summary.letters),
  };
}
