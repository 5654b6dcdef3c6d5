/** The options that say where receipts go and how. What cannot be read is refused before the store is asked. */
import { resolve } from "node:path";
import type { DeliverySettings } from "../delivery/check-delivery.ts";
import type { TargetSettings } from "../delivery/settings.ts";
import type { DeliveryProtocol } from "../delivery/spec.ts";
import { WorkError } from "../errors.ts";
import { compact } from "../item/failure.ts";
import { parseDuration } from "../kit/duration.ts";
import type { Context } from "./context.ts";
import { countOption, requirePath, requireText } from "./option.ts";
import { type SettingFlags, settingsFrom } from "./queue-settings.ts";

export interface TargetFlags
  extends Pick<
    SettingFlags,
    | "backoff"
    | "breaker"
    | "breakerTimeout"
    | "onOutage"
    | "maxOutage"
    | "maxLosses"
    | "rate"
    | "lease"
    | "description"
  > {
  readonly url?: string;
  readonly protocol?: DeliveryProtocol;
  readonly tool?: string;
  readonly keyArgument?: string;
  readonly header?: readonly string[];
  readonly idHeader?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  readonly token?: boolean;
  readonly timeout?: string;
  readonly maxAnswer?: string;
  readonly orderField?: string;
  readonly retries?: string;
  readonly backoffBase?: string;
}

/** Empty when nothing was named. */
export function targetSettingsFrom(context: Context, flags: TargetFlags): TargetSettings {
  const { backoff, breaker, breakerTimeout, maxLosses, rate, lease, description } = flags;
  const { onOutage, maxOutage } = flags;
  const outage = { onOutage, maxOutage };
  const shared = compact({
    ...outage,
    backoff,
    breaker,
    breakerTimeout,
    maxLosses,
    rate,
    lease,
    description,
  });
  return compact({
    ...deliveryFrom(context, flags),
    ...settingsFrom(context, shared as SettingFlags),
    retries: countOption("--retries", flags.retries, 0),
    backoffBase:
      flags.backoffBase === undefined ? undefined : numberOption("--backoff-base", flags.backoffBase),
  }) as TargetSettings;
}

function deliveryFrom(context: Context, flags: TargetFlags): DeliverySettings {
  const { url, protocol, tool, keyArgument, idHeader, orderField, timeout } = flags;
  return compact({
    url,
    protocol,
    tool,
    keyArgument: orNone(keyArgument),
    headers: flags.header && headersFrom(flags.header),
    idHeader,
    token: tokenFrom(context, flags),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout, "--timeout"),
    answerBytesMax: countOption("--max-answer", flags.maxAnswer, 1),
    orderField: orNone(orderField),
  }) as DeliverySettings;
}

function orNone(text: string | undefined): string | null | undefined {
  return text === "none" ? null : text;
}

/** Where the token is, never the token itself. The path counts from anywhere, for other processes read it too. */
function tokenFrom(
  { terminal: { cwd } }: Context,
  { tokenEnv, tokenFile, token }: TargetFlags,
): DeliverySettings["token"] {
  if (tokenEnv !== undefined) return { env: requireText("--token-env", tokenEnv) };
  if (tokenFile !== undefined) return { file: resolve(cwd, requirePath("--token-file", tokenFile)) };
  return token === false ? null : undefined;
}

function headersFrom(lines: readonly string[]): DeliverySettings["headers"] {
  if (lines.includes("none")) {
    if (lines.length === 1) return null;
    throw new WorkError("usage", "--header none and other headers do not go together.");
  }
  return Object.fromEntries(lines.map(headerFrom));
}

function headerFrom(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon > 0) return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  throw new WorkError("usage", `--header: "${line}" has no colon.`, {
    hint: "Write a name and a value: --header 'X-Team: billing'.",
  });
}

function numberOption(name: string, text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new WorkError("usage", `${name}: "${text}" is not a number.`);
}
