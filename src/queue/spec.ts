/** What a named queue is told to do with its items: kept as the spec of its job, so that every worker obeys the same. */
import type { Job } from "../item/job.ts";
import type { Priority } from "../item/priority.ts";
import type { Rate } from "../item/rate.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import { DEFAULT_POLICY, type Policy } from "../retry/policy.ts";

/** What happens when an item is added under a key that the queue knows. */
export const UNIQUE_RULES = ["reject", "return", "replace"] as const;
/** One of `UNIQUE_RULES`. */
export type UniqueRule = (typeof UNIQUE_RULES)[number];

/** The settings of a named queue. */
export interface QueueSpec {
  readonly policy: Policy;
  /** A worker that was not heard of for this long has lost its items; it beats four times as often. */
  readonly leaseMs: number;
  /** Of items that come without one. */
  readonly priority: Priority;
  readonly unique: UniqueRule;
  /** A JSON Schema that the data of every item obeys, when it is added and when it is amended. */
  readonly schema?: Json;
  /** Items that come without an expiry expire so long after they came. */
  readonly expiresAfterMs?: number;
  /** What all workers together may lease. */
  readonly rate?: Rate;
  /** What the queue is for, in a person's words. */
  readonly description?: string;
}

/** Three attempts, a lease of 8 seconds, no limit. A key that is known is refused. */
export const DEFAULT_QUEUE: QueueSpec = {
  policy: DEFAULT_POLICY,
  leaseMs: 8000,
  priority: "normal",
  unique: "reject",
};

/** The form in which the store keeps it. */
export function queueSpecToJson(spec: QueueSpec): JsonObject {
  return JSON.parse(JSON.stringify(spec)) as JsonObject;
}

/** The settings of a queue's job; what an older version did not write has its default. */
export function queueSpecOf(job: Job): QueueSpec {
  const spec = { ...DEFAULT_QUEUE, ...(job.spec as unknown as Partial<QueueSpec>) };
  if (typeof spec.policy.backoff === "object") return spec;
  // Earlier versions stored any value that a program gave, and an item of such a queue was never settled.
  return { ...spec, policy: { ...spec.policy, backoff: DEFAULT_POLICY.backoff } };
}
