/** The summary that `map`, `run`, `resume` and `jobs` return. */
import { type LetterStats, letterStatsToJson, NO_LETTERS, readLetterStats } from "../dead-letter/stats.ts";
import type { Engine, LetterGroup, QueueCounts } from "../engine.ts";
import { usageToJson } from "../item/agent-run.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import type { GroupState } from "../item/group.ts";
import type { Job, JobKind, JobStatus } from "../item/job.ts";
import { isGone, isOwn } from "../lease/holder.ts";
import { bestFix, type KnownFix, readFixes } from "../redrive/groups.ts";
import { compact, type JsonObject } from "../std/json.ts";
import { titleToJson } from "../triage/title.ts";
import type { KeptCheckout } from "../workspace/workspace.ts";

/** The status and counts of a job. */
export interface JobSummary {
  readonly jobId: string;
  readonly name: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly total: number;
  readonly succeeded: number;
  readonly dead: number;
  /** How many dead items `resume` and `dlq retry` process without `--force`. Default: all. */
  readonly eligible?: number;
  readonly skipped: number;
  /** Items that a person discarded, or whose letters were deleted. */
  readonly discarded: number;
  readonly remaining: number;
  readonly attempts: number;
  readonly durationMs: number;
  readonly startedAt: number;
  /** Whether the latest run resumed an earlier one. */
  readonly isResumed: boolean;
  readonly groups: readonly {
    readonly signature: string;
    readonly pattern: string;
    readonly count: number;
    /** Default `open`. */
    readonly state?: GroupState;
    /** Whether the group got new letters after it had been resolved. */
    readonly isRegression?: boolean;
  }[];
  /** The largest group of the job with an earlier fix, and the fix that helped most. */
  readonly fixedBefore?: FixedBefore;
  readonly letters: LetterStats;
  /** The usage of the job's agents. Absent if none has reported any. */
  readonly usage?: AgentUsage;
}

export interface FixedBefore extends KnownFix {
  readonly signature: string;
  readonly count: number;
}

/** Reads the status and counts of a job from the store. */
export async function summarise(engine: Engine, job: Job): Promise<JobSummary> {
  const counts = await engine.count(job.id);
  const groups = await engine.listGroups({ queue: job.id });
  const fixedBefore = await findFixedBefore(engine, groups);
  const status = await statusOf(engine, job);
  const [used] = await engine.sumAgentUsage({ by: "queue", queues: [job.id] });
  const end = job.endedAt ?? (await engine.now());
  return {
    jobId: job.id,
    name: job.name,
    kind: job.kind,
    status,
    total: counts.total,
    succeeded: counts.done,
    dead: counts.dead,
    ...(counts.dead > 0 && { eligible: await countEligible(engine, job) }),
    skipped: counts.skipped,
    discarded: counts.discarded,
    remaining: counts.ready + counts.leased + counts.held,
    attempts: counts.attempts,
    durationMs: Math.max(0, end - job.startedAt),
    startedAt: job.startedAt,
    isResumed: job.startedAt > job.createdAt,
    groups: groups.map(({ signature, pattern, count, state, isRegression }) => ({
      signature,
      pattern,
      count,
      ...(state !== "open" && { state }),
      ...(isRegression && { isRegression }),
    })),
    ...(fixedBefore && { fixedBefore }),
    letters: hasLetterCounts(counts) ? await readLetterStats(engine, job.id) : NO_LETTERS,
    ...(used && { usage: used.usage }),
  };
}

export async function countEligible(engine: Engine, { id: queue }: Pick<Job, "id">): Promise<number> {
  return (await engine.listLetters({ queue, states: ["dead"], eligible: true, limit: 0 })).total;
}

/** Only the largest groups are checked for earlier fixes. */
const ASKED_GROUPS_MAX = 5;

async function findFixedBefore(engine: Engine, groups: readonly LetterGroup[]) {
  const open = groups.filter(({ state }) => state === "open").slice(0, ASKED_GROUPS_MAX);
  for (const { signature, count } of open) {
    const record = await engine.readGroup(signature);
    const fix = record && bestFix(record.fixes);
    if (!fix) continue;
    const [known] = await readFixes(engine, [fix]);
    if (known) return { ...known, signature, count };
  }
  return undefined;
}

/** Avoids reading letter statistics for jobs without letters, because summaries are read often while a job runs. */
function hasLetterCounts({ letters, resolved, discarded, purged, evicted }: QueueCounts): boolean {
  return letters + resolved + discarded + purged + evicted > 0;
}

/** Returns the status of a job. A job marked as running without a live runner counts as interrupted. */
export async function statusOf(engine: Engine, job: Job): Promise<JobStatus> {
  if (job.status !== "running") return job.status;
  return (await hasRunner(engine, job.id)) ? "running" : "interrupted";
}

export async function hasRunner(engine: Engine, queue: string): Promise<boolean> {
  return (await engine.listHolders({ queue })).some((holder) => !isGone(holder));
}

export async function hasOtherRunner(engine: Engine, queue: string): Promise<boolean> {
  return (await engine.listHolders({ queue })).some((holder) => !isGone(holder) && !isOwn(holder));
}

/** Converts a summary to its public JSON form. */
export function summaryToJson(summary: JobSummary): JsonObject {
  return {
    job_id: summary.jobId,
    name: summary.name,
    status: summary.status,
    total: summary.total,
    succeeded: summary.succeeded,
    dead: summary.dead,
    ...(summary.eligible !== undefined && { eligible: summary.eligible }),
    skipped: summary.skipped,
    discarded: summary.discarded,
    remaining: summary.remaining,
    attempts: summary.attempts,
    duration_ms: summary.durationMs,
    ...(summary.usage && { usage: usageToJson(summary.usage) }),
    groups: summary.groups.map(({ signature, pattern, count, state = "open", isRegression }) => ({
      signature,
      ...titleToJson(pattern),
      pattern,
      count,
      ...(state !== "open" && { state }),
      ...(isRegression && { is_regression: true }),
    })),
    ...(summary.fixedBefore && { fixed_before: fixedToJson(summary.fixedBefore) }),
    dlq: letterStatsToJson(summary.letters),
  };
}

function fixedToJson({ signature, count, fix }: FixedBefore): JsonObject {
  const { kind, operationId, editId, rule } = fix;
  return compact({ signature, count, kind, operation_id: operationId, edit_id: editId, rule });
}

/** Whether the letter of the item refers to this checkout. Checkouts of earlier attempts are no longer needed. */
export async function isNamedByLetter(engine: Engine, queue: string, kept: KeptCheckout): Promise<boolean> {
  if (kept.itemId === undefined || kept.branch === null) return false;
  const { letters } = await engine.listLetters({ queue, itemIds: [kept.itemId], limit: 1 });
  return letters.some(({ worktreeArtifacts }) => worktreeArtifacts?.branchName === kept.branch);
}

export async function hasLetters(engine: Engine, queue: string): Promise<boolean> {
  return (await engine.listLetters({ queue, limit: 1 })).total > 0;
}
