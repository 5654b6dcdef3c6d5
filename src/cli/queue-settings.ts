/** The options that say what a queue is told to do. What cannot be read is refused before the store is asked. */
import { WorkError } from "../errors.ts";
import type { Priority } from "../item/priority.ts";
import { parseDuration } from "../kit/duration.ts";
import type { QueueSettings } from "../queue/settings.ts";
import type { UniqueRule } from "../queue/spec.ts";
import { parseRate } from "../redrive/pace.ts";
import { parseBackoff } from "../retry/backoff.ts";
import type { OnOutage } from "../retry/policy.ts";
import type { Context } from "./context.ts";
import { readJsonFile } from "./json-word.ts";
import { countOption } from "./option.ts";

export interface SettingFlags {
  readonly maxRetries?: string;
  readonly backoff?: string;
  readonly onFailure?: NonNullable<QueueSettings["onItemFailure"]>;
  readonly maxLosses?: string;
  readonly breaker?: string;
  readonly breakerTimeout?: string;
  readonly onOutage?: OnOutage;
  readonly maxOutage?: string;
  readonly priority?: Priority;
  readonly unique?: UniqueRule;
  readonly schema?: string;
  readonly expiresAfter?: string;
  readonly lease?: string;
  readonly rate?: string;
  readonly description?: string;
}

export function settingsFrom({ terminal: { cwd } }: Context, flags: SettingFlags): QueueSettings {
  const maxRetries = countOption("--max-retries", flags.maxRetries, 0);
  const lossesMax = countOption("--max-losses", flags.maxLosses, 1);
  const { priority, unique, onFailure, description, lease } = flags;
  return {
    ...(maxRetries !== undefined && { maxRetries }),
    ...(lossesMax !== undefined && { lossesMax }),
    ...(flags.backoff !== undefined && { backoff: parseBackoff(flags.backoff) }),
    ...(onFailure !== undefined && { onItemFailure: onFailure }),
    ...breakerFrom(flags),
    ...(flags.onOutage !== undefined && { onOutage: flags.onOutage }),
    ...orNone("outageMsMax", flags.maxOutage, (text) => parseDuration(text, "--max-outage")),
    ...(priority !== undefined && { priority }),
    ...(unique !== undefined && { unique }),
    ...orNone("schema", flags.schema, (file) => readJsonFile(file, { option: "--schema", cwd })),
    ...orNone("expiresAfterMs", flags.expiresAfter, (text) => parseDuration(text, "--expires-after")),
    ...(lease !== undefined && { leaseMs: parseDuration(lease, "--lease") }),
    ...orNone("rate", flags.rate, readRate),
    ...(description !== undefined && { description }),
  };
}

/** `none` is null: it takes the setting away. */
function orNone<Name extends string, Value>(
  name: Name,
  text: string | undefined,
  read: (text: string) => Value,
): { readonly [name in Name]?: Value | null } {
  if (text === undefined) return {};
  return { [name]: text === "none" ? null : read(text) } as { readonly [name in Name]: Value | null };
}

function breakerFrom({ breaker, breakerTimeout }: SettingFlags): Pick<QueueSettings, "breaker"> {
  const timeout =
    breakerTimeout === undefined ? {} : { timeoutMs: parseDuration(breakerTimeout, "--breaker-timeout") };
  if (breaker === "none") {
    if (breakerTimeout === undefined) return { breaker: null };
    throw new WorkError("usage", "--breaker none and --breaker-timeout do not go together.");
  }
  const failureThreshold = countOption("--breaker", breaker, 1);
  if (failureThreshold === undefined && breakerTimeout === undefined) return {};
  return { breaker: { ...timeout, ...(failureThreshold !== undefined && { failureThreshold }) } };
}

function readRate(text: string): { readonly perSecond: number } {
  const { letters, perMs } = parseRate(text, "--rate");
  return { perSecond: (letters * 1000) / perMs };
}
