/** Options for the settings of queues and targets. Invalid values are refused before the store is opened. */
import type { DeliverySettings, TargetSettings } from "../delivery/target-settings.ts";
import { PRIORITIES } from "../item/item.ts";
import type { QueueSettings } from "../queue/queue-settings.ts";
import { UNIQUE_RULES } from "../queue/queue-spec.ts";
import { compact } from "../std/json.ts";
import type { Given } from "./command.ts";
import type { Context } from "./context.ts";
import { conflict, userError } from "./exit-code.ts";
import { readJsonFile } from "./json-input.ts";
import * as option from "./options.ts";

/** Options of queues and targets; `none` removes a setting. */
const sharedOptions = {
  backoff: option.backoff,
  lossesMax: option.count(
    "--max-losses <n>",
    "an item dies after this many lost workers (default: 3; receipts: 20)",
    1,
  ),
  breaker: option.orNone(
    option.count("--breaker <n>", "pause after this many failures in a row, or none (default: none)", 1),
  ),
  breakerTimeoutMs: option.breakerTimeoutMs,
  onOutage: option.onOutage,
  outageMsMax: option.orNone(option.outageMsMax),
};

const workerOptions = {
  leaseMs: option.duration(
    "--lease <duration>",
    "how long a worker without heartbeats keeps its items (default: 8s)",
  ),
  rate: option.orNone(
    option.rate("the rate limit of all workers together: 5/s, 100/m or none (default: none)"),
  ),
};

const description = option.word("--description <text>", "a description of the queue");

export const queueOptions = {
  ...option.under("When an item fails", {
    maxRetries: option.retries("how often an item is retried (default: 2)"),
    onItemFailure: option.choice(
      "--on-failure <action>",
      "what to do after the last retry (default: dlq, a dead letter)",
      option.FAILURE_CHOICES,
    ),
    ...sharedOptions,
  }),
  ...option.under("Items", {
    priority: option.choice(
      "--priority <priority>",
      "the priority of items that have none (default: normal)",
      PRIORITIES,
    ),
    unique: option.choice(
      "--unique <rule>",
      "when the key of a new item exists: reject the item, return the existing one, or replace the existing one while it waits (default: reject)",
      UNIQUE_RULES,
    ),
    schema: option.orNone(option.word("--schema <file>", "a JSON Schema for the data of all items, or none")),
    expiresAfterMs: option.orNone(
      option.duration("--expires-after <duration>", "how long after its due time an item expires, or none"),
    ),
  }),
  ...option.under("Workers", workerOptions),
  description,
};

/** Converts options to settings; both use the same keys. */
export function queueSettingsFrom(
  { terminal: { cwd } }: Context,
  flags: Given<typeof queueOptions>,
): QueueSettings {
  const { schema } = flags;
  if (typeof schema !== "string") return { ...sharedSettings(flags), ...compact({ schema }) };
  return { ...sharedSettings(flags), schema: readJsonFile(schema, { option: "--schema", cwd }) };
}

type SharedFlags = Given<typeof sharedOptions & typeof workerOptions>;

function sharedSettings<Flags extends SharedFlags>(flags: Flags) {
  const { breaker: failureThreshold, breakerTimeoutMs: timeoutMs, rate, ...settings } = flags;
  if (failureThreshold === null && timeoutMs !== undefined)
    throw conflict("--breaker none", "--breaker-timeout");
  const isKept = failureThreshold === undefined && timeoutMs === undefined;
  const breaker = failureThreshold === null ? null : compact({ failureThreshold, timeoutMs });
  return {
    ...settings,
    ...(!isKept && { breaker }),
    ...compact({ rate: rate && option.perSecond(rate) }),
  };
}

export const targetOptions = {
  ...option.under("Where receipts go", {
    url: option.word("--url <url>", "the URL, http or https"),
    protocol: option.choice("--protocol <protocol>", "POST JSON, or call an MCP tool (default: http)", [
      "http",
      "mcp",
    ]),
    tool: option.word("--tool <name>", "the tool that mcp calls (default: asyncgate.complete)"),
    keyArgument: option.orNone(
      option.word("--key-argument <name>", "the tool argument for the idempotency key, or none"),
    ),
    headers: option.repeated(
      "--header <name:value>",
      "send this header, which must not be a secret; none removes all headers",
    ),
    idHeader: option.word("--id-header <name>", "the header for the key (default: Idempotency-Key)"),
    tokenEnv: option.text("--token-env <name>", "the environment variable with the bearer token", {
      conflicts: ["tokenFile"],
    }),
    tokenFile: option.path(
      "--token-file <file>",
      "the file with the bearer token; changes take effect without a restart",
    ),
    noToken: option.flag("--no-token", "stop sending a token", { conflicts: ["tokenEnv", "tokenFile"] }),
    timeoutMs: option.duration("--timeout <duration>", "how long one attempt may take (default: 10s)"),
    answerBytesMax: option.count(
      "--max-answer <bytes>",
      "how much of a response is read (default: 1 MiB)",
      1,
    ),
    orderField: option.orNone(
      option.word(
        "--order-field <field>",
        "send receipts with the same value of this field one by one, or none",
      ),
    ),
  }),
  ...option.under("When an attempt fails", {
    retries: option.retries("how often a receipt is retried; 0 is never (default: 4)"),
    backoffBase: option.value(
      "--backoff-base <n>",
      "the base of the exponential wait in seconds (default: 2, so 2s 4s 8s 16s)",
      readNumber,
      {
        conflicts: ["backoff"],
      },
    ),
    ...sharedOptions,
  }),
  ...workerOptions,
  description,
};

function readNumber(given: string, name: string): number {
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given);
  throw userError("usage", `${name}: "${given}" is not a number.`, `Example: ${name} 2`);
}

/** Converts options to settings; empty if no option was given. */
export function targetSettingsFrom(context: Context, flags: Given<typeof targetOptions>): TargetSettings {
  const { headers, tokenEnv, tokenFile, noToken, ...settings } = flags;
  const token = tokenFrom(context, { tokenEnv, tokenFile, noToken });
  return { ...sharedSettings(settings), ...compact({ headers: headers && headersFrom(headers), token }) };
}

/** Returns the location of the token, never the token itself. The path is absolute, because other processes read it. */
function tokenFrom(
  { terminal: { cwd } }: Context,
  {
    tokenEnv,
    tokenFile,
    noToken,
  }: { tokenEnv: string | undefined; tokenFile: string | undefined; noToken: boolean },
): DeliverySettings["token"] {
  if (tokenEnv !== undefined) return { env: tokenEnv };
  if (tokenFile !== undefined) return { file: option.absolute(cwd, tokenFile) };
  return noToken ? null : undefined;
}

function headersFrom(lines: readonly string[]): DeliverySettings["headers"] {
  if (!lines.includes("none")) return Object.fromEntries(lines.map(headerFrom));
  if (lines.length === 1) return null;
  throw conflict("--header none", "other headers");
}

function headerFrom(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon > 0) return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  throw userError("usage", `--header: "${line}" has no colon.`, "Example: --header 'X-Team: billing'");
}
