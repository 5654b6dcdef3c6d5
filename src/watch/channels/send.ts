/** From a channel and a message to one try to send it. What a channel needs from the environment is looked up here. */
import { WorkError } from "../../errors.ts";
import type { JsonObject } from "../../kit/json.ts";
import { type Notice, noticeToJson } from "../notice.ts";
import type { Channel, UrlSource } from "../settings.ts";
import { postJson } from "./post.ts";
import { runCommand } from "./run-command.ts";
import { slackBody } from "./slack.ts";
import { teamsBody } from "./teams.ts";

/** What became of one try. `refused` will not change by itself; `failed` may. No secret is in a reason. */
export type SendResult =
  | { readonly kind: "sent" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfterMs?: number };

export interface SendOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
}

/** One try. It never rejects for what the other side does. */
export function send(channel: Channel, notice: Notice, { env, stop }: SendOptions): Promise<SendResult> {
  const { timeoutMs } = channel;
  const body = bodyFor(channel, notice);
  if (channel.type === "command") {
    return runCommand({ command: channel.command, cwd: channel.cwd, body, timeoutMs, stop });
  }
  return postJson({ url: urlOf(channel, env), headers: headersOf(channel, env), body, timeoutMs, stop });
}

/** What is sent, in the form that the channel takes. */
export function bodyFor({ type }: Channel, notice: Notice): JsonObject {
  if (type === "teams") return teamsBody(notice);
  return type === "slack" ? slackBody(notice) : noticeToJson(notice);
}

/** A usage error when a variable that a channel needs is not there, before anything depends on it. */
export function requireSecrets(channels: readonly Channel[], env: NodeJS.ProcessEnv): void {
  for (const channel of channels) {
    if (channel.type === "command") continue;
    urlOf(channel, env);
    headersOf(channel, env);
  }
}

function urlOf(
  { name, to }: { readonly name: string; readonly to: UrlSource },
  env: NodeJS.ProcessEnv,
): string {
  if ("url" in to) return to.url;
  const url = variable(name, to.urlEnv, env);
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new WorkError("usage", `The channel ${name}: what ${to.urlEnv} has is not the URL of a webhook.`, {
    hint: "It begins with https:// or http://.",
  });
}

function headersOf(channel: Channel, env: NodeJS.ProcessEnv): Record<string, string> {
  if (channel.type !== "webhook") return {};
  const headers = Object.entries(channel.headersEnv);
  return Object.fromEntries(headers.map(([header, from]) => [header, variable(channel.name, from, env)]));
}

function variable(channel: string, name: string, env: NodeJS.ProcessEnv): string {
  const value = env[name]?.trim();
  if (value) return value;
  throw new WorkError(
    "usage",
    `The channel ${channel} needs the environment variable ${name}, which is not set.`,
    {
      hint: `Set ${name} where redrive watch is started, or take the channel out of redrive.yml.`,
    },
  );
}
