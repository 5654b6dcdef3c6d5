/** The options of a queue in code, and their conversion to stored settings. */
import * as z from "zod";
import { PRIORITIES, type Priority } from "../item/item.ts";
import type { QueueSettings } from "../queue/queue-settings.ts";
import { UNIQUE_RULES, type UniqueRule } from "../queue/queue-spec.ts";
import { compileSchema } from "../redrive/data-schema.ts";
import { type BreakerPolicy, type OnItemFailure, type OnOutage, OUTAGE_ACTIONS } from "../retry/policy.ts";
import * as t from "../std/check-input.ts";
import { compact, isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import type { Middleware } from "./middleware.ts";
import { isStandardSchema, jsonSchemaOf, type StandardSchemaV1 } from "./standard-schema.ts";
import type { Backoff, Duration, Rate, Shape } from "./values.ts";
import * as v from "./values.ts";

/** How failures of items are handled. Both queues and maps have these options. */
export interface PolicyOptions {
  /** How often a failed item is retried. Default 2. */
  readonly retries?: number;
  /** How long to wait before each retry. Default `exponential:1s:30s`. */
  readonly backoff?: Backoff;
  /** The time limit of an attempt, for this program. Default: no limit. */
  readonly timeout?: Duration;
  /** The rate limit shared by all processes. Default: no limit. */
  readonly rate?: Rate | null;
  /** What happens to an item that is out of retries. Default `dlq`: it becomes a letter. */
  readonly onFailure?: Exclude<OnItemFailure, "custom">;
  /** What happens while a service is unavailable: `retry` counts the attempts, `wait` pauses the queue or map instead. */
  readonly onOutage?: OnOutage | null;
  /** How long `onOutage: "wait"` waits for one outage. Default: a day. */
  readonly maxOutage?: Duration | null;
  /** Stops after consecutive failures until probes succeed. `{}` has the default limits. Default: no breaker. */
  readonly breaker?: BreakerOptions | null;
  /** How often the process that runs an item may be lost before the item becomes a letter. Default 3. */
  readonly maxLosses?: number;
  /**
   * Middleware around each attempt of this program, outermost first. In a map, it runs inside the store's
   * middleware.
   */
  readonly use?: readonly Middleware[];
}

/** The settings of a queue. Those that are given are applied to the stored queue; null removes a setting. */
export interface QueueOptions extends PolicyOptions {
  /** A Standard Schema (Zod, Valibot, ArkType …) or a JSON Schema for the items' data. */
  readonly schema?: StandardSchemaV1 | JsonObject | boolean | null;
  /**
   * A Standard Schema for the handlers' results. A result that does not match fails its attempt permanently.
   */
  readonly result?: StandardSchemaV1;
  /** The default priority of items. Default `normal`. */
  readonly priority?: Priority;
  /** What to do if an item is added with an existing key. Default `reject`. */
  readonly unique?: UniqueRule;
  /** How long after its due time an item expires. Default: never. */
  readonly expiresAfter?: Duration | null;
  /** A worker loses its items when it has sent no heartbeat for this long. At least 1 s; default 8 s. */
  readonly lease?: Duration;
  /** A description for people. */
  readonly description?: string | null;
}

/** When a queue stops because everything fails, and when it resumes. */
export interface BreakerOptions {
  /** The number of consecutive failures that open the breaker. Default 5. */
  readonly failureThreshold?: number;
  /** How long the breaker stays open before it admits probes. Default 30 s. */
  readonly timeout?: Duration;
  /** The number of successful probes that close the breaker. Default 3. */
  readonly successThreshold?: number;
  /** The number of concurrent probes. Default 3. */
  readonly halfOpenRequests?: number;
}

const countFrom1 = t.wholeNumber(1, 1_000_000);

const standardSchema = t.anyThat(isStandardSchema, "a Standard Schema, for example a Zod schema");
const schema = t.anyThat(
  (value) => isStandardSchema(value) || isJsonObject(value) || typeof value === "boolean",
  "a Standard Schema, for example a Zod schema, or a JSON Schema",
);

export const breakerOptions = z.strictObject({
  failureThreshold: countFrom1.optional(),
  timeout: v.durationFrom(1).optional(),
  successThreshold: countFrom1.optional(),
  halfOpenRequests: countFrom1.optional(),
} satisfies Shape<BreakerOptions>);

export const middlewares = t.listOf(
  t.anyThat(
    (value) => typeof value === "function" || hasHook(value),
    "a middleware: a function (task, next) => next(), or an object with handle and add",
  ),
);

/**
 * Rejects an object without a known function, for example with a misspelt name, because it would have no
 * effect.
 */
function hasHook(value: unknown): boolean {
  const { handle, add } = Object(value) as { readonly handle?: unknown; readonly add?: unknown };
  const hooks = [handle, add].filter((hook) => hook !== undefined);
  return hooks.length > 0 && hooks.every((hook) => typeof hook === "function");
}

/** The options that queues and maps share. */
export const POLICY_OPTIONS = {
  retries: v.retries.optional(),
  backoff: v.backoff.optional(),
  timeout: v.durationFrom(1).optional(),
  rate: v.rate.nullish(),
  onFailure: t.oneOf(["dlq", "retry", "skip", "stop"]).optional(),
  onOutage: t.oneOf(OUTAGE_ACTIONS).nullish(),
  maxOutage: v.durationFrom(1).nullish(),
  breaker: breakerOptions.nullish(),
  maxLosses: countFrom1.optional(),
  use: middlewares.optional(),
} satisfies Shape<PolicyOptions>;

export const queueOptions = z.strictObject({
  ...POLICY_OPTIONS,
  schema: schema.nullish(),
  result: standardSchema.optional(),
  priority: t.oneOf(PRIORITIES).optional(),
  unique: t.oneOf(UNIQUE_RULES).optional(),
  expiresAfter: v.durationFrom(1).nullish(),
  // With a shorter lease, a slow disk or a busy machine would look like a dead worker.
  lease: v.durationFrom(1000, 86_400_000).optional(),
  description: t.text.nullish(),
} satisfies Shape<QueueOptions>);

/** Validated options, with durations in milliseconds. */
export type ReadQueueOptions = z.output<typeof queueOptions>;

/** Returns the settings to store: only those that the options set. */
export function settingsOf(options: ReadQueueOptions): QueueSettings {
  const { schema: given, expiresAfter, lease, priority, unique, rate, description } = options;
  return compact({
    ...policySettings(options),
    schema: storableSchema(given),
    expiresAfterMs: expiresAfter,
    leaseMs: lease,
    priority,
    unique,
    rate,
    description,
  }) as QueueSettings;
}

function policySettings(options: ReadQueueOptions) {
  return compact({
    maxRetries: options.retries,
    backoff: options.backoff,
    onItemFailure: options.onFailure,
    onOutage: options.onOutage,
    outageMsMax: options.maxOutage,
    breaker: options.breaker && breakerOf(options.breaker),
    ...(options.breaker === null && { breaker: null }),
    lossesMax: options.maxLosses,
  });
}

export function breakerOf({ timeout, ...others }: z.output<typeof breakerOptions>): Partial<BreakerPolicy> {
  return compact({ ...others, timeoutMs: timeout });
}

/** The JSON Schema to store, so that the command line validates data too. Null removes an outdated one. */
function storableSchema(given: unknown): Json | undefined {
  if (given === undefined || given === null || !isStandardSchema(given)) return given as Json | undefined;
  const json = jsonSchemaOf(given);
  if (json === null) return null;
  try {
    compileSchema(json);
    return json;
  } catch {
    return null; // it has an unsupported keyword; data is still validated with the Standard Schema
  }
}
