/** The status of named queues: items, workers, breaker, letters. Only reads the store. */
import type { Engine, Holder, QueueCounts } from "../engine.ts";
import type { Job, Pause } from "../item/job.ts";
import { isGone } from "../lease/holder.ts";
import { OUTAGE_MS_MAX } from "../retry/policy.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type JsonObject } from "../std/json.ts";
import { everyJob } from "./find-job.ts";
import { backoffToText, type QueueSpec, queueSpecOf } from "./queue-spec.ts";
import { type QueueWaits, readWaits, waitsToJson } from "./queue-waits.ts";

/** The status of a queue or a target. */
export interface QueueSummary<Spec extends QueueSpec = QueueSpec> {
  readonly name: string;
  readonly createdAt: number;
  readonly spec: Spec;
  readonly counts: QueueCounts;
  readonly pause?: Pause;
  /** Absent when the queue has no breaker. */
  readonly breaker?: BreakerSummary;
  /** The time until which all workers wait after a failure that concerns the whole queue. */
  readonly parkedUntil?: number;
  /** The failure that made the workers wait. */
  readonly parkedFor?: string;
  /** How long the longest-waiting item has been due; absent when no item is due. */
  readonly oldestReadyMs?: number;
  /** How long the items that started last had waited. Given where one queue is shown, and only if some started lately. */
  readonly waits?: QueueWaits;
  readonly workers: readonly WorkerSummary[];
}

export interface BreakerSummary {
  readonly state: "closed" | "open" | "half_open";
  /** When the open breaker lets probes through. */
  readonly until?: number;
}

export type WorkerSummary = Pick<Holder, "host" | "pid"> & {
  readonly holder: string;
  readonly leased: number;
};

/** Returns the status of all queues, sorted by name. */
export function listQueues(engine: Engine): Promise<readonly QueueSummary[]> {
  return listStanding(engine, "queue", queueSpecOf);
}

/** Returns the status of one queue. */
export async function summariseQueue(engine: Engine, job: Job): Promise<QueueSummary> {
  const summary = await summariseStanding(engine, job, queueSpecOf);
  const waits = await readWaits(engine, job.id);
  return { ...summary, ...(waits && { waits }) };
}

export async function listStanding<Spec extends QueueSpec>(
  engine: Engine,
  kind: "queue" | "target",
  specOf: (job: Job) => Spec,
): Promise<readonly QueueSummary<Spec>[]> {
  const holders = await engine.listHolders();
  const all: QueueSummary<Spec>[] = [];
  for await (const job of everyJob(engine, [kind]))
    all.push(await summariseStanding(engine, job, specOf, holders));
  return all.sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function summariseStanding<Spec extends QueueSpec>(
  engine: Engine,
  job: Job,
  specOf: (job: Job) => Spec,
  holders?: readonly Holder[],
): Promise<QueueSummary<Spec>> {
  const now = await engine.now();
  const spec: Spec = specOf(job);
  const gate = gateOf((await engine.readDocument(`gate/${job.id}`))?.body, now);
  return compact({
    name: job.id,
    createdAt: job.createdAt,
    spec,
    counts: await engine.count(job.id),
    pause: job.pause,
    breaker: spec.policy.breaker && (gate.breaker ?? { state: "closed" as const }),
    parkedUntil: gate.parkedUntil,
    parkedFor: gate.parkedFor,
    oldestReadyMs: await oldestReadyMs(engine, job.id, now),
    workers: await workersOf(engine, job.id, holders ?? (await engine.listHolders({ queue: job.id }))),
  }) as QueueSummary<Spec>;
}

/** Reads the state that workers share in a document. Missing or invalid fields are ignored. */
export function gateOf(
  body: unknown,
  now: number,
): { readonly breaker?: BreakerSummary; readonly parkedUntil?: number; readonly parkedFor?: string } {
  if (!isJsonObject(body)) return {};
  const { parkedUntil, parkedFor, breaker } = body;
  const isParked = typeof parkedUntil === "number" && parkedUntil > now;
  const gate = isJsonObject(breaker) && isJsonObject(breaker.gate) ? breaker.gate : {};
  const state = (["closed", "open", "half_open"] as const).find((one) => one === gate.kind);
  return compact({
    breaker: state && compact({ state, until: typeof gate.untilMs === "number" ? gate.untilMs : undefined }),
    parkedUntil: isParked ? parkedUntil : undefined,
    parkedFor: isParked && typeof parkedFor === "string" ? parkedFor : undefined,
  });
}

/** Items are listed by age. The longest-due item is usually among the first few, unless those are scheduled for later. */
const OLDEST_FIRST = 10;
const OLDEST_MAX = 200;

/** Returns how long the longest-waiting item has been due. Reads more items only if the first few are not due. */
export async function oldestReadyMs(engine: Engine, queue: string, now: number): Promise<number | undefined> {
  for (const limit of [OLDEST_FIRST, OLDEST_MAX]) {
    const oldest = await engine.listItems({ queue, states: ["ready"], limit });
    const dueAt = oldest.reduce((least, item) => Math.min(least, item.dueAt), Number.POSITIVE_INFINITY);
    if (dueAt <= now) return now - dueAt;
    if (oldest.length < limit) return undefined;
  }
  return undefined;
}

async function workersOf(engine: Engine, queue: string, holders: readonly Holder[]) {
  const alive = holders.filter((holder) => holder.queue === queue && !isGone(holder));
  const workers: WorkerSummary[] = [];
  for (const { id, host, pid } of alive)
    workers.push({ holder: id, host, pid, leased: (await engine.listLeases(id)).length });
  return workers;
}

/** Converts the status of a queue to its public JSON form. */
export function queueToJson(queue: QueueSummary): JsonObject {
  const { counts, pause, breaker, workers } = queue;
  return compact({
    name: queue.name,
    description: queue.spec.description,
    created_at: toRfc3339(queue.createdAt),
    is_paused: pause !== undefined,
    pause: pause && { at: toRfc3339(pause.at), author: pause.author, reason: pause.reason },
    counts: countsToJson(counts),
    oldest_ready_ms: queue.oldestReadyMs ?? null,
    waited_ms: queue.waits && waitsToJson(queue.waits),
    breaker: breaker
      ? compact({ state: breaker.state, until: breaker.until && toRfc3339(breaker.until) })
      : null,
    parked_until: queue.parkedUntil === undefined ? null : toRfc3339(queue.parkedUntil),
    parked_for: queue.parkedFor ?? null,
    workers: workers.map((worker) => ({ ...worker })),
    settings: settingsToJson(queue.spec),
  }) as JsonObject;
}

function countsToJson({ total, letters, resolved, attempts, ...counts }: QueueCounts): JsonObject {
  const { ready, leased, held, done, dead, skipped, discarded } = counts;
  return { total, ready, leased, held, done, dead, skipped, discarded, letters, resolved, attempts };
}

/** Converts settings to a flat object with the names of the command line options. */
export function settingsToJson(spec: QueueSpec): JsonObject {
  const { policy } = spec;
  return {
    max_retries: policy.maxAttempts - 1,
    backoff: backoffToText(policy.backoff),
    on_failure: policy.onItemFailure,
    on_outage: policy.onOutage ?? "retry",
    max_outage_ms: policy.onOutage === "wait" ? (policy.outageMsMax ?? OUTAGE_MS_MAX) : null,
    losses_max: policy.lossesMax,
    lease_ms: spec.leaseMs,
    priority: spec.priority,
    unique: spec.unique,
    expires_after_ms: spec.expiresAfterMs ?? null,
    breaker: policy.breaker
      ? {
          failure_threshold: policy.breaker.failureThreshold,
          timeout_ms: policy.breaker.timeoutMs,
          success_threshold: policy.breaker.successThreshold,
          half_open_requests: policy.breaker.halfOpenRequests,
        }
      : null,
    rate_per_second: spec.rate?.perSecond ?? null,
    schema: spec.schema ?? null,
  };
}
