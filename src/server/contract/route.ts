/** What a route of the API is: data, from which the checks, the OpenAPI document, the client and the tests are made. */
import type * as z from "zod";
import type { ErrorCode } from "../../errors.ts";

/** The roles, weakest first. A role may do everything that the roles before it may do. */
export const ROLES = ["viewer", "operator", "admin"] as const;
/** One of `ROLES`. */
export type Role = (typeof ROLES)[number];

/** Errors of requests themselves, in addition to the codes of `RedriveError`. */
export const REQUEST_CODES = [
  "unauthorized", // no token or session, or one that is unknown, expired or revoked
  "forbidden", // the role does not allow this
  "origin_refused", // a change that another web site asked the browser to make
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
  "selection_changed", // the selection now matches other letters than its preview showed
  "selection_used", // the selection was started, cancelled, or has expired
  "selection_unbounded", // no filter, and no word that all letters are meant
  "key_reused", // the Idempotency-Key was used for another request
  "key_in_use", // the first request with the Idempotency-Key has not ended, or its result is unknown
  "rate_limited",
  "disabled", // this server is not allowed to do that
  "internal", // a bug; the log has the details under the reference
] as const;
/** One of `REQUEST_CODES`. */
export type RequestCode = (typeof REQUEST_CODES)[number];

export type ProblemCode = ErrorCode | RequestCode;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** A response that is not one JSON document. */
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
  /** Problem codes that the route can return, in addition to those that every route can return. */
  readonly errors: readonly ProblemCode[];
  /** The request needs `If-Match`, and the response of the read route has the `ETag`. */
  readonly needsRevision?: boolean;
  /** Sending the request twice has the effect of sending it once, so an interrupted request may be repeated. */
  readonly isRepeatable?: boolean;
  /** The answer depends only on the path, the query and the role, so equal requests that wait together share one read. */
  readonly isShared?: boolean;
}

/** The routes by method and path, e.g. `GET /letters/{queue}/{item_id}`. */
export type Routes = Readonly<Record<`${Method} /${string}`, RouteSpec>>;

export function isStream(response: RouteSpec["response"]): response is StreamResponse {
  return "contentType" in response;
}
