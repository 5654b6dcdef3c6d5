/** Maps an answer, or the lack of one, to the outcome of a delivery. Text is read only where there is nothing else. Pure. */
import { classOfType, type ErrorClass, type ErrorType } from "../item/error-type.ts";
import type { ReceiptStatus } from "../item/receipt.ts";
import { classifyHttp, classifyJsonRpc, type Kind } from "../retry/classify.ts";
import { compact, isJsonObject } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { jsonOf, type Meaning, readSaid, retryAfterMsOf, type Said } from "./error-body.ts";

/** The outcome of one attempt. */
export type DeliveryOutcome =
  /** `isRepeat`: the receiver had it already. */
  { readonly status: "delivered"; readonly isRepeat?: true } | NotDelivered;

/** Why an attempt did not deliver. */
export interface NotDelivered {
  readonly status: Exclude<ReceiptStatus, "delivered">;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  /** One line for people. */
  readonly message: string;
  /** The wait that the receiver asked for. */
  readonly retryAfterMs?: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
  /** Whether the body came to its end, broke off, or was longer than allowed. */
  readonly end: "whole" | "cut" | "oversized";
}

/** What the meaning of an answer depends on besides the answer. */
export interface Asked {
  readonly key: string;
  /** Milliseconds since the epoch: `Retry-After` may be a date. */
  readonly now: number;
}

export function outcomeOfHttp(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status, location } = answer;
  if (status >= 200 && status <= 299) return outcomeOfSuccess(answer, asked);
  if (status >= 300 && status <= 399) {
    // Redirects that keep the method and the host were followed before.
    const to = location === undefined ? "without saying where" : `to ${oneLine(location, 200)}`;
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

/** 2xx delivers, unless the answer contains an error, is cut off, or is a page that a proxy or a login sent. */
function outcomeOfSuccess(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status, body, end } = answer;
  const lost = (why: string) => outcomeOfLostAnswer(`HTTP ${status}: the answer ${why}`);
  if (end === "oversized") return lost("is longer than allowed");
  if (end === "cut") return lost(`broke off after ${body.length} characters`);
  const type = (answer.contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (PAGES.includes(type)) return lost(`is a page (${type}), not that of a service`);
  const json = jsonOf(body);
  const isJsonType = type === "application/json" || type.endsWith("+json");
  if (json === undefined && isJsonType && body.trim() !== "") return lost("is no JSON, though it says so");
  return outcomeOfMessage(json, asked) ?? { status: "delivered" };
}

/** What a JSON-RPC message or the result of a tool means; undefined when it is no error. */
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

/** A JSON-RPC error. It arrives inside HTTP 200. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The codes of the specification count; those of the application by `data`, or as an HTTP status. */
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

/** A tool result with `isError`: by its structured content, by JSON in its text, and by the words of the text at last. */
function outcomeOfToolError(result: Readonly<Record<string, unknown>>, { key, now }: Asked): DeliveryOutcome {
  const text = toolText(result);
  const structured = result.structuredContent ?? jsonOf(text);
  const said = readSaid(structured ?? text, now);
  const message = `The tool answered with an error: ${oneLine(said.message ?? text, MESSAGE_CHARS_MAX) || "without a word"}`;
  const answer = { said, message, key };
  if (said.status !== undefined) return outcomeOfStatus(said.status, answer);
  const wrapped = /^MCP error (-?\d{1,9}):/.exec(text); // how servers of the SDK report invalid arguments
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

/** A text that names a bad argument, a lease or a permission: sending the same again changes nothing. */
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
  /** From a header; the body counts when there is none. */
  readonly retryAfterMs?: number | undefined;
}

/** Each status that is not 2xx or 3xx, wherever it was met. */
export function outcomeOfStatus(status: number, given: Answer): DeliveryOutcome {
  const { said } = given;
  const answer = { ...given, retryAfterMs: given.retryAfterMs ?? said.retryAfterMs };
  const kind = classifyHttp(status);
  if (status < 500 && said.isCoded) {
    // A code is more exact than the status: services report a repeat as 400, 404, 410 or 422 too, and a limit as 403.
    if (isRepeat(answer)) return { status: "delivered", isRepeat: true };
    if (said.meaning === "rate_limit") return throttled(kind, answer);
  }
  switch (status) {
    case 401:
    case 403:
    case 407:
      return notDelivered("auth", { ...kind, name: "PermissionError" }, answer);
    case 408: // it waited for our request; nothing was done
    case 425: // it does not want to risk a replay; the next attempt is none
      return notDelivered("server_error", kind, answer);
    case 409:
      return conflicting(kind, answer);
    case 429:
      return throttled(kind, answer);
    case 502:
    case 503:
    case 504: // a proxy answers that the service is not there
      if (answer.retryAfterMs !== undefined) return throttled(kind, answer);
      return notDelivered("server_error", { ...kind, errorClass: "outage" }, answer);
    default:
      if (status >= 500) return notDelivered("server_error", kind, answer);
      return notDelivered("refused", { ...kind, name: "ClientError" }, answer);
  }
}

/**
 * 409 delivers when the receipt was processed before, by a code like `already_completed` or `duplicate`, or by such words
 * where there is no code. While the first attempt is still in progress there, it is retried. Any other conflict is a
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

/** An answer that names another key is about another receipt. */
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

/** The meaning of a code or a text where there is no status; `kind` is that of an answer that only names a wait. */
function outcomeOfMeaning(answer: Answer, kind: Kind): DeliveryOutcome | undefined {
  const { meaning, retryAfterMs } = answer.said;
  if (isRepeat(answer)) return { status: "delivered", isRepeat: true };
  const waiting = { ...answer, retryAfterMs };
  if (meaning === undefined) return retryAfterMs === undefined ? undefined : throttled(kind, waiting);
  const [status, known] = OF_MEANING[meaning];
  if (meaning === "unavailable" && retryAfterMs !== undefined) return throttled(known, waiting);
  return notDelivered(status, known, waiting);
}

/** The receiver was not reached: nothing was sent, and the receipt waits until it is back. */
export function outcomeOfNoConnection(message: string, errno?: string): NotDelivered {
  return outcomeOfTransport("transport_error", "outage", { message, errno });
}

/** It was sent, and nobody knows the result: it is sent again with the same key. */
export function outcomeOfLostAnswer(message: string, errno?: string): NotDelivered {
  return outcomeOfTransport("unknown", "transient", { message, errno });
}

function outcomeOfTransport(
  status: NotDelivered["status"],
  errorClass: ErrorClass,
  { message, errno }: { readonly message: string; readonly errno: string | undefined },
): NotDelivered {
  const fields = errno === undefined ? {} : { fields: { errno } };
  return notDelivered(status, { name: "TransportError", errorClass, ...fields }, { message });
}

function throttled(kind: Kind, answer: Pick<Answer, "message" | "retryAfterMs">): NotDelivered {
  return notDelivered("throttled", { ...kind, errorClass: "throttled" }, answer);
}

/** A refusal is final, so it has no time to come back at. */
function notDelivered(
  status: NotDelivered["status"],
  { name, fields, errorClass = classOfType(name) }: Kind,
  { message, retryAfterMs }: Pick<Answer, "message" | "retryAfterMs">,
): NotDelivered {
  const errorType: ErrorType = fields === undefined ? { name } : { name, fields };
  const isFinal = status === "refused" || status === "auth";
  return compact({
    status,
    errorType,
    errorClass,
    message,
    retryAfterMs: isFinal ? undefined : retryAfterMs,
  });
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
