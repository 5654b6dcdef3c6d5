/**
 * Maps an answer, or the lack of one, to the outcome of a delivery. Every status and code is mapped explicitly; text is read
 * only where there is nothing else. Pure; `decide` turns the outcome into a verdict.
 */
import type { ErrorClass, ErrorType } from "../item/error-type.ts";
import { classOfType } from "../item/error-type.ts";
import type { ReceiptStatus } from "../item/receipt.ts";
import type { Kind } from "../retry/classify.ts";
import { classifyHttp, classifyJsonRpc } from "../retry/classify.ts";
import { compact } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import { jsonOf, readSaid, retryAfterMsOf, type Said } from "./error-body.ts";

/** What one try came to. */
export type DeliveryOutcome =
  /** `isRepeat`: the other side had it already. */
  { readonly status: "delivered"; readonly isRepeat?: true } | NotDelivered;

/** Why a try did not deliver. */
export interface NotDelivered {
  readonly status: Exclude<ReceiptStatus, "delivered">;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  /** One line for people. */
  readonly message: string;
  /** The other side said when to come back. */
  readonly retryAfterMs?: number;
}

/** An HTTP answer as far as it came. */
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

/** What an HTTP answer means. */
export function outcomeOfHttp(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status } = answer;
  if (status >= 200 && status <= 299) return outcomeOfSuccess(answer, asked);
  if (status >= 300 && status <= 399) return redirected(answer);
  return outcomeOfStatus(status, {
    said: readSaid(answer.body, asked.now),
    message: messageOf(answer),
    retryAfterMs: retryAfterMsOf(answer.retryAfter, asked.now),
    key: asked.key,
  });
}

const PAGES = ["text/html", "application/xhtml+xml"];

/**
 * An answer of 2xx delivers, unless it says otherwise inside (JSON-RPC does), or is none of the service: a page for people
 * comes from a proxy or a login, and half an answer may have been going to say anything.
 */
function outcomeOfSuccess(answer: HttpAnswer, asked: Asked): DeliveryOutcome {
  const { status, body, end } = answer;
  if (end === "oversized") return lost(`HTTP ${status}: the answer is longer than allowed`);
  if (end === "cut") return lost(`HTTP ${status}: the answer broke off after ${body.length} characters`);
  const type = (answer.contentType.split(";")[0] ?? "").trim().toLowerCase();
  if (PAGES.includes(type))
    return lost(`HTTP ${status}: the answer is a page (${type}), not that of a service`);
  const json = jsonOf(body);
  if (json === undefined && isJsonType(type) && body.trim() !== "")
    return lost(`HTTP ${status}: the answer is no JSON, though it says so`);
  return outcomeOfMessage(json, asked) ?? { status: "delivered" };
}

function isJsonType(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

/** What a JSON-RPC message or the result of a tool says; undefined when it is no error. */
export function outcomeOfMessage(json: unknown, asked: Asked): DeliveryOutcome | undefined {
  const message = objectOf(json);
  const error = objectOf(message?.error);
  if (error !== undefined && Number.isInteger(error.code)) {
    return outcomeOfRpcError(
      { code: error.code as number, message: textOf(error.message), data: error.data },
      asked,
    );
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

/** The codes of the specification count; those of the application by what they say in `data`, or as an HTTP status. */
export function outcomeOfRpcError({ code, message, data }: RpcError, { key, now }: Asked): DeliveryOutcome {
  const said = readSaid(data, now);
  const line = `JSON-RPC error ${code}: ${oneLine(message, MESSAGE_CHARS_MAX) || "without a message"}`;
  if (code >= 400 && code <= 599) return outcomeOfStatus(code, { said, message: line, key });
  const spoken = outcomeOfWords(said, { key, message: line });
  if (spoken !== undefined) return spoken;
  const kind = classifyJsonRpc(code);
  if (said.retryAfterMs !== undefined) return throttled(line, said.retryAfterMs, kind);
  if (kind.errorClass === "unknown" && isRefusal(message, now))
    return notDelivered(
      "refused",
      { name: "ClientError", fields: { json_rpc_code: code } },
      { message: line },
    );
  return notDelivered(kind.name === "ClientError" ? "refused" : "server_error", kind, { message: line });
}

/** A tool that says `isError`: by its structured content, by JSON in its text, and by the words of the text at last. */
function outcomeOfToolError(result: Readonly<Record<string, unknown>>, { key, now }: Asked): DeliveryOutcome {
  const text = toolText(result);
  const structured = result.structuredContent ?? jsonOf(text);
  const said = readSaid(structured ?? text, now);
  const message = `The tool answered with an error: ${oneLine(said.message ?? text, MESSAGE_CHARS_MAX) || "without a word"}`;
  if (said.status !== undefined) return outcomeOfStatus(said.status, { said, message, key });
  const wrapped = /^MCP error (-?\d{1,9}):/.exec(text); // how servers of the SDK tell of arguments they do not take
  if (structured === undefined && wrapped !== null) {
    const kind = classifyJsonRpc(Number(wrapped[1]));
    return notDelivered(kind.name === "ClientError" ? "refused" : "server_error", kind, { message });
  }
  const spoken = outcomeOfWords(said, { key, message });
  if (spoken !== undefined) return spoken;
  if (said.retryAfterMs !== undefined) return throttled(message, said.retryAfterMs, { name: "RateLimited" });
  if (said.isCoded || isRefusal(said.message, now))
    return notDelivered("refused", { name: "ClientError" }, { message });
  return notDelivered("server_error", { name: "ServerError", errorClass: "unknown" }, { message });
}

/** A text that names a bad argument, a lease or a permission: sending the same again changes nothing. */
function isRefusal(text: string | undefined, now: number): boolean {
  return text !== undefined && readSaid(text, now).meaning === "client";
}

function toolText({ content }: Readonly<Record<string, unknown>>): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => textOf(objectOf(part)?.text)).join("\n");
}

interface Telling {
  readonly said: Said;
  readonly message: string;
  readonly key: string;
  /** Of a header; what the body says counts when there is none. */
  readonly retryAfterMs?: number | undefined;
}

/** Each status that is not 2xx or 3xx, wherever it was met. */
export function outcomeOfStatus(status: number, telling: Telling): DeliveryOutcome {
  const { message, said } = telling;
  const kind = classifyHttp(status);
  const retryAfterMs = telling.retryAfterMs ?? said.retryAfterMs;
  if (status < 500 && said.isCoded) {
    // A code says more than the status: services tell of a repeat as 400, 404, 410 or 422 too, and of a limit as 403.
    if (said.meaning === "already" && isOurs(said, telling.key))
      return { status: "delivered", isRepeat: true };
    if (said.meaning === "rate_limit") return throttled(message, retryAfterMs, kind);
  }
  switch (status) {
    case 401:
    case 403:
    case 407:
      return notDelivered("auth", { ...kind, name: "PermissionError" }, { message });
    case 408: // it waited for our request; nothing was done
    case 425: // it does not want to risk a replay; the next try is none
      return notDelivered("server_error", kind, { message, retryAfterMs });
    case 409:
      return conflicting(kind, telling);
    case 429:
      return throttled(message, retryAfterMs, kind);
    case 502:
    case 503:
    case 504: // somebody in front of the service answers that it is not there
      if (retryAfterMs !== undefined) return throttled(message, retryAfterMs, kind);
      return notDelivered("server_error", { ...kind, errorClass: "outage" }, { message });
    default:
      if (status >= 500) return notDelivered("server_error", kind, { message, retryAfterMs });
      return notDelivered("refused", { ...kind, name: "ClientError" }, { message });
  }
}

/**
 * 409 delivers when the answer says that it was done already: by a code like `already_completed` or `duplicate`, or by such
 * words where there is no code. One that names another key speaks of another receipt. While the first try is still being
 * worked over there, it is asked again later. Any other conflict is a refusal.
 */
function conflicting(kind: Kind, { said, message, key }: Telling): DeliveryOutcome {
  if (said.meaning === "already" && isOurs(said, key)) return { status: "delivered", isRepeat: true };
  if (said.meaning === "in_progress" && isOurs(said, key))
    return notDelivered(
      "server_error",
      { ...kind, errorClass: "transient" },
      { message, retryAfterMs: said.retryAfterMs },
    );
  return notDelivered("refused", kind, { message });
}

function isOurs({ key }: Said, ours: string): boolean {
  return key === undefined || key === ours;
}

/** What a word for what is wrong says, where no status does. */
function outcomeOfWords(
  said: Said,
  { key, message }: { readonly key: string; readonly message: string },
): DeliveryOutcome | undefined {
  const { retryAfterMs } = said;
  switch (said.meaning) {
    case "already":
      if (isOurs(said, key)) return { status: "delivered", isRepeat: true };
      return notDelivered("refused", { name: "ClientError" }, { message });
    case "rate_limit":
      return throttled(message, retryAfterMs, { name: "RateLimited" });
    case "auth":
      return notDelivered("auth", { name: "PermissionError" }, { message });
    case "in_progress":
      return notDelivered(
        "server_error",
        { name: "ServerError", errorClass: "transient" },
        { message, retryAfterMs },
      );
    case "unavailable":
      if (retryAfterMs !== undefined) return throttled(message, retryAfterMs, { name: "ServerError" });
      return notDelivered("server_error", { name: "ServerError", errorClass: "outage" }, { message });
    case "server":
      return notDelivered("server_error", { name: "ServerError" }, { message, retryAfterMs });
    case "client":
      return notDelivered("refused", { name: "ClientError" }, { message });
    case undefined:
      return undefined;
  }
}

/** Those that keep the method and stay with the host were followed before this is asked. */
function redirected(answer: HttpAnswer): DeliveryOutcome {
  const to = answer.location === undefined ? "without saying where" : `to ${oneLine(answer.location, 200)}`;
  const kind: Kind = { name: "ClientError", fields: { http_status: answer.status } };
  return notDelivered("refused", kind, {
    message: `${titleOf(answer)}, a redirect ${to} that is not followed`,
  });
}

/** The other side was not reached: nothing was sent, and the receipt waits until it is back. */
export function outcomeOfNoConnection(message: string, errno?: string): NotDelivered {
  const fields = errno === undefined ? {} : { fields: { errno } };
  return notDelivered(
    "transport_error",
    { name: "TransportError", errorClass: "outage", ...fields },
    { message },
  );
}

/** It was sent, and nobody knows what became of it: it is sent again with the same key. */
export function outcomeOfLostAnswer(message: string, errno?: string): NotDelivered {
  return lost(message, errno);
}

function lost(message: string, errno?: string): NotDelivered {
  return notDelivered(
    "unknown",
    { name: "TransportError", errorClass: "transient", ...(errno !== undefined && { fields: { errno } }) },
    { message },
  );
}

function throttled(message: string, retryAfterMs: number | undefined, kind: Kind): NotDelivered {
  return notDelivered("throttled", { ...kind, errorClass: "throttled" }, { message, retryAfterMs });
}

function notDelivered(
  status: NotDelivered["status"],
  { name, fields, errorClass = classOfType(name) }: Kind,
  { message, retryAfterMs }: { readonly message: string; readonly retryAfterMs?: number | undefined },
): NotDelivered {
  const errorType: ErrorType = fields === undefined ? { name } : { name, fields };
  return compact({ status, errorType, errorClass, message, retryAfterMs });
}

const MESSAGE_CHARS_MAX = 300;

function messageOf(answer: HttpAnswer): string {
  const { message } = readSaid(answer.body, 0);
  const told = oneLine(message ?? answer.body, MESSAGE_CHARS_MAX);
  return told === "" ? titleOf(answer) : `${titleOf(answer)}: ${told}`;
}

function titleOf({ status, statusText }: HttpAnswer): string {
  return `HTTP ${status}${statusText === "" ? "" : ` ${oneLine(statusText, 60)}`}`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
