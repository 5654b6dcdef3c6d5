/**
 * The definition of an API route as data, from which validation, the OpenAPI document, the client and the
 * tests are derived.
 */
import type * as z from "zod";
import type { ErrorCode } from "../../errors.ts";

/** The roles, weakest first. Each role includes the permissions of the roles before it. */
export const ROLES = ["viewer", "operator", "admin"] as const;
/** One of `ROLES`. */
export type Role = (typeof ROLES)[number];

/** Errors of the request itself, in addition to the codes of `RedriveError`. */
export const REQUEST_CODES = [
  "unauthorized", // no token or session, or one that is unknown, expired or revoked
  "forbidden", // the role does not allow this
  "origin_refused", // a change requested by another web site in the user's browser
  "host_unknown", // the Host header does not name this server
  "route_not_found",
  "method_not_allowed",
  "request_malformed", // the body is not JSON, or the path or the query cannot be decoded
  "request_invalid", // a value has the wrong type, or a field is unknown
  "body_too_large",
  "media_type_unsupported",
  "precondition_failed", // If-Match names another revision
  "precondition_required", // If-Match is missing
  "range_invalid",
  "selection_changed", // the selection now matches other letters than the preview showed
  "selection_used", // the selection was started, cancelled, or has expired
  "selection_unbounded", // neither a filter nor `all_of_queue` was given
  "key_reused", // the Idempotency-Key was used for another request
  "key_in_use", // the first request with this Idempotency-Key has not ended, or its result is unknown
  "rate_limited",
  "disabled", // disabled on this server
  "internal", // a bug; its details are in the log under the reference
] as const;
/** One of `REQUEST_CODES`. */
export type RequestCode = (typeof REQUEST_CODES)[number];

export type ProblemCode = ErrorCode | RequestCode;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A response that is not a single JSON document. */
export interface StreamResponse {
  readonly contentType: string;
  readonly description: string;
}

export interface RouteSpec {
  /** The operation id in the OpenAPI document. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** `public` needs no authentication. */
  readonly role: Role | "public";
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The body is streamed to the handler and not parsed. */
  readonly bodyType?: string;
  /** The schema of the JSON document, or a description of the stream. */
  readonly response: z.ZodType | StreamResponse;
  /** Default 200. */
  readonly status?: number;
  /** Problem codes that this route can return, in addition to the common ones. */
  readonly errors: readonly ProblemCode[];
  /** The request needs `If-Match`, and the corresponding read route returns the `ETag`. */
  readonly needsRevision?: boolean;
  /** The request is idempotent, so an interrupted request may be repeated. */
  readonly isRepeatable?: boolean;
  /**
   * The response depends only on the path, the query and the role, so that equal concurrent requests can
   * share one read.
   */
  readonly isShared?: boolean;
}

/** The routes by method and path, e.g. `GET /letters/{queue}/{item_id}`. */
export type Routes = Readonly<Record<`${Method} /${string}`, RouteSpec>>;

export function isStream(response: RouteSpec["response"]): response is StreamResponse {
  return "contentType" in response;
}
