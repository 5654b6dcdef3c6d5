/** Metrics of all queues. They are always read from the store, so that a restart does not reset them to 0. */
import type { Counter, Engine, Holder, QueueCounts } from "../engine.ts";
import type { AgentUsage } from "../item/agent-usage.ts";
import { ENDING_KINDS, isStanding, type Job, type JobKind, STANDING_KINDS } from "../item/job.ts";
import { RECEIPT_STATUSES, type ReceiptLatency, receiptLatencyOf } from "../item/receipt.ts";
import { gateName } from "../item/store-queries.ts";
import { isGone } from "../lease/holder.ts";
import { queueSpecOf } from "../queue/queue-spec.ts";
import { type BreakerSummary, gateOf, oldestReadyMs } from "../queue/queue-status.ts";
import { toRfc3339 } from "../std/clock.ts";
import { ConcurrencyLimit } from "../std/concurrency-limit.ts";
import type { JsonObject } from "../std/json.ts";

/** The metrics of one queue. */
export interface QueueMetrics {
  readonly queue: string;
  /** The display name. */
  readonly name: string;
  readonly kind: JobKind;
  readonly counts: QueueCounts;
  readonly isPaused: boolean;
  /** The time since the oldest waiting letter died; null if no letter is waiting. */
  readonly oldestLetterMs: number | null;
  /** How long the longest-waiting item has been due; null when no item is due. */
  readonly oldestReadyMs: number | null;
  readonly workers: number;
  /** Null when the queue has no breaker. */
  readonly breaker: BreakerSummary["state"] | null;
  /** The usage of the queue's agents; absent if none has run. */
  readonly usage?: AgentUsage;
  /** Counters by name, which only increase. */
  readonly counters: Readonly<Record<string, number>>;
}

/** The metrics of a store. */
export interface Metrics {
  /** The time on the store's clock. */
  readonly at: number;
  /** Named queues, targets, jobs that run or ended within the last day, and all jobs with letters. Sorted by id. */
  readonly queues: readonly QueueMetrics[];
  /** The totals of all queues, including those that are not listed. */
  readonly redrives: { readonly succeeded: number; readonly failed: number };
  /** The number of delivery attempts by status. Empty while there is no target. */
  readonly receipts: Readonly<Record<string, number>>;
  readonly receiptLatency: ReceiptLatency;
  readonly receiptRetries: number;
  readonly storeWriteFailures: number;
}

/** Reads the metrics of a store. */
export async function readMetrics(engine: Engine): Promise<Metrics> {
  const at = await engine.now();
  const holders = (await engine.listHolders()).filter((holder) => !isGone(holder));
  const counters = await engine.listCounters();
  const jobs = await jobsOf(engine, { at, holders });
  const targets = new Set(jobs.filter(({ kind }) => kind === "target").map(({ id }) => id));
  const ofTargets = counters.filter(({ queue }) => targets.has(queue));
  const sum = (name: string) => total(counters.filter((one) => one.name === name));
  return {
    at,
    queues: await queuesOf(engine, jobs, { at, holders, counters }),
    redrives: { succeeded: sum("redrives.succeeded"), failed: sum("redrives.failed") },
    receipts: targets.size === 0 ? {} : receiptsOf(ofTargets),
    receiptLatency: receiptLatencyOf(ofTargets),
    receiptRetries: total(ofTargets.filter(({ name }) => name === "retries")),
    storeWriteFailures: sum("store_write_failed"),
  };
}

const STANDING_MAX = 100_000;
/** How many of the newest jobs are considered. Older jobs are listed only if they have letters or workers. */
const ENDING_MAX = 1000;
const SHOWN_AFTER_END_MS = 86_400_000;

/** Omits old jobs, because thousands of rows that never change would burden the monitoring. */
async function jobsOf(engine: Engine, { at, holders }: { at: number; holders: readonly Holder[] }) {
  const standing = await engine.listJobs({ limit: STANDING_MAX, kinds: STANDING_KINDS });
  const ending = await engine.listJobs({ limit: ENDING_MAX, kinds: ENDING_KINDS });
  const known = new Map([...standing, ...ending].map((job) => [job.id, job]));
  const wanted = new Set(standing.map(({ id }) => id));
  for (const { id, status, endedAt } of ending)
    if (status === "running" || (endedAt ?? 0) > at - SHOWN_AFTER_END_MS) wanted.add(id);
  for (const { queue } of [...(await engine.listGroups({})), ...holders]) wanted.add(queue);
  const jobs: Job[] = [];
  for (const id of [...wanted].sort()) {
    const job = known.get(id) ?? (await engine.findJob(id));
    if (job !== null) jobs.push(job);
  }
  return jobs;
}

interface Known {
  readonly at: number;
  readonly holders: readonly Holder[];
  readonly counters: readonly Counter[];
}

/** Queries run concurrently, because the database may be remote. */
const QUESTIONS_MAX = 8;

async function queuesOf(engine: Engine, jobs: readonly Job[], known: Known) {
  const counters = byQueue(known.counters);
  const used = await engine.sumAgentUsage({ by: "queue", queues: jobs.map(({ id }) => id) });
  const usageOf = new Map(used.map(({ key, usage }) => [key, { usage }]));
  const queues: QueueMetrics[] = new Array(jobs.length);
  const limit = new ConcurrencyLimit(QUESTIONS_MAX);
  for (const [index, job] of jobs.entries()) {
    await limit.start(async () => {
      queues[index] = {
        ...(await numbersOf(engine, job, known)),
        counters: counters.get(job.id) ?? {},
        ...usageOf.get(job.id),
      };
    });
  }
  await limit.end();
  return queues;
}

async function numbersOf(engine: Engine, job: Job, { at, holders }: Known) {
  const counts = await engine.count(job.id);
  return {
    queue: job.id,
    name: job.name,
    kind: job.kind,
    counts,
    isPaused: job.pause !== undefined,
    oldestLetterMs: counts.letters === 0 ? null : await oldestLetterMs(engine, job.id, at),
    oldestReadyMs: counts.ready === 0 ? null : ((await oldestReadyMs(engine, job.id, at)) ?? null),
    workers: holders.filter(({ queue }) => queue === job.id).length,
    breaker: await breakerOf(engine, job, at),
  };
}

async function oldestLetterMs(engine: Engine, queue: string, at: number): Promise<number | null> {
  const failedAt = await engine.earliestFailure(queue);
  return failedAt === null ? null : Math.max(0, at - failedAt);
}

/** Returns null for ended jobs, whose breaker has no effect. */
async function breakerOf(engine: Engine, job: Job, at: number): Promise<QueueMetrics["breaker"]> {
  if (job.status !== "running") return null;
  const gate = gateOf((await engine.readDocument(gateName(job.id)))?.body, at);
  const hasOne = isStanding(job) ? queueSpecOf(job).policy.breaker !== undefined : gate.breaker !== undefined;
  return hasOne ? (gate.breaker?.state ?? "closed") : null;
}

function byQueue(counters: readonly Counter[]): ReadonlyMap<string, Record<string, number>> {
  const sorted = new Map<string, Record<string, number>>();
  for (const { queue, name, value } of counters) {
    const own = sorted.get(queue) ?? {};
    own[name] = value;
    sorted.set(queue, own);
  }
  return sorted;
}

const RECEIPT = "receipt.";

/** Includes statuses without receipts as 0, because alerts cannot watch a missing metric. */
function receiptsOf(counters: readonly Counter[]): Record<string, number> {
  const sums: Record<string, number> = Object.fromEntries(RECEIPT_STATUSES.map((status) => [status, 0]));
  for (const { name, value } of counters) {
    if (!name.startsWith(RECEIPT)) continue;
    const status = name.slice(RECEIPT.length);
    sums[status] = (sums[status] ?? 0) + value;
  }
  return sums;
}

function total(counters: readonly Counter[]): number {
  return counters.reduce((sum, { value }) => sum + value, 0);
}

export function metricsToJson(metrics: Metrics): JsonObject {
  return {
    at: toRfc3339(metrics.at),
    queues: metrics.queues.map(queueToJson),
    redrives: { ...metrics.redrives },
    receipts: { ...metrics.receipts },
    receipt_retries: metrics.receiptRetries,
    receipt_duration_seconds: {
      count: metrics.receiptLatency.count,
      sum: metrics.receiptLatency.sumSeconds,
    },
    store_write_failures: metrics.storeWriteFailures,
  };
}

function queueToJson(queue: QueueMetrics): JsonObject {
  const { ready, leased, held, done, dead, skipped, discarded } = queue.counts;
  const { letters, purged, evicted } = queue.counts;
  return {
    queue: queue.queue,
    name: queue.name,
    kind: queue.kind,
    items: { ready, leased, held, done, dead, skipped, discarded },
    dead_letters: letters,
    dead_letters_purged: purged,
    dead_letters_evicted: evicted,
    oldest_letter_seconds: seconds(queue.oldestLetterMs),
    oldest_ready_seconds: seconds(queue.oldestReadyMs),
    is_paused: queue.isPaused,
    workers: queue.workers,
    breaker: queue.breaker,
    counters: { ...queue.counters },
  };
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
