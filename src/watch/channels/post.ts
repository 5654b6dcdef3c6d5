/**
 * Posts JSON to a webhook, once. It follows no redirect, for the address and the headers are secrets, and nothing of them
 * is in what it says went wrong.
 */
import type { JsonObject } from "../../kit/json.ts";
import type { SendResult } from "./send.ts";

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
}

export async function postJson({ url, headers, body, timeoutMs, stop }: Post): Promise<SendResult> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([timeout, stop]),
    });
    const said = masked(await shortText(response), [url, ...Object.values(headers)]);
    return resultOf(response, said);
  } catch (error) {
    if (stop.aborted) return { kind: "failed", reason: "the watcher was stopped" };
    if (timeout.aborted) return { kind: "failed", reason: `no answer within ${timeoutMs} ms` };
    return { kind: "failed", reason: `it cannot be reached (${codeOf(error)})` };
  }
}

/** What a request that was made wrongly gets will not change by itself; these two are about time, not about the request. */
const WORTH_ANOTHER_TRY = new Set([408, 425, 429]);

function resultOf(response: Response, said: string): SendResult {
  const { status, ok } = response;
  if (ok) return { kind: "sent" };
  const reason = `it answered ${status}${said === "" ? "" : `: ${said}`}`;
  if (status < 500 && !WORTH_ANOTHER_TRY.has(status)) return { kind: "refused", reason };
  const retryAfterMs = retryAfterOf(response.headers.get("retry-after"));
  return { kind: "failed", reason, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

function retryAfterOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text.trim())) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

const SAID_CHARS_MAX = 120;

/** The beginning of the answer; the rest is not read. */
async function shortText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const { value } = await reader.read();
  await reader.cancel();
  const text = new TextDecoder().decode(value?.subarray(0, SAID_CHARS_MAX * 4));
  return text
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim()
    .slice(0, SAID_CHARS_MAX);
}

const SECRET_CHARS_MIN = 4;

function masked(text: string, secrets: readonly string[]): string {
  return secrets
    .flatMap((secret) => [secret, ...secret.split(/[/\s?&=]+/)])
    .filter((part) => part.length >= SECRET_CHARS_MIN && !/^https?:$/.test(part))
    .sort((a, b) => b.length - a.length)
    .reduce((clean, part) => clean.replaceAll(part, "***"), text);
}

/** The code alone: the message of such an error may name the address. */
function codeOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === "string" ? cause.code : "no connection";
}
