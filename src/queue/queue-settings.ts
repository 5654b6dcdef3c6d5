/**
 * Creates named queues and targets, and changes their settings. This file contains the settings that users
 * give; queue-spec.ts contains the stored form. All settings are checked before anything is written. A change
 * writes an event.
 */
import type { Engine } from "../engine.ts";
import { isStoreError, RedriveError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { type BreakerPolicy, DEFAULT_BREAKER, type OnItemFailure, type Policy } from "../retry/policy.ts";
import type { Clock } from "../std/clock.ts";
import { canonicalJson, compact, type JsonObject } from "../std/json.ts";
import { requireQueue } from "./find-job.ts";
import { DEFAULT_QUEUE, type QueueSpec, queueSpecOf, specToJson } from "./queue-spec.ts";

/** Fields of a type as settings. An omitted setting keeps its value or default; null removes an optional one. */
export type Changes<T, Key extends keyof T> = {
  readonly [K in keyof Pick<T, Key>]?: object extends Pick<T, K> ? Exclude<T[K], undefined> | null : T[K];
};

const SPEC_KEYS = [
  "leaseMs",
  "priority",
  "unique",
  "schema",
  "expiresAfterMs",
  "rate",
  "description",
] as const;
const POLICY_KEYS = ["backoff", "lossesMax", "onOutage", "outageMsMax"] as const;

/** The settings of a queue. An omitted setting keeps its value or default; null removes a limit. */
export interface QueueSettings
  extends Changes<QueueSpec, (typeof SPEC_KEYS)[number]>,
    Changes<Policy, (typeof POLICY_KEYS)[number]> {
  /** The number of retries after the first attempt. Default 2. */
  readonly maxRetries?: number;
  /** What happens to an item that has used all retries. Default `dlq`: it becomes a letter. */
  readonly onItemFailure?: Exclude<OnItemFailure, "custom">;
  /** The circuit breaker: consecutive failures stop the queue until probes succeed. Default: no breaker. */
  readonly breaker?: Partial<BreakerPolicy> | null;
}

/**
 * Creates a queue, or returns the existing queue if it has the same settings; other settings are a `job_changed` error.
 * Adopts letters that were imported under its name.
 */
export async function createQueue(engine: Engine, name: string, settings: QueueSettings = {}): Promise<Job> {
  const spec = await specWith(DEFAULT_QUEUE, settings);
  return createStanding(engine, { name, kind: "queue", spec }, async (found) => {
    if (changedSettings(queueSpecOf(found), spec).length === 0) return found;
    throw new RedriveError("job_changed", `The queue ${name} already exists with other settings.`, {
      hint: `Run \`redrive queue show ${name}\` to see them, or \`redrive queue set ${name}\` to change them.`,
    });
  });
}

/** Changes the given settings, and writes an event with their names. Writes nothing if no value differs. */
export async function changeQueue(engine: Engine, name: string, settings: QueueSettings): Promise<Job> {
  const job = await requireQueue(engine, name);
  const before = queueSpecOf(job);
  return changeSpec(engine, job, { before, after: await specWith(before, settings) });
}

type NewStanding = { readonly name: string; readonly kind: "queue" | "target"; readonly spec: QueueSpec };

/** Creates a queue or a target, and adopts letters that were imported under its name. */
export async function createStanding(
  engine: Engine,
  { name, kind, spec }: NewStanding,
  onFound: (job: Job) => Promise<Job>,
): Promise<Job> {
  requireQueueName(name);
  const json = specToJson(spec);
  const adopt = (found: Job) => {
    if (found.kind === kind) return onFound(found);
    if (found.kind === "imported" && found.id === name) {
      const event = { type: "queue_created", data: { was: "imported" } } as const;
      return engine.changeJob(name, { kind, status: "running", restarted: true, spec: json, event });
    }
    const other = found.kind === "queue" ? "queue" : `${found.kind} job`;
    throw new RedriveError("job_changed", `The name ${name} is already used by the ${other} ${found.id}.`, {
      hint: `Choose another name for the ${kind}.`,
    });
  };
  const found = await engine.findJob(name);
  if (found !== null) return adopt(found);
  try {
    return await engine.createJob({ id: name, name, kind, spec: json });
  } catch (error) {
    const other = await engine.findJob(name); // another process created it first
    if (other === null) throw error;
    return adopt(other);
  }
}

export async function changeSpec(
  engine: Engine,
  job: Job,
  { before, after }: Record<"before" | "after", QueueSpec>,
): Promise<Job> {
  const settings = changedSettings(before, after);
  if (settings.length === 0) return job;
  const event = { type: "queue_changed", data: { settings } } as const;
  return engine.changeJob(job.id, { spec: specToJson(after), event });
}

const NAME_CHARS_MAX = 100;

/**
 * Names are used in commands, URLs and file names, so they contain no spaces or slashes and do not look like
 * an option.
 */
function requireQueueName(name: string): void {
  const problem = problemOfName(name);
  if (problem === null) return;
  throw new RedriveError("usage", `"${name}" is not a valid queue name: ${problem}.`, {
    hint: `Use up to ${NAME_CHARS_MAX} letters, digits, dots, dashes and underscores, e.g. invoices or acme.invoices.`,
  });
}

function problemOfName(name: string): string | null {
  if (name === "") return "it is empty";
  if ([...name].length > NAME_CHARS_MAX) return `it has more than ${NAME_CHARS_MAX} characters`;
  if (!/^[\p{L}\p{N}_]/u.test(name)) return "it does not begin with a letter or a digit";
  return /^[\p{L}\p{M}\p{N}_.:@+-]+$/u.test(name)
    ? null
    : "it contains a space, a slash or another invalid character";
}

async function specWith(before: QueueSpec, settings: QueueSettings): Promise<QueueSpec> {
  (await import("./settings-schema.ts")).checkQueueSettings(settings);
  return applySettings(before, settings);
}

export async function applySettings(before: QueueSpec, settings: QueueSettings): Promise<QueueSpec> {
  const { schema, description, ...spec } = applyChanges(before, settings, SPEC_KEYS);
  // Throws now if the schema cannot be compiled, instead of when items are added.
  if (schema !== undefined) (await import("../redrive/data-schema.ts")).compileSchema(schema);
  const policy = policyWith(before.policy, settings);
  return compact({ ...spec, policy, schema, description: description?.trim() || undefined });
}

function policyWith(before: Policy, settings: QueueSettings): Policy {
  const policy = applyChanges(before, settings, POLICY_KEYS);
  const { maxRetries = before.maxAttempts - 1, onItemFailure = before.onItemFailure, breaker } = settings;
  const isWaiting = policy.onOutage === "wait";
  // The limit would be silently ignored unless `wait` is set.
  if (!isWaiting && typeof settings.outageMsMax === "number")
    throw new RedriveError(
      "usage",
      "The limit of an outage (--max-outage) has no effect without onOutage: wait.",
      {
        hint: 'Add --on-outage wait, or onOutage: "wait" in a program.',
      },
    );
  const wanted = breaker && { ...(before.breaker ?? DEFAULT_BREAKER), ...breaker };
  return compact({
    ...policy,
    outageMsMax: isWaiting ? policy.outageMsMax : undefined,
    maxAttempts: maxRetries + 1,
    onItemFailure,
    breaker: wanted === undefined ? before.breaker : (wanted ?? undefined),
  }) as Policy;
}

export function applyChanges<T extends object, Key extends keyof T>(
  before: T,
  changes: Changes<T, Key>,
  keys: readonly Key[],
): T {
  const given = keys.filter((key) => changes[key] !== undefined);
  return compact({ ...before, ...Object.fromEntries(given.map((key) => [key, changes[key] ?? undefined])) });
}

/** Returns the names of the settings that differ, including those of the policy and the delivery. */
function changedSettings(before: QueueSpec, after: QueueSpec): readonly string[] {
  const [old, now] = [flat(before), flat(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].sort();
  return names.filter((name) => canonicalJson(old[name] ?? null) !== canonicalJson(now[name] ?? null));
}

function flat(spec: QueueSpec): JsonObject {
  const { policy, delivery, ...others } = specToJson(spec);
  return { ...others, ...(policy as JsonObject), ...(delivery as JsonObject | undefined) };
}

const REFRESH_MS = 2000;

export type LiveSettings<Spec> = ReturnType<typeof liveSettings<Spec>>;

/** The settings of a queue that is being processed. Reads them from the store at most every two seconds. */
export function liveSettings<Spec>(
  engine: Engine,
  queue: Job,
  { clock, specOf }: { clock: Clock; specOf: (job: Job) => Spec },
) {
  let spec = specOf(queue);
  let known = JSON.stringify(queue.spec);
  let refreshAt = clock.now() + REFRESH_MS;
  let refreshing: Promise<void> | null = null;
  /** Keeps the last settings while the store is unavailable. The runner notices the outage too, and waits. */
  const refresh = async () => {
    try {
      const job = await engine.findJob(queue.id);
      const stored = JSON.stringify(job?.spec);
      if (job === null || stored === known) return; // keeps the same object, because the breaker compares it by identity
      known = stored;
      spec = specOf(job);
    } catch (error) {
      if (!isStoreError(error)) throw error;
    } finally {
      refreshAt = clock.now() + REFRESH_MS;
    }
  };
  const readIfDue = () => {
    if (clock.now() < refreshAt) return null;
    refreshing ??= refresh().finally(() => {
      refreshing = null;
    });
    return refreshing;
  };
  return {
    refresh,
    /** Returns the last known settings, and refreshes outdated ones in the background. */
    now: () => {
      void readIfDue();
      return spec;
    },
    current: async () => {
      await readIfDue();
      return spec;
    },
  };
}
