/**
 * The options of receipt targets in the words of queues, and their conversion to stored settings. The names of the stored
 * settings work too, as in earlier versions.
 */
import * as z from "zod";
import { targetSettings } from "../delivery/settings-schema.ts";
import type { TargetSettings } from "../delivery/target-settings.ts";
import type { BreakerPolicy } from "../retry/policy.ts";
import * as t from "../std/check-input.ts";
import { compact } from "../std/json.ts";
import type { TargetOptions } from "./checked/letter-limits.ts";
import { TARGET_OPTIONS } from "./checked/schemas.ts";
import { type BreakerOptions, POLICY_OPTIONS, type PolicyOptions, queueOptions } from "./queue-options.ts";
import type { Backoff, Duration, Rate } from "./values.ts";
import * as v from "./values.ts";

/** The settings that are written as those of queues. */
interface QueueWords extends Pick<PolicyOptions, "rate" | "maxOutage" | "maxLosses"> {
  /** The time limit of a delivery. Default 10 s. */
  readonly timeout?: Duration;
  /** How long to wait before each retry. Default: 2, 4, 8 and 16 s. */
  readonly backoff?: Backoff;
  /** Stops after consecutive failures until probes succeed. `{}` has the default limits. Default: no breaker. */
  readonly breaker?: (BreakerOptions & Partial<Pick<BreakerPolicy, "timeoutMs">>) | null;
  /** A process loses its receipts when it has sent no heartbeat for this long. At least 1 s; default 8 s. */
  readonly lease?: Duration;
}

/** The settings of a target. Those that are given are applied to the stored target; null removes a setting. */
export interface ReceiptSettings extends Omit<TargetSettings, keyof QueueWords>, QueueWords {}

/** The options of `redrive.receipts`. Given settings create or change the target; without settings it must exist. */
export interface ReceiptOptions extends Omit<TargetOptions, keyof QueueWords | "ownRate">, QueueWords {
  /** A rate limit for this process, in addition to the target's rate limit. Default: no limit. */
  readonly ownRate?: Rate;
}

const WORDS = {
  timeout: v.durationFrom(1, 3_600_000).optional(),
  backoff: v.backoff.optional(),
  rate: v.rate.nullish(),
  ownRate: v.rate.optional(),
  maxOutage: POLICY_OPTIONS.maxOutage,
  maxLosses: POLICY_OPTIONS.maxLosses,
  lease: queueOptions.shape.lease,
  breaker: z.looseObject({ timeout: v.durationFrom(1).optional() }).nullish(),
};

/** Refuses unknown options, so that suggestions include the words of queues. Other options are checked after the conversion. */
function named(shape: Readonly<Record<string, unknown>>) {
  const others = Object.fromEntries(Object.keys(shape).map((key) => [key, z.unknown().optional()]));
  return z.strictObject({ ...others, ...WORDS });
}

const receiptOptions = named(TARGET_OPTIONS);
const receiptSettings = named(targetSettings);

/** Converts the words of queues; the other options stay as they are, unchecked. */
export function targetOptionsOf(given: ReceiptOptions): TargetOptions {
  return converted(receiptOptions, given, { caller: "redrive.receipts", name: "options" });
}

export function targetSettingsOf(given: ReceiptSettings): TargetSettings {
  return converted(receiptSettings, given, { caller: "target.change", name: "settings" });
}

function converted(schema: ReturnType<typeof named>, given: object, asked: t.InputName) {
  const { breaker, timeout, maxOutage, lease, maxLosses, ...others } = t.parseInput(schema, given, asked);
  return compact({
    ...others,
    ...renamed(asked.caller, given, "timeoutMs", { timeout }),
    ...renamed(asked.caller, given, "outageMsMax", { maxOutage }),
    ...renamed(asked.caller, given, "leaseMs", { lease }),
    ...renamed(asked.caller, given, "lossesMax", { maxLosses }),
    breaker: breaker && breakerOf(asked.caller, breaker),
    ...(breaker === null && { breaker }),
  });
}

function breakerOf(caller: string, { timeout, ...others }: { readonly timeout?: number | undefined }) {
  return { ...others, ...renamed(caller, others, "timeoutMs", { timeout }) };
}

/** Returns the value under the name of the stored setting. Refuses both names together. */
function renamed(caller: string, given: object, stored: string, option: Readonly<Record<string, unknown>>) {
  const [[name = "", value] = []] = Object.entries(option);
  if (value === undefined) return {};
  if (Reflect.get(given, stored) === undefined) return { [stored]: value };
  throw t.invalidInput(caller, [
    { text: `${name} and ${stored} are the same option`, field: name, hint: `Give only ${name}.` },
  ]);
}
