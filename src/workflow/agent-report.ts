/**
 * What the failure of an agent means, from its log: turned away by a limit, by its account, by a service in trouble, or
 * simply failed. What the log says in fields is believed first, words only when there is nothing else.
 */
import type { ErrorTypeName } from "../item/error-type.ts";
import { compact } from "../item/failure.ts";
import { clampDelayMs } from "../retry/backoff.ts";
import type { ReportedFailure } from "../retry/reported-failure.ts";
import { type AgentError, type AgentSummary, epochMs } from "./agent-log.ts";

/** As if the agent had reported it itself. A limit that was met on the way to a success is no failure. */
export function agentReport(
  { error, limit }: AgentSummary,
  hasFailed: boolean,
  now: number,
): ReportedFailure | undefined {
  if (!error && !(limit && hasFailed)) return undefined;
  const type = limit ? "RateLimited" : typeOf(error);
  const endsAt = limit?.endsAt ?? (type === "RateLimited" ? endOfLimit(error?.message ?? "") : undefined);
  return compact({
    type: { name: type },
    class: type === "RateLimited" ? "throttled" : undefined,
    message: error?.message ?? "the agent's limit is reached",
    retryAfterMs: endsAt === undefined ? undefined : clampDelayMs(endsAt - now),
  });
}

function typeOf(error: AgentError | undefined): ErrorTypeName {
  const { kind = "", httpStatus, message = "" } = error ?? {};
  return TYPE_OF_KIND[kind.replace(/_error$/, "")] ?? typeOfStatus(httpStatus) ?? typeOfText(message);
}

/** The names of errors in the log and in the API, without `_error`. */
const TYPE_OF_KIND: Readonly<Record<string, ErrorTypeName>> = {
  rate_limit: "RateLimited",
  overloaded: "RateLimited",
  authentication: "PermissionError",
  authentication_failed: "PermissionError",
  permission: "PermissionError",
  billing: "PermissionError",
  server: "ServerError",
  api: "ServerError",
};

function typeOfStatus(status: number | undefined): ErrorTypeName | undefined {
  if (status === 429 || status === 529) return "RateLimited";
  if (status === 401 || status === 403) return "PermissionError";
  return status !== undefined && status >= 500 ? "ServerError" : undefined;
}

/** An API error quotes its status and its JSON; a limit of the account is only said in words. */
function typeOfText(text: string): ErrorTypeName {
  const quoted = /"type"\s*:\s*"([a-z_]+)_error"/.exec(text)?.[1];
  const status = /\bAPI Error:?\s*\(?(\d{3})\b/.exec(text)?.[1];
  const known = TYPE_OF_KIND[quoted ?? ""] ?? typeOfStatus(status === undefined ? undefined : Number(status));
  if (known) return known;
  return /\b(?:usage|rate|session|weekly) limit\b|hit your limit|\boverloaded\b/i.test(text)
    ? "RateLimited"
    : "CommandFailed";
}

/** `… limit reached|1760000000` names the second at which it ends. */
function endOfLimit(text: string): number | undefined {
  const time = /limit reached\s*\|\s*(\d{10,13})\b/i.exec(text)?.[1];
  return time === undefined ? undefined : epochMs(Number(time));
}
