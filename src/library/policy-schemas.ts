/** Argument schemas of policies. They matter because an invalid backoff would make an item wait forever. */
import * as z from "zod";
import {
  type Backoff,
  type BreakerPolicy,
  ITEM_FAILURE_ACTIONS,
  OUTAGE_ACTIONS,
  type Policy,
} from "../retry/policy.ts";
import { anyThat, flag, objectOf, oneOf, positive } from "./common-schemas.ts";

const delayMs = anyThat(
  (value) => typeof value === "number" && value >= 0 && Number.isFinite(value),
  "a number of milliseconds",
);
const delaysMs = z.array(delayMs).min(1, { error: "expected a list of at least one delay" });
const factor = anyThat(
  (value) => typeof value === "number" && value > 0 && Number.isFinite(value),
  "a number above 0",
);

type Curve<Kind extends Backoff["kind"]> = Extract<Backoff, { readonly kind: Kind }>;

function curve<Kind extends Backoff["kind"]>(
  kind: Kind,
  shape: { readonly [Key in Exclude<keyof Curve<Kind>, "kind" | "jitter">]: z.ZodType },
) {
  return z.strictObject({ ...(shape as z.ZodRawShape), kind: z.literal(kind), jitter: flag.optional() });
}

const BACKOFF_ERROR =
  'expected an object such as { kind: "fixed", delayMs: 1000, jitter: false }, or what parseBackoff("fixed:1s") returns';

export const backoff = z.discriminatedUnion(
  "kind",
  [
    curve("exponential", { initialMs: delayMs, factor, maxMs: delayMs }),
    curve("linear", { initialMs: delayMs, stepMs: delayMs, maxMs: delayMs }),
    curve("fixed", { delayMs }),
    curve("fibonacci", { initialMs: delayMs, maxMs: delayMs }),
    curve("list", { delaysMs }),
  ],
  { error: BACKOFF_ERROR },
);

const BREAKER = {
  failureThreshold: positive,
  timeoutMs: delayMs,
  successThreshold: positive,
  halfOpenRequests: positive,
} as const;
const { failureThreshold, timeoutMs, successThreshold, halfOpenRequests } = BREAKER;

/** Omitted fields keep their defaults. */
export const partialBreaker = objectOf<Partial<BreakerPolicy>>({
  failureThreshold: failureThreshold.optional(),
  timeoutMs: timeoutMs.optional(),
  successThreshold: successThreshold.optional(),
  halfOpenRequests: halfOpenRequests.optional(),
});

const ratio = anyThat(
  (value) => typeof value === "number" && value >= 0 && value <= 1,
  "a number from 0 to 1",
);

export const policy = objectOf<Policy>({
  maxAttempts: positive,
  backoff,
  onItemFailure: oneOf(ITEM_FAILURE_ACTIONS),
  lossesMax: positive,
  maxFailures: positive.optional(),
  failureThreshold: ratio.optional(),
  continueOnFailure: flag,
  breaker: objectOf<BreakerPolicy>(BREAKER).optional(),
  onOutage: oneOf(OUTAGE_ACTIONS).optional(),
  outageMsMax: delayMs.optional(),
});
