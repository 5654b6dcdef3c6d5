/**
 * Errors as HTTP responses (RFC 9457). The code compiles only if every error code has a status. Stack traces
 * are never sent.
 */
import { type ErrorCode, RedriveError } from "../errors.ts";
import { compact } from "../std/json.ts";
import type { ProblemCode, RequestCode } from "./contract/route.ts";

/** The HTTP status of every code. */
export const HTTP_STATUS: Readonly<Record<ProblemCode, number>> = {
  usage: 422,
  input_invalid: 422,
  filter_invalid: 422,
  command_not_found: 422,
  job_not_found: 404,
  item_not_found: 404,
  log_not_found: 404,
  operation_not_found: 404,
  group_not_found: 404,
  schedule_not_found: 404,
  ambiguous: 409,
  phase_failed: 409,
  job_running: 409,
  job_changed: 409,
  git_unusable: 409,
  git_refused: 409,
  copy_refused: 409,
  copy_differs: 409,
  lease_lost: 409,
  illegal_move: 409,
  item_exists: 409,
  item_dead: 409,
  receipt_conflict: 409,
  wait_timeout: 504,
  interrupted: 503,
  target_unreachable: 503,
  store_busy: 503,
  store_full: 503,
  store_readonly: 503,
  store_corrupt: 503,
  store_newer: 503,
  store_denied: 503,
  store_unavailable: 503,
  unauthorized: 401,
  forbidden: 403,
  origin_refused: 403,
  host_unknown: 421,
  route_not_found: 404,
  method_not_allowed: 405,
  request_malformed: 400,
  request_invalid: 422,
  body_too_large: 413,
  media_type_unsupported: 415,
  precondition_failed: 412,
  precondition_required: 428,
  range_invalid: 416,
  selection_changed: 409,
  selection_used: 409,
  selection_unbounded: 422,
  key_reused: 422,
  key_in_use: 409,
  rate_limited: 429,
  disabled: 403,
  internal: 500,
};

/** An error of the request itself, unlike a `RedriveError`, which comes from the requested action. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly code: RequestCode;
  readonly hint: string | undefined;
  /** The path of the invalid value, e.g. `query.limit`. */
  readonly field: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: RequestCode,
    message: string,
    more: {
      readonly hint?: string;
      readonly field?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.hint = more.hint;
    this.field = more.field;
    this.headers = more.headers ?? {};
  }
}

/** Converts an expected error to a response; undefined for a bug, which the caller logs with a reference. */
export function problemOf(error: unknown): Response | undefined {
  if (error instanceof RequestError) {
    const { code, message, hint, field, headers } = error;
    return problemResponse({ code, detail: message, ...compact({ hint, field }) }, headers);
  }
  if (!(error instanceof RedriveError)) return undefined;
  const { code, message, hint } = error;
  const headers = isTemporary(code) ? { "retry-after": "1" } : {};
  return problemResponse({ code, detail: message, ...compact({ hint }) }, headers);
}

function isTemporary(code: ErrorCode): boolean {
  return code === "store_busy" || code === "store_unavailable" || code === "target_unreachable";
}

export interface ProblemFields {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly hint?: string;
  readonly field?: string;
  /** The reference under which an internal error was logged. */
  readonly reference?: string;
}

export function problemResponse(
  { code, detail, ...more }: ProblemFields,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const status = HTTP_STATUS[code];
  const title = code.replaceAll("_", " ");
  const document = { type: `urn:redrive:problem:${code}`, title, status, detail, code, ...more };
  return new Response(`${JSON.stringify(document)}\n`, {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store", ...headers },
  });
}
