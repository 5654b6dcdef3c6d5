/** Sends alert messages to webhooks, Slack, Teams and commands. Reads the channels' secrets from environment variables. */

import { lastLine, runProgram } from "../attempt/run-program.ts";
import { RedriveError } from "../errors.ts";
import { backoffMs } from "../retry/backoff.ts";
import { retryAfterMsOf } from "../retry/retry-after.ts";
import type { Clock } from "../std/clock.ts";
import type { Json, JsonObject } from "../std/json.ts";
import type { Random } from "../std/random.ts";
import { codeOf } from "../std/thrown.ts";
import { oneLine } from "../triage/clean.ts";
import { NEXT_STEP, type Notice, noticeToJson, OVER_TITLE, shownLines } from "./alert-message.ts";
import type { Channel, Severity } from "./alert-settings.ts";

/** The result of one attempt. `refused` is permanent; `failed` may be retried. A reason never contains a secret. */
export type SendResult =
  | { readonly kind: "sent" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number };

export type SendOptions = { readonly env: NodeJS.ProcessEnv; readonly stop: AbortSignal };

type CommandChannel = Extract<Channel, { type: "command" }>;
type WebChannel = Exclude<Channel, CommandChannel>;

/** Makes one attempt to send. Returns errors of the receiver instead of throwing them. */
export function send(channel: Channel, notice: Notice, options: SendOptions): Promise<SendResult> {
  const body = bodyFor(channel, notice);
  return channel.type === "command" ? runCommand(channel, body, options) : postJson(channel, body, options);
}

export function bodyFor({ type }: Channel, notice: Notice): JsonObject {
  if (type === "teams") return teamsBody(notice);
  return type === "slack" ? slackBody(notice) : noticeToJson(notice);
}

/** Throws a `usage` error when an environment variable that a channel needs is missing. */
export function requireSecrets(channels: readonly Channel[], env: NodeJS.ProcessEnv): void {
  for (const channel of channels) {
    if (channel.type === "command") continue;
    urlOf(channel, env);
    headersOf(channel, env);
  }
}

function urlOf({ name, to }: WebChannel, env: NodeJS.ProcessEnv): string {
  if ("url" in to) return to.url;
  const url = variable(name, to.urlEnv, env);
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new RedriveError("usage", `The channel ${name}: ${to.urlEnv} does not contain a webhook URL.`, {
    hint: "A webhook URL begins with https:// or http://.",
  });
}

function headersOf(channel: WebChannel, env: NodeJS.ProcessEnv): Record<string, string> {
  if (channel.type !== "webhook") return {};
  const headers = Object.entries(channel.headersEnv);
  return Object.fromEntries(headers.map(([header, from]) => [header, variable(channel.name, from, env)]));
}

function variable(channel: string, name: string, env: NodeJS.ProcessEnv): string {
  const value = env[name]?.trim();
  if (value) return value;
  throw new RedriveError(
    "usage",
    `The channel ${channel} needs the environment variable ${name}, which is not set.`,
    {
      hint: `Set ${name} where \`redrive watch\` is started, or remove the channel from redrive.yml.`,
    },
  );
}

/** `reason` is why the message was not sent. */
export type Delivery = { readonly ok: boolean; readonly tries: number; readonly reason?: string };
export type SentNotice = Delivery & { readonly channel: string; readonly notice: Notice };

export const TRIES_MAX = 5;
const BACKOFF = { kind: "exponential", initialMs: 1000, factor: 2, maxMs: 30_000, jitter: true } as const;
/** If the receiver requests a longer delay, the next check sends the message. */
const RETRY_AFTER_MS_MAX = 30_000;

/** Retries with backoff. If all attempts fail, the next check sends the message again. */
export async function deliver(
  send: () => Promise<SendResult>,
  { clock, random, stop }: { clock: Clock; random: Random; stop: AbortSignal },
): Promise<Delivery> {
  for (let tries = 1; ; tries += 1) {
    const result = await send();
    if (result.kind === "sent") return { ok: true, tries };
    const { reason } = result;
    const isLast = result.kind === "refused" || tries >= TRIES_MAX || stop.aborted;
    if (isLast || (result.retryAfterMs ?? 0) > RETRY_AFTER_MS_MAX) return { ok: false, tries, reason };
    await clock.sleep(Math.max(backoffMs(BACKOFF, tries, random), result.retryAfterMs ?? 0), stop);
    if (stop.aborted) return { ok: false, tries, reason };
  }
}

async function postJson(
  channel: WebChannel,
  body: JsonObject,
  { env, stop }: SendOptions,
): Promise<SendResult> {
  const { timeoutMs } = channel;
  const [url, headers] = [urlOf(channel, env), headersOf(channel, env)];
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([timeout, stop]),
    });
    const answer = masked(await shortText(response), [url, ...Object.values(headers)]);
    return resultOf(response, answer);
  } catch (error) {
    const reason = stop.aborted
      ? "the watcher was stopped"
      : timeout.aborted
        ? `no answer within ${timeoutMs} ms`
        : `it cannot be reached (${codeOf(Reflect.get(Object(error), "cause")) ?? "no connection"})`;
    return { kind: "failed", reason }; // contains only the code of the error, because its message may contain the URL
  }
}

/** Client errors are permanent, except these, which are temporary. */
const WORTH_ANOTHER_TRY = new Set([408, 425, 429]);

function resultOf(response: Response, answer: string): SendResult {
  const { status, ok } = response;
  if (ok) return { kind: "sent" };
  const reason = `it answered ${status}${answer === "" ? "" : `: ${answer}`}`;
  if (status < 500 && !WORTH_ANOTHER_TRY.has(status)) return { kind: "refused", reason };
  const retryAfterMs = retryAfterMsOf(response.headers.get("retry-after"), Date.now());
  return { kind: "failed", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

const ANSWER_CHARS_MAX = 120;

async function shortText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const { value } = await reader.read();
  await reader.cancel();
  const text = new TextDecoder().decode(value?.subarray(0, ANSWER_CHARS_MAX * 4));
  return oneLine(text, ANSWER_CHARS_MAX);
}

const SECRET_CHARS_MIN = 4;

function masked(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap((secret) => [secret, ...secret.split(/[/\s?&=]+/)])
    .filter((part) => part.length >= SECRET_CHARS_MIN && !/^https?:$/.test(part))
    .sort((a, b) => b.length - a.length)
    .reduce((clean, part) => clean.replaceAll(part, "***"), text);
}

async function runCommand(
  { command, cwd, timeoutMs }: CommandChannel,
  body: JsonObject,
  { stop: signal }: SendOptions,
): Promise<SendResult> {
  const input = `${JSON.stringify(body)}\n`;
  const ended = await runProgram({ command, cwd, timeoutMs, signal, input, ignoresOutput: true });
  if (ended.code === 0 && ended.why === undefined) return { kind: "sent" };
  const end = ended.code === null ? ended.signal : `exit code ${ended.code}`;
  return { kind: "failed", reason: `${command[0]} ${ended.why ?? `ended with ${end}${lastLine(ended)}`}` };
}

const SIGNS: Readonly<Record<Severity, string>> = {
  info: ":white_check_mark:",
  warning: ":warning:",
  critical: ":rotating_light:",
};

function slackBody(notice: Notice): JsonObject {
  const { title, severity, wrong, over, store } = notice;
  const [first = ""] = shownLines([...wrong, ...over]);
  const blocks: Json[] = [
    { type: "header", text: { type: "plain_text", text: title } },
    ...sections(shownLines(wrong), SIGNS[severity]),
    ...(wrong.length > 0 && over.length > 0 ? [section(`*${OVER_TITLE}*`)] : []),
    ...sections(shownLines(over), SIGNS.info),
    {
      type: "context",
      elements: [{ type: "mrkdwn", text: escaped(wrong.length > 0 ? `${NEXT_STEP}\n${store}` : store) }],
    },
  ];
  return { text: escaped(`${title}: ${first}`), blocks };
}

/** Slack allows at most 3,000 characters per section. */
const SECTION_CHARS_MAX = 2900;

function sections(lines: readonly string[], sign: string): readonly JsonObject[] {
  const texts: string[] = [];
  for (const line of lines.map((one) => `${sign} ${escaped(one)}`)) {
    const last = texts.at(-1);
    if (last !== undefined && last.length + line.length < SECTION_CHARS_MAX)
      texts[texts.length - 1] = `${last}\n${line}`;
    else texts.push(line.slice(0, SECTION_CHARS_MAX));
  }
  return texts.map(section);
}

function section(text: string): JsonObject {
  return { type: "section", text: { type: "mrkdwn", text } };
}

/** Escapes the characters that Slack interprets, so that a queue name cannot become a link or notify everybody. */
function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

const COLORS: Readonly<Record<Severity, string>> = {
  info: "Good",
  warning: "Warning",
  critical: "Attention",
};

function teamsBody(notice: Notice): JsonObject {
  const { title, severity, wrong, over, store, at } = notice;
  const body: Json[] = [
    block(title, { size: "Large", weight: "Bolder", color: COLORS[severity] }),
    ...shownLines(wrong).map((line) => block(line, { spacing: "Small" })),
    ...(wrong.length > 0 && over.length > 0 ? [block(OVER_TITLE, { weight: "Bolder", color: "Good" })] : []),
    ...shownLines(over).map((line) => block(line, { spacing: "Small" })),
    ...(wrong.length > 0 ? [block(NEXT_STEP, { isSubtle: true })] : []),
    block(`${store} · ${new Date(at).toISOString()}`, { isSubtle: true, size: "Small" }),
  ];
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    msteams: { width: "Full" },
    body,
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

function block(text: string, style: JsonObject): JsonObject {
  return { type: "TextBlock", text: plain(text), wrap: true, ...style };
}

/** Escapes Markdown, which Teams cards use, so that a queue name cannot become emphasis or a link. */
function plain(text: string): string {
  return text.replace(/[\\*_[\]`~]/g, "\\$&");
}
