/** Validates the settings of queues and policies. Imported only when settings are checked, because it loads zod. */
import * as z from "zod";
import { PRIORITIES } from "../item/item.ts";
import type { Rate } from "../item/rate.ts";
import {
  type Backoff,
  type BreakerPolicy,
  ITEM_FAILURE_ACTIONS,
  OUTAGE_ACTIONS,
  type Policy,
  TIMEOUT_ACTIONS,
} from "../retry/policy.ts";
import * as t from "../std/check-input.ts";
import type { QueueSettings } from "./queue-settings.ts";
import { UNIQUE_RULES } from "./queue-spec.ts";

type Curve<Kind extends Backoff["kind"]> = Extract<Backoff, { readonly kind: Kind }>;

function curve<Kind extends Backoff["kind"]>(
  kind: Kind,
  shape: { readonly [Key in Exclude<keyof Curve<Kind>, "kind" | "jitter">]: z.ZodType },
) {
  return z.strictObject({ ...(shape as z.ZodRawShape), kind: z.literal(kind), jitter: t.flag.optional() });
}

/** Checked strictly, because an invalid backoff would make items wait forever. */
export const backoff = z.discriminatedUnion(
  "kind",
  [
    curve("exponential", { initialMs: t.delayMs, factor: t.above0, maxMs: t.delayMs }),
    curve("linear", { initialMs: t.delayMs, stepMs: t.delayMs, maxMs: t.delayMs }),
    curve("fixed", { delayMs: t.delayMs }),
    curve("fibonacci", { initialMs: t.delayMs, maxMs: t.delayMs }),
    curve("list", {
      delaysMs: t.listOf(t.delayMs).min(1, { error: "expected a list of at least one delay" }),
    }),
  ],
  {
    error:
      'expected an object such as { kind: "fixed", delayMs: 1000, jitter: false }, or the result of parseBackoff("fixed:1s")',
  },
);

export const policy = t.objectOf<Policy>({
  ...t.optional(t.positive, "maxFailures"),
  ...t.optional(
    t.numberThat((value) => value >= 0 && value <= 1, "a number from 0 to 1"),
    "failureThreshold",
  ),
  ...t.optional(t.oneOf(OUTAGE_ACTIONS), "onOutage"),
  ...t.optional(t.oneOf(TIMEOUT_ACTIONS), "onTimeout"),
  ...t.optional(t.delayMs, "outageMsMax"),
  maxAttempts: t.positive,
  backoff,
  onItemFailure: t.oneOf(ITEM_FAILURE_ACTIONS),
  lossesMax: t.positive,
  continueOnFailure: t.flag,
  breaker: t
    .objectOf<BreakerPolicy>({
      failureThreshold: t.positive,
      timeoutMs: t.delayMs,
      successThreshold: t.positive,
      halfOpenRequests: t.positive,
    })
    .optional(),
});

const durationMs = t.numberFrom(1, 10 * 366 * 86_400_000);
const countFrom1 = t.wholeNumber(1, 1_000_000);

export const COMMON_SETTINGS = {
  ...t.optional(backoff, "backoff"),
  ...t.optional(countFrom1, "lossesMax"),
  // With a shorter lease, a slow disk or a busy machine would look like a dead worker.
  ...t.optional(t.numberFrom(1000, 86_400_000), "leaseMs"),
  ...t.nullable(t.oneOf(OUTAGE_ACTIONS), "onOutage"),
  ...t.nullable(durationMs, "outageMsMax"),
  ...t.nullable(t.text, "description"),
  ...t.nullable(t.objectOf<Rate>({ perSecond: t.numberFrom(1 / 86_400, 1_000_000) }), "rate"),
  ...t.nullable(
    t.objectOf<Partial<BreakerPolicy>>({
      ...t.optional(countFrom1, "failureThreshold", "successThreshold", "halfOpenRequests"),
      ...t.optional(durationMs, "timeoutMs"),
    }),
    "breaker",
  ),
};

export const retries = t.wholeNumber(0, 1000);

const queueSettings = t.objectOf<QueueSettings>({
  ...COMMON_SETTINGS,
  ...t.optional(retries, "maxRetries"),
  ...t.optional(t.oneOf(ITEM_FAILURE_ACTIONS.filter((action) => action !== "custom")), "onItemFailure"),
  ...t.optional(t.oneOf(PRIORITIES), "priority"),
  ...t.optional(t.oneOf(UNIQUE_RULES), "unique"),
  ...t.nullable(durationMs, "expiresAfterMs"),
  // Compiled by `applySettings`.
  schema: t.anyThat(() => true, "a JSON Schema").optional(),
});

export function checkQueueSettings(settings: QueueSettings): void {
  t.checkInput(queueSettings, settings, { caller: "queue", name: "settings" });
}
