/** What settings of queues and policies may be. Loaded when settings are checked, because it loads zod. */
import * as z from "zod";
import { PRIORITIES } from "../item/item.ts";
import type { Rate } from "../item/rate.ts";
import {
  type Backoff,
  type BreakerPolicy,
  ITEM_FAILURE_ACTIONS,
  OUTAGE_ACTIONS,
  type Policy,
} from "../retry/policy.ts";
import {
  above0,
  anyThat,
  checkInput,
  delayMs,
  flag,
  listOf,
  nullable,
  numberFrom,
  numberThat,
  objectOf,
  oneOf,
  optional,
  positive,
  text,
  wholeNumber,
} from "../std/check-input.ts";
import type { QueueSettings } from "./queue-settings.ts";
import { UNIQUE_RULES } from "./queue-spec.ts";

type Curve<Kind extends Backoff["kind"]> = Extract<Backoff, { readonly kind: Kind }>;

function curve<Kind extends Backoff["kind"]>(
  kind: Kind,
  shape: { readonly [Key in Exclude<keyof Curve<Kind>, "kind" | "jitter">]: z.ZodType },
) {
  return z.strictObject({ ...(shape as z.ZodRawShape), kind: z.literal(kind), jitter: flag.optional() });
}

/** An invalid backoff would make an item wait forever. */
const backoff = z.discriminatedUnion(
  "kind",
  [
    curve("exponential", { initialMs: delayMs, factor: above0, maxMs: delayMs }),
    curve("linear", { initialMs: delayMs, stepMs: delayMs, maxMs: delayMs }),
    curve("fixed", { delayMs }),
    curve("fibonacci", { initialMs: delayMs, maxMs: delayMs }),
    curve("list", {
      delaysMs: listOf(delayMs).min(1, { error: "expected a list of at least one delay" }),
    }),
  ],
  {
    error:
      'expected an object such as { kind: "fixed", delayMs: 1000, jitter: false }, or what parseBackoff("fixed:1s") returns',
  },
);

export const policy = objectOf<Policy>({
  ...optional(positive, "maxFailures"),
  ...optional(
    numberThat((value) => value >= 0 && value <= 1, "a number from 0 to 1"),
    "failureThreshold",
  ),
  ...optional(oneOf(OUTAGE_ACTIONS), "onOutage"),
  ...optional(delayMs, "outageMsMax"),
  maxAttempts: positive,
  backoff,
  onItemFailure: oneOf(ITEM_FAILURE_ACTIONS),
  lossesMax: positive,
  continueOnFailure: flag,
  breaker: objectOf<BreakerPolicy>({
    failureThreshold: positive,
    timeoutMs: delayMs,
    successThreshold: positive,
    halfOpenRequests: positive,
  }).optional(),
});

const durationMs = numberFrom(1, 10 * 366 * 86_400_000);
const countFrom1 = wholeNumber(1, 1_000_000);

export const COMMON_SETTINGS = {
  ...optional(backoff, "backoff"),
  ...optional(countFrom1, "lossesMax"),
  // Shorter, and a slow disk or a busy machine looks like a dead worker.
  ...optional(numberFrom(1000, 86_400_000), "leaseMs"),
  ...optional(oneOf(OUTAGE_ACTIONS), "onOutage"),
  ...nullable(durationMs, "outageMsMax"),
  ...nullable(text, "description"),
  ...nullable(objectOf<Rate>({ perSecond: numberFrom(1 / 86_400, 1_000_000) }), "rate"),
  ...nullable(
    objectOf<Partial<BreakerPolicy>>({
      ...optional(countFrom1, "failureThreshold", "successThreshold", "halfOpenRequests"),
      ...optional(durationMs, "timeoutMs"),
    }),
    "breaker",
  ),
};

export const retries = wholeNumber(0, 1000);

const queueSettings = objectOf<QueueSettings>({
  ...COMMON_SETTINGS,
  ...optional(retries, "maxRetries"),
  ...optional(oneOf(ITEM_FAILURE_ACTIONS.filter((action) => action !== "custom")), "onItemFailure"),
  ...optional(oneOf(PRIORITIES), "priority"),
  ...optional(oneOf(UNIQUE_RULES), "unique"),
  ...nullable(durationMs, "expiresAfterMs"),
  // Compiled by `specWith`.
  schema: anyThat(() => true, "a JSON Schema").optional(),
});

export function checkQueueSettings(settings: QueueSettings): void {
  checkInput(queueSettings, settings, { caller: "queue", name: "settings" });
}
