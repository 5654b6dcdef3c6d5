/**
 * The stored settings of a target: those of a queue, and how receipts are delivered. Every process reads them from the
 * store. They contain the location of a token, never the token.
 */

import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { DEFAULT_QUEUE, type QueueSpec } from "../queue/queue-spec.ts";
import { type Backoff, DEFAULT_POLICY } from "../retry/policy.ts";
import type { JsonObject } from "../std/json.ts";

/** How receipts travel. `function`: by code of the process that opens the target. */
export const DELIVERY_PROTOCOLS = ["http", "mcp", "function"] as const;
/** One of `DELIVERY_PROTOCOLS`. */
export type DeliveryProtocol = (typeof DELIVERY_PROTOCOLS)[number];

/** Where the token is: read anew for every try, so that a new one is used as soon as it is there. */
export type TokenSource =
  /** The name of an environment variable. */
  | { readonly env: string }
  /** The path of a file that has nothing but the token in it. */
  | { readonly file: string };

/** How a receipt gets to the other side. */
export interface DeliverySpec {
  readonly protocol: DeliveryProtocol;
  /** Of `http` and `mcp`: where it is sent to. */
  readonly url?: string;
  /** Sent along with every receipt. Nothing secret: they are kept in the store. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: TokenSource;
  /** Of `mcp`: the tool that is called. */
  readonly tool: string;
  /** Of `mcp`: the argument that has the idempotency key, besides `_meta`, for tools that take it as one. */
  readonly keyArgument?: string;
  /** For one try, from the connection to the last byte of the answer. */
  readonly timeoutMs: number;
  /** An answer that is longer is not read to its end. */
  readonly answerBytesMax: number;
  /** The header that has the idempotency key. */
  readonly idHeader: string;
  /** Receipts with the same value in this field, `a.b` reaches inside, are delivered one after the other, in their order. */
  readonly orderField?: string;
}

/** The settings of a target. */
export interface TargetSpec extends QueueSpec {
  readonly delivery: DeliverySpec;
}

/** Waits base, base², base³ … seconds before the second try and those after it, and never longer than an hour. */
export function receiptBackoff(base: number): Backoff {
  return { kind: "exponential", initialMs: base * 1000, factor: base, maxMs: 3_600_000, jitter: false };
}

export const DEFAULT_BACKOFF_BASE = 2;

/**
 * Five attempts after 0, 2, 4, 8 and 16 s, whatever the failure, then a letter. No breaker: the receipts of one target do
 * not wait for each other. A receipt is hardly ever why a process dies, so it may be lost with its process more often than
 * an item of a queue.
 */
export const DEFAULT_TARGET: TargetSpec = {
  ...DEFAULT_QUEUE,
  unique: "return",
  policy: {
    ...DEFAULT_POLICY,
    maxAttempts: 5,
    lossesMax: 20,
    backoff: receiptBackoff(DEFAULT_BACKOFF_BASE),
  },
  delivery: {
    protocol: "http",
    tool: "asyncgate.complete",
    timeoutMs: 10_000,
    answerBytesMax: 1_048_576,
    idHeader: "Idempotency-Key",
  },
};

/** The form in which the store keeps it. */
export function targetSpecToJson(spec: TargetSpec): JsonObject {
  return JSON.parse(JSON.stringify(spec)) as JsonObject;
}

/** The settings of a target's job; what an older version did not write has its default. */
export function targetSpecOf(job: Pick<Job, "spec">): TargetSpec {
  const spec = job.spec as unknown as Partial<TargetSpec>;
  return { ...DEFAULT_TARGET, ...spec, delivery: { ...DEFAULT_TARGET.delivery, ...spec.delivery } };
}

export function isDeliverable(job: Job): boolean {
  return job.kind === "target" && targetSpecOf(job).delivery.protocol !== "function";
}

/** A `usage` error when only the service itself can deliver. */
export function requireDeliverable(target: Job): void {
  if (isDeliverable(target)) return;
  throw new WorkError(
    "usage",
    `The receipts of ${target.id} are delivered by a function of the service that made it.`,
    {
      hint: `Start that service: it goes on by itself. \`redrive dlq retry ${target.id}\` puts letters in line for it.`,
    },
  );
}
