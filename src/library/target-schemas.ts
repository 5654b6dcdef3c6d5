/**
 * Argument schemas of the functions about receipts and targets. Ranges and addresses are checked with the
 * settings themselves.
 */
import * as z from "zod";
import type { SendOptions, TargetSettings } from "../delivery/target-settings.ts";
import { DELIVERY_PROTOCOLS } from "../delivery/target-spec.ts";
import { OUTAGE_ACTIONS } from "../retry/policy.ts";
import {
  anyThat,
  callback,
  clock,
  count,
  durationMs,
  flag,
  groupRules,
  json,
  number,
  objectOf,
  oneOf,
  positive,
  rate,
  signal,
  text,
  thing,
} from "./common-schemas.ts";
import { LIMIT_OPTIONS } from "./letter-limits.ts";
import type { TargetOptions } from "./options.ts";
import { backoff, partialBreaker } from "./policy-schemas.ts";

const SETTINGS = {
  protocol: oneOf(DELIVERY_PROTOCOLS).optional(),
  url: text.optional(),
  headers: z.record(z.string(), text).nullish(),
  token: anyThat((value) => typeof value === "object", 'an object such as { env: "NAME" }').nullish(),
  tool: text.optional(),
  keyArgument: text.nullish(),
  timeoutMs: number.optional(),
  answerBytesMax: number.optional(),
  idHeader: text.optional(),
  orderField: text.nullish(),
  backoff: backoff.optional(),
  breaker: partialBreaker.nullish(),
  onOutage: oneOf(OUTAGE_ACTIONS).optional(),
  outageMsMax: number.nullish(),
  rate: rate.nullish(),
  leaseMs: number.optional(),
  lossesMax: number.optional(),
  description: text.nullish(),
  retries: number.optional(),
  backoffBase: number.optional(),
};

export const targetSettings = objectOf<TargetSettings>(SETTINGS);

export const targetOptions = objectOf<TargetOptions>({
  ...SETTINGS,
  ...LIMIT_OPTIONS,
  alongside: callback.optional(),
  deliver: anyThat(
    (value) => typeof value === "function" || (typeof value === "object" && value !== null),
    "a function that sends a receipt, or a protocol",
  ).optional(),
  isDelivering: flag.optional(),
  concurrency: positive.optional(),
  ownRate: rate.optional(),
  onSettled: callback.optional(),
  onPaused: callback.optional(),
  onError: callback.optional(),
  storeWaitMs: durationMs.optional(),
  env: thing.optional(),
  clock: clock.optional(),
  poisonAfter: count.optional(),
  groupRules: groupRules.optional(),
});

export const sendOptions = objectOf<SendOptions>({
  key: text.optional(),
  order: text.optional(),
  wait: flag.optional(),
  signal: signal.optional(),
});

export const receipt = json;
