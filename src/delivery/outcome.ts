/** Maps a response, or a missing one, to the outcome of a delivery. Interprets plain text only as a last resort. Pure. */
import { classOfType, type ErrorClass, type ErrorType } from "../item/error-type.ts";
import type { ReceiptStatus } from "../item/receipt.ts";
import { classifyHttp, classifyJsonRpc, type Kind } from "../retry/classify.ts";
import { retryAfterMsOf } from "../retry/retry-after.ts";
import { compact, isJsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { jsonOf, type Meaning, readSaid, type Said } from "./error-body.ts";

/** The outcome of one delivery attempt. */
export type DeliveryOutcome =
  /** `isRepeat`: the receiver had already processed the receipt. */
  { readonly status: "delivered"; readonly isRepeat?: true } | NotDelivered;

/** Why a delivery attempt failed. */
export interface NotDelivered {
  readonly status: Exclude<ReceiptStatus, "delivered">;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  /** A one-line description for people. */
  readonly message: string;
  /** The delay that the receiver requested. */
  readonly retryAfterMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
  /** Whether the body is complete, cut off, or longer than allowed. */
  readonly end: "whole" | "cut" | "oversized";
}

export interface Asked {
  readonly key: string;
  /** The current time in milliseconds since the epoch, because `Retry-After` may be a date. */
  readonly now: number;
}

export function outcomeOfHttp(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status, location } = answer;
  if (status >= 200 && status <= 299) return outcomeOfSuccess(answer, asked);
  if (status >= 300 && status <= 399) {
    // The protocol has already followed the redirects that it may follow.
    const to = location === undefined ? "without a location" : `to ${oneLine(location, 200)}`;
    const message = `${titleOf(answer)}, a redirect ${to} that is not followed`;
    return notDelivered("refused", { name: "ClientError", fields: { http_status: status } }, { message });
  }
  const said = readSaid(answer.body, asked.now);
  const text = oneLine(said.message ?? answer.body, MESSAGE_CHARS_MAX);
  return outcomeOfStatus(status, {
    said,
    message: text === "" ? titleOf(answer) : `${titleOf(answer)}: ${text}`,
    retryAfterMs: retryAfterMsOf(answer.retryAfter, asked.now),
    key: asked.key,
  });
}

const PAGES = ["text/html", "application/xhtml+xml"];

/** A 2xx response means delivered, unless it contains an error, is cut off, or is an HTML page from a proxy or a login page. */
function outcomeOfSuccess(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status, body, end } = answer;
  const lost = (why: string) => outcomeOfLostAnswer(`HTTP ${status}: the answer ${why}`);
  if (end === "oversized") return lost("is longer than allowed");
  if (end === "cut") return lost(`ended after ${body.length} characters`);
  const type = (answer.contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (PAGES.includes(type)) return lost(`is a web page (${type}), not a service response`);
  const json = jsonOf(body);
  const isJsonType = type === "application/json" || type.endsWith("+json");
  if (json === undefined && isJsonType && body.trim() !== "")
    return lost("is not JSON, although its type is JSON");
  return outcomeOfMessage(json, asked) ?? { status: "delivered" };
}

/** Returns the outcome of a JSON-RPC error or a failed tool result; undefined when the message is not an error. */
export function outcomeOfMessage(json: unknown, asked: Asked): DeliveryOutcome | undefined {
  const message = objectOf(json);
  const error = objectOf(message?.error);
  if (error !== undefined && Number.isInteger(error.code)) {
    const { code, data } = error;
    return outcomeOfRpcError({ code: code as number, message: textOf(error.message), data }, asked);
  }
  const result = message !== undefined && "result" in message ? objectOf(message.result) : message;
  return result?.isError === true ? outcomeOfToolError(result, asked) : undefined;
}

/** A JSON-RPC error. Servers usually send it with HTTP status 200. */
export type RpcError = { readonly code: number; readonly message: string; readonly data?: unknown };

/** Interprets codes from 400 to 599 as HTTP statuses, others by their `data`, else by the JSON-RPC specification. */
export function outcomeOfRpcError({ code, message, data }: RpcError, { key, now }: Asked): DeliveryOutcome {
  const said = readSaid(data, now);
  const line = `JSON-RPC error ${code}: ${oneLine(message, MESSAGE_CHARS_MAX) || "without a message"}`;
  const answer = { said, message: line, key };
  if (code >= 400 && code <= 599) return outcomeOfStatus(code, answer);
  const kind = classifyJsonRpc(code);
  const known = outcomeOfMeaning(answer, kind);
  if (known !== undefined) return known;
  if (kind.errorClass === "unknown" && isRefusal(message, now))
    return notDelivered("refused", { name: "ClientError", fields: { json_rpc_code: code } }, answer);
  return outcomeOfKind(kind, answer);
}

/** Interprets a tool result with `isError` by its structured content, else by JSON in its text, else by the text. */
function outcomeOfToolError(result: Readonly<Record<string, unknown>>, { key, now }: Asked): DeliveryOutcome {
  const text = toolText(result);
  const structured = result.structuredContent ?? jsonOf(text);
  const said = readSaid(structured ?? text, now);
  const message = `The tool answered with an error: ${oneLine(said.message ?? text, MESSAGE_CHARS_MAX) || "without a message"}`;
  const answer = { said, message, key };
  if (said.status !== undefined) return outcomeOfStatus(said.status, answer);
  const wrapped = /^MCP error (-?\d{1,9}):/.exec(text); // how servers that use the SDK report invalid arguments
  if (structured === undefined && wrapped !== null)
    return outcomeOfKind(classifyJsonRpc(Number(wrapped[1])), { message });
  const known = outcomeOfMeaning(answer, { name: "RateLimited" });
  if (known !== undefined) return known;
  if (said.isCoded || isRefusal(said.message, now))
    return notDelivered("refused", { name: "ClientError" }, answer);
  return notDelivered("server_error", { name: "ServerError", errorClass: "unknown" }, answer);
}

function outcomeOfKind(kind: Kind, answer: Pick<Answer, "message">): NotDelivered {
  return notDelivered(kind.name === "ClientError" ? "refused" : "server_error", kind, answer);
}

/** Whether the text reports an invalid argument, lease or permission, so that a retry cannot succeed. */
function isRefusal(text: string | undefined, now: number): boolean {
  return text !== undefined && readSaid(text, now).meaning === "client";
}

function toolText({ content }: Readonly<Record<string, unknown>>): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => textOf(objectOf(part)?.text)).join("\n");
}

interface Answer {
  readonly said: Said;
  readonly message: string;
  readonly key: string;
  /** The delay from a header, which takes precedence over the body. */
  readonly retryAfterMs?: number | undefined;
}

/** Maps any status other than 2xx and 3xx, whether it is the HTTP status or a field of the body. */
export function outcomeOfStatus(status: number, given: Answer): DeliveryOutcome {
  const { said } = given;
  const answer = { ...given, retryAfterMs: given.retryAfterMs ?? said.retryAfterMs };
  const kind = classifyHttp(status);
  if (status < 500 && said.isCoded) {
    // An error code is more precise than the status: services report duplicates as 400, 404, 410 or 422, and limits as 403.
    if (isRepeat(answer)) return { status: "delivered", isRepeat: true };
    if (said.meaning === "rate_limit") return throttled(kind, answer);
  }
  switch (status) {
    case 401:
    case 403:
    case 407:
      return notDelivered("auth", { ...kind, name: "PermissionError" }, answer);
    case 408: // the server timed out while it read the request, and processed nothing
    case 425: // Too Early: the server rejects a request that may be a replay; a retry is not one
      return notDelivered("server_error", kind, answer);
    case 409:
      return conflicting(kind, answer);
    case 429:
      return throttled(kind, answer);
    case 502:
    case 503:
    case 504: // a proxy reports that the service is unavailable
      if (answer.retryAfterMs !== undefined) return throttled(kind, answer);
      return notDelivered("server_error", { ...kind, errorClass: "outage" }, answer);
    default:
      if (status >= 500) return notDelivered("server_error", kind, answer);
      return notDelivered("refused", { ...kind, name: "ClientError" }, answer);
  }
}

/**
 * A 409 means delivered if the receipt was processed before, according to a code such as `already_completed` or `duplicate`,
 * or to the text if there is no code. If an earlier attempt is still in progress, the receipt is retried. Any other 409 is a
 * refusal.
 */
function conflicting(kind: Kind, answer: Answer): DeliveryOutcome {
  if (isRepeat(answer)) return { status: "delivered", isRepeat: true };
  if (answer.said.meaning !== "in_progress" || !isOurs(answer)) return notDelivered("refused", kind, answer);
  const { retryAfterMs } = answer.said;
  return notDelivered("server_error", { ...kind, errorClass: "transient" }, { ...answer, retryAfterMs });
}

function isRepeat(answer: Answer): boolean {
  return answer.said.meaning === "already" && isOurs(answer);
}

/** Whether the response refers to this receipt. A response with another key refers to another receipt. */
function isOurs({ said, key }: Answer): boolean {
  return said.key === undefined || said.key === key;
}

const OF_MEANING: Readonly<Record<Meaning, readonly [NotDelivered["status"], Kind]>> = {
  already: ["refused", { name: "ClientError" }],
  rate_limit: ["throttled", { name: "RateLimited", errorClass: "throttled" }],
  auth: ["auth", { name: "PermissionError" }],
  in_progress: ["server_error", { name: "ServerError", errorClass: "transient" }],
  unavailable: ["server_error", { name: "ServerError", errorClass: "outage" }],
  server: ["server_error", { name: "ServerError" }],
  client: ["refused", { name: "ClientError" }],
};

/** Maps a recognised code or text when there is no status. `kind` applies when the response only requests a delay. */
function outcomeOfMeaning(answer: Answer, kind: Kind): DeliveryOutcome | undefined {
  const { meaning, retryAfterMs } = answer.said;
  if (isRepeat(answer)) return { status: "delivered", isRepeat: true };
  const waiting = { ...answer, retryAfterMs };
  if (meaning === undefined) return retryAfterMs === undefined ? undefined : throttled(kind, waiting);
  const [status, known] = OF_MEANING[meaning];
  if (meaning === "unavailable" && retryAfterMs !== undefined) return throttled(known, waiting);
  return notDelivered(status, known, waiting);
}

/** The receiver was not reached and nothing was sent. Counts as an outage. */
export function outcomeOfNoConnection(message: string, errno?: string): NotDelivered {
  return outcomeOfTransport("transport_error", "outage", { message, errno });
}

/** The receipt was sent, but the result is unknown, so it is sent again with the same key. */
export function outcomeOfLostAnswer(message: string, errno?: string): NotDelivered {
  return outcomeOfTransport("unknown", "transient", { message, errno });
}

function outcomeOfTransport(
  status: NotDelivered["status"],
  errorClass: ErrorClass,
  { message, errno }: { message: string; errno: string | undefined },
) {
  const fields = errno === undefined ? {} : { fields: { errno } };
  return notDelivered(status, { name: "TransportError", errorClass, ...fields }, { message });
}

function throttled(kind: Kind, answer: Pick<Answer, "message" | "retryAfterMs">): NotDelivered {
  return notDelivered("throttled", { ...kind, errorClass: "throttled" }, answer);
}

/** Omits the retry delay for refusals and auth errors, which are not retried. */
function notDelivered(
  status: NotDelivered["status"],
  { name, fields, errorClass = classOfType(name) }: Kind,
  { message, retryAfterMs }: Pick<Answer, "message" | "retryAfterMs">,
): NotDelivered {
  const errorType: ErrorType = fields === undefined ? { name } : { name, fields };
  const isFinal = status === "refused" || status === "auth";
  const wait = isFinal ? undefined : retryAfterMs;
  return compact({ status, errorType, errorClass, message, retryAfterMs: wait });
}

const MESSAGE_CHARS_MAX = 300;

function titleOf({ status, statusText }: HttpAnswer): string {
  return `HTTP ${status}${statusText === "" ? "" : ` ${oneLine(statusText, 60)}`}`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isJsonObject(value) ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
