/**
 * The settings of a named queue in their stored form, which is part of the job's spec. Every worker reads
 * them from there.
 */
import type { Priority } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Rate } from "../item/rate.ts";
import { type Backoff, DEFAULT_POLICY, OUTAGE_MS_MAX, type Policy } from "../retry/policy.ts";
import type { Json, JsonObject } from "../std/json.ts";

/** The rules for adding an item with a key that already exists in the queue. */
export const UNIQUE_RULES = ["reject", "return", "replace"] as const;
/** One of `UNIQUE_RULES`. */
export type UniqueRule = (typeof UNIQUE_RULES)[number];

/** The settings of a named queue. */
export interface QueueSpec {
  readonly policy: Policy;
  /** A worker loses its items when it has sent no heartbeat for this long. Default 8 s. */
  readonly leaseMs: number;
  /** The priority of items that do not set one. Default `normal`. */
  readonly priority: Priority;
  /** The rule for an item whose key already exists in the queue. Default `reject`. */
  readonly unique: UniqueRule;
  /** A JSON Schema for the data of every item, checked when it is added or amended. Default: none. */
  readonly schema?: Json;
  /** How long after its due time an item expires if it has no expiry time of its own. Default: never. */
  readonly expiresAfterMs?: number;
  /** The rate limit for all workers together. Default: no limit. */
  readonly rate?: Rate;
  /** A description for people. Default: empty. */
  readonly description?: string;
}

/** The default settings: three attempts, a lease of 8 seconds, no limits, and duplicate keys are refused. */
export const DEFAULT_QUEUE: QueueSpec = {
  policy: DEFAULT_POLICY,
  leaseMs: 8000,
  priority: "normal",
  unique: "reject",
};

export function specToJson(spec: QueueSpec): JsonObject {
  return JSON.parse(JSON.stringify(spec)) as JsonObject;
}

/** Reads the settings of a queue. Settings that an older version did not store get their defaults. */
export function queueSpecOf(job: Pick<Job, "spec">): QueueSpec;
export function queueSpecOf<Spec extends QueueSpec>(job: Pick<Job, "spec">, defaults: Spec): Spec;
export function queueSpecOf(job: Pick<Job, "spec">, defaults: QueueSpec = DEFAULT_QUEUE): QueueSpec {
  const spec = { ...defaults, ...(job.spec as unknown as Partial<QueueSpec>) };
  if (typeof spec.policy.backoff === "object") return spec;
  // Earlier versions stored invalid backoffs, which prevented items from being settled.
  return { ...spec, policy: { ...spec.policy, backoff: defaults.policy.backoff } };
}

export function backoffToText(backoff: Backoff): string {
  const suffix = backoff.jitter || !("maxMs" in backoff) ? "" : ":nojitter";
  switch (backoff.kind) {
    case "exponential": {
      const factor = backoff.factor === 2 ? "" : `:${backoff.factor}`;
      return `exponential:${durationToText(backoff.initialMs)}:${durationToText(backoff.maxMs)}${factor}${suffix}`;
    }
    case "linear":
    case "fibonacci":
      return `${backoff.kind}:${durationToText(backoff.initialMs)}:${durationToText(backoff.maxMs)}${suffix}`;
    case "fixed":
      return backoff.delayMs === 0 ? "none" : `fixed:${durationToText(backoff.delayMs)}`;
    case "list":
      return `list:${backoff.delaysMs.map(durationToText).join(",")}`;
  }
}

export function outageToText({ onOutage = "retry", outageMsMax = OUTAGE_MS_MAX }: Policy): string {
  return onOutage === "wait" ? `wait, for at most ${durationToText(outageMsMax)}` : onOutage;
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
] as const;

/** Formats a duration so that `parseDuration` can read it, in the largest unit that gives a whole number. */
export function durationToText(ms: number): string {
  const unit = UNITS.find(([, unitMs]) => ms >= unitMs && ms % unitMs === 0);
  return unit ? `${ms / unit[1]}${unit[0]}` : `${ms}ms`;
}

/** Formats a rate in the smallest unit that gives a whole number, else per second. */
export function rateToText(perSecond: number): string {
  const units = [
    ["s", 1],
    ["m", 60],
    ["h", 3600],
  ] as const;
  const whole = units.find(([, seconds]) => isWhole(perSecond * seconds));
  return whole ? `${Math.round(perSecond * whole[1])}/${whole[0]}` : `${perSecond}/s`;
}

/** Tolerates floating-point errors. */
function isWhole(value: number): boolean {
  return Math.round(value) >= 1 && Math.abs(value - Math.round(value)) < 1e-9;
}
