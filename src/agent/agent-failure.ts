/** Converts the error or the limit in an agent's stream to a failure report. */
import type { ErrorTypeName } from "../item/error-type.ts";
import { clampDelayMs } from "../retry/backoff.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { compact } from "../std/json.ts";
import type { AgentError, AgentReport } from "./agent-record.ts";
import { epochMs } from "./formats/claude.ts";

/** A limit is ignored when the agent succeeded anyway. */
export function agentFailure(
  { error, limit }: Pick<AgentReport, "error" | "limit">,
  hasFailed: boolean,
  now: number,
): ReportedFailure | undefined {
  if (!error && !(limit && hasFailed)) return undefined;
  const type = limit ? "RateLimited" : typeOf(error);
  const endsAt =
    limit?.endsAt ?? (type === "RateLimited" ? endOfLimit(error?.message ?? "", now) : undefined);
  return compact({
    type: { name: type },
    class: type === "RateLimited" ? "throttled" : undefined,
    message: error?.message ?? "the agent has reached its limit",
    retryAfterMs: endsAt === undefined ? undefined : clampDelayMs(endsAt - now),
  });
}

/**
 * Agents may exit with 0 although they were interrupted. Only the final message of the stream proves that
 * they finished.
 */
export function unfinishedFailure({ error }: Pick<AgentReport, "error">): ReportedFailure {
  const because = error === undefined ? "" : `: ${error.message}`;
  return {
    type: { name: "CommandFailed" },
    message: `the agent ended without a final result${because}`,
  };
}

function typeOf(error: AgentError | undefined): ErrorTypeName {
  const { kind = "", httpStatus, message = "" } = error ?? {};
  return TYPE_OF_KIND[kind.replace(/_error$/, "")] ?? typeOfStatus(httpStatus) ?? typeOfText(message);
}

const TYPE_OF_KIND: Readonly<Record<string, ErrorTypeName>> = {
  ...{ rate_limit: "RateLimited", overloaded: "RateLimited", server: "ServerError", api: "ServerError" },
  ...{ authentication: "PermissionError", authentication_failed: "PermissionError" },
  ...{ permission: "PermissionError", billing: "PermissionError", ProviderAuthError: "PermissionError" },
  ...{ TerminalQuotaError: "RateLimited", RetryableQuotaError: "RateLimited" },
};

function typeOfStatus(status: number | undefined): ErrorTypeName | undefined {
  if (status === 429 || status === 529) return "RateLimited";
  if (status === 401 || status === 403) return "PermissionError";
  return status !== undefined && status >= 500 ? "ServerError" : undefined;
}

/** Messages of accounts and services that reject requests because of a limit. No stream has a code for them. */
const LIMIT_TEXT =
  /\b(?:usage|rate|session|weekly) limit\b|hit your (?:limit|spend cap)|\boverloaded\b|\bquota exceeded\b|\bat capacity\b|\bout of credits\b|\bhigh demand\b/i;

/** API errors contain their status and JSON. Account limits can only be recognized by their wording. */
function typeOfText(text: string): ErrorTypeName {
  const quoted = /"type"\s*:\s*"([a-z_]+)_error"/.exec(text)?.[1];
  const status = /\bAPI Error:?\s*\(?(\d{3})\b/.exec(text)?.[1];
  const known = TYPE_OF_KIND[quoted ?? ""] ?? typeOfStatus(status === undefined ? undefined : Number(status));
  if (known !== undefined) return known;
  if (LIMIT_TEXT.test(text)) return "RateLimited";
  return /\bstream disconnected\b/i.test(text) ? "TransportError" : "CommandFailed";
}

/** `… limit reached|1760000000` has seconds; `try again at 3:05 PM` or `at Nov 17th, 2026 3:05 PM` is local time. */
function endOfLimit(text: string, now: number): number | undefined {
  const time = /limit reached\s*\|\s*(\d{10,13})\b/i.exec(text)?.[1];
  if (time !== undefined) return epochMs(Number(time));
  const [, date, clock] =
    /try again at ((?:[A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), \d{4} )?(\d{1,2}:\d{2} [AP]M)/i.exec(text) ?? [];
  if (clock === undefined) return undefined;
  const day = date === undefined ? new Date(now).toDateString() : date.replace(/(?:st|nd|rd|th),/, ",");
  const at = Date.parse(`${day} ${clock}`);
  if (Number.isNaN(at)) return undefined;
  return date === undefined && at <= now ? at + 24 * 60 * 60 * 1000 : at;
}
