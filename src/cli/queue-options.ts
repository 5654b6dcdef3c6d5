/** The options that set how a queue or a target of receipts behaves. What cannot be read is refused before the store is opened. */
import type { DeliverySettings, TargetSettings } from "../delivery/target-settings.ts";
import { WorkError } from "../errors.ts";
import { PRIORITIES } from "../item/item.ts";
import type { QueueSettings } from "../queue/queue-settings.ts";
import { UNIQUE_RULES } from "../queue/queue-spec.ts";
import { compact } from "../std/json.ts";
import type { Given } from "./command.ts";
import type { Context } from "./context.ts";
import { readJsonFile } from "./json-input.ts";
import {
  absolute,
  backoff,
  breakerTimeoutMs,
  choice,
  count,
  duration,
  FAILURE_CHOICES,
  flag,
  onOutage,
  orNone,
  outageMsMax,
  path,
  perSecond,
  rate,
  repeated,
  retries,
  text,
  under,
  value,
  word,
} from "./options.ts";

/** What queues and targets have in common. `none` removes a setting. */
const sharedOptions = {
  backoff,
  lossesMax: count(
    "--max-losses <n>",
    "how often its worker may vanish before an item dies (default: 3; of receipts: 20)",
    1,
  ),
  breaker: orNone(
    count("--breaker <n>", "pause after this many failures in a row, or none (default: none)", 1),
  ),
  breakerTimeoutMs,
  onOutage,
  outageMsMax: orNone(outageMsMax),
};

const workerOptions = {
  leaseMs: duration(
    "--lease <duration>",
    "how long a worker may be silent before it loses its items (default: 8s)",
  ),
  rate: orNone(rate("what all workers together may start: 5/s, 100/m, 1000/h or none (default: none)")),
};

const description = word("--description <text>", "what it is for");

export const queueOptions = {
  ...under("When an item fails", {
    retries: retries("how often it is retried (default: 2)"),
    onItemFailure: choice(
      "--on-failure <action>",
      "when it is out of retries (default: dlq, a dead letter)",
      FAILURE_CHOICES,
    ),
    ...sharedOptions,
  }),
  ...under("Items", {
    priority: choice("--priority <priority>", "of items that come without one (default: normal)", PRIORITIES),
    unique: choice(
      "--unique <rule>",
      "an item whose key exists: reject it, return the existing one, or replace that one while it waits (default: reject)",
      UNIQUE_RULES,
    ),
    schema: orNone(word("--schema <file>", "a JSON Schema that the data of every item must match, or none")),
    expiresAfterMs: orNone(
      duration(
        "--expires-after <duration>",
        "how long after it is due an item expires, or none (default: none)",
      ),
    ),
  }),
  ...under("Workers", workerOptions),
  description,
};

export type QueueFlags = Given<typeof queueOptions>;

export function queueSettingsFrom({ terminal: { cwd } }: Context, flags: QueueFlags): QueueSettings {
  const { retries: maxRetries, schema, onItemFailure, priority, unique, expiresAfterMs } = flags;
  return compact({
    ...sharedSettings(flags),
    maxRetries,
    onItemFailure,
    priority,
    unique,
    schema: typeof schema === "string" ? readJsonFile(schema, { option: "--schema", cwd }) : schema,
    expiresAfterMs,
  });
}

type SharedFlags = Given<typeof sharedOptions & typeof workerOptions & { description: typeof description }>;

function sharedSettings(flags: SharedFlags) {
  const {
    backoff: wait,
    lossesMax,
    onOutage: outage,
    outageMsMax: longest,
    leaseMs,
    rate: pace,
    description: text,
  } = flags;
  return compact({
    backoff: wait,
    lossesMax,
    ...breakerFrom(flags),
    onOutage: outage,
    outageMsMax: longest,
    leaseMs,
    rate: pace && perSecond(pace),
    description: text,
  });
}

function breakerFrom({
  breaker: failures,
  breakerTimeoutMs: timeoutMs,
}: SharedFlags): Pick<QueueSettings, "breaker"> {
  if (failures === null) {
    if (timeoutMs === undefined) return { breaker: null };
    throw new WorkError("usage", "--breaker none and --breaker-timeout exclude each other.");
  }
  if (failures === undefined && timeoutMs === undefined) return {};
  return { breaker: compact({ timeoutMs, failureThreshold: failures }) };
}

export const targetOptions = {
  ...under("Where receipts go", {
    url: word("--url <url>", "the address, http or https"),
    protocol: choice("--protocol <protocol>", "a POST of JSON, or an MCP tool call (default: http)", [
      "http",
      "mcp",
    ]),
    tool: word("--tool <name>", "the tool that mcp calls (default: asyncgate.complete)"),
    keyArgument: orNone(
      word("--key-argument <name>", "the argument of the tool that takes the idempotency key, or none"),
    ),
    headers: repeated("--header <name:value>", "send this header, nothing secret; or none"),
    idHeader: word("--id-header <name>", "the header with the idempotency key (default: Idempotency-Key)"),
    tokenEnv: text("--token-env <name>", "send the bearer token of this environment variable", {
      conflicts: ["tokenFile"],
    }),
    tokenFile: path("--token-file <file>", "send the bearer token of this file; a new one needs no restart"),
    noToken: flag("--no-token", "send no token any more", { conflicts: ["tokenEnv", "tokenFile"] }),
    timeoutMs: duration("--timeout <duration>", "for one attempt (default: 10s)"),
    answerBytesMax: count(
      "--max-answer <bytes>",
      "read at most this much of an answer (default: 1048576)",
      1,
    ),
    orderField: orNone(
      word(
        "--order-field <field>",
        "send receipts with the same value in this field one after another, or none",
      ),
    ),
  }),
  ...under("When an attempt fails", {
    retries: retries("how often a receipt is retried; 0 is never (default: 4)"),
    backoffBase: value(
      "--backoff-base <n>",
      "wait powers of this number in seconds (default: 2, so 2s 4s 8s 16s)",
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
  throw new WorkError("usage", `${name}: "${given}" is not a number.`);
}

export type TargetFlags = Given<typeof targetOptions>;

/** Empty when nothing was given. */
export function targetSettingsFrom(context: Context, flags: TargetFlags): TargetSettings {
  const { url, protocol, tool, keyArgument, headers, idHeader, timeoutMs, answerBytesMax, orderField } =
    flags;
  const { retries: again, backoffBase } = flags;
  return compact({
    ...{ url, protocol, tool, keyArgument, idHeader, timeoutMs, answerBytesMax, orderField },
    headers: headers && headersFrom(headers),
    token: tokenFrom(context, flags),
    ...sharedSettings(flags),
    retries: again,
    backoffBase,
  });
}

/** Where the token is, never the token itself. The path is absolute, because other processes read it too. */
function tokenFrom(
  { terminal: { cwd } }: Context,
  { tokenEnv, tokenFile, noToken }: TargetFlags,
): DeliverySettings["token"] {
  if (tokenEnv !== undefined) return { env: tokenEnv };
  if (tokenFile !== undefined) return { file: absolute(cwd, tokenFile) };
  return noToken ? null : undefined;
}

function headersFrom(lines: readonly string[]): DeliverySettings["headers"] {
  if (!lines.includes("none")) return Object.fromEntries(lines.map(headerFrom));
  if (lines.length === 1) return null;
  throw new WorkError("usage", "--header none and other headers exclude each other.");
}

function headerFrom(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon > 0) return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  throw new WorkError("usage", `--header: "${line}" has no colon.`, {
    hint: "Write a name and a value: --header 'X-Team: billing'.",
  });
}
