/**
 * Reads any value that a handler threw, without throwing: null, a symbol, a proxy, circular causes. Exceptions of this
 * library are recognized by name, so that exceptions from a second installed copy work too.
 */
import type { ErrorClass, ErrorTypeName } from "../item/error-type.ts";
import type { FailureSource } from "../item/failure.ts";
import { compact, stringifyJson } from "../std/json.ts";
import { issuesText, type SchemaIssue } from "../std/schema-issues.ts";
import { oneLine } from "../triage/clean.ts";
import { clampDelayMs } from "./backoff.ts";
import { retryAfterMsOf } from "./retry-after.ts";

/** The description of a thrown value. `classify` uses everything except the trace and the context. */
export interface Thrown {
  /** One line of text; never empty. */
  readonly message: string;
  readonly stackTrace?: string;
  /** The messages of the causes, outermost first. */
  readonly context?: readonly string[];
  /** The errno name of the value or its nearest cause, e.g. `ECONNRESET`. */
  readonly errno?: string;
  readonly httpStatus?: number;
}

const MESSAGE_CHARS_MAX = 600;
const STACK_CHARS_MAX = 16_384;
const CAUSES_MAX = 10;

export function describeThrown(value: unknown): Thrown {
  const chain = causesOf(value);
  const stack = read(value, "stack");
  return compact({
    message: messageOf(value),
    stackTrace: typeof stack === "string" ? stack.slice(0, STACK_CHARS_MAX) : undefined,
    context: chain.length > 1 ? chain.slice(1).map(messageOf) : undefined,
    errno: firstOf(chain, errnoOf),
    httpStatus: firstOf(chain, httpStatusOf),
  });
}

/** Returns the value and its causes; a cycle ends the chain. */
function causesOf(value: unknown): readonly unknown[] {
  const chain = new Set([value]);
  for (
    let cause = read(value, "cause");
    cause !== undefined && cause !== null;
    cause = read(cause, "cause")
  ) {
    if (chain.has(cause) || chain.size > CAUSES_MAX) break;
    chain.add(cause);
  }
  return [...chain];
}

function messageOf(value: unknown): string {
  const message = read(value, "message");
  const name = read(value, "name");
  if (typeof message === "string" && message.trim() !== "") return oneLine(message, MESSAGE_CHARS_MAX);
  if (typeof name === "string" && name.trim() !== "") return oneLine(name, MESSAGE_CHARS_MAX);
  return `threw ${describe(value)}`;
}

function describe(value: unknown): string {
  try {
    if (typeof value === "function") return "a function";
    const text = typeof value === "object" && value !== null ? stringifyJson(value) : String(value);
    return oneLine(text, MESSAGE_CHARS_MAX) || "an empty text";
  } catch {
    return `a value of type ${typeof value} that cannot be shown`;
  }
}

/** Reads a property of any value; returns undefined if the getter throws. */
function read(value: unknown, key: string): unknown {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined;
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function firstOf<T>(chain: readonly unknown[], find: (value: unknown) => T | undefined): T | undefined {
  for (const value of chain) {
    const found = find(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function errnoOf(value: unknown): string | undefined {
  const code = read(value, "code");
  return typeof code === "string" && /^E[A-Z0-9_]{2,30}$/.test(code) ? code : undefined;
}

function httpStatusOf(value: unknown): number | undefined {
  const response = read(value, "response");
  const own = read(value, "status") ?? read(value, "statusCode");
  const status = own ?? read(response, "status") ?? read(response, "statusCode");
  return typeof status === "number" && status >= 400 && status <= 599 ? status : undefined;
}

/** The delay that a server has requested: `retryAfter` of the error, or the header `Retry-After` of its response. */
function requestedDelay(value: unknown, now: number): number | undefined {
  const own = read(value, "retryAfter");
  const asked = own instanceof Date ? own.toISOString() : own;
  const headers = [read(read(value, "response"), "headers"), read(value, "headers")];
  return firstOf([asked, ...headers.map(retryAfterHeader)], (given) => retryAfterMsOf(given, now));
}

/** Reads `Retry-After` from a `Headers` object or from a plain one, whose names may be written in any case. */
function retryAfterHeader(headers: unknown): unknown {
  if (typeof headers !== "object" || headers === null) return undefined;
  try {
    if (headers instanceof Headers) return headers.get("retry-after");
    return Object.entries(headers).find(([name]) => name.toLowerCase() === "retry-after")?.[1];
  } catch {
    return undefined;
  }
}

/** Options of `PermanentError`, `BusinessException`, `ITException` and `GenericException`. */
export interface ExceptionOptions extends ErrorOptions, FailureSource {
  /** The step that failed. Default: `handler`. */
  readonly step?: string;
  /** Evidence files, such as screenshots. Relative paths are resolved against the working directory of the process. */
  readonly evidence?: readonly string[];
  /** How long to wait before the next attempt. Default: the backoff of the policy. */
  readonly retryAfterMs?: number;
}

export abstract class WorkException extends Error {
  readonly options: ExceptionOptions;

  constructor(message: string, options: ExceptionOptions = {}) {
    super(message, options);
    this.options = options;
  }
}

/** The item can never succeed: it is not retried and immediately becomes a letter. */
export class PermanentError extends WorkException {
  override readonly name = "PermanentError";
}

/** The data of an item, or the result of its handler, does not match its schema. It is not retried. */
export class ValidationFailed extends WorkException {
  override readonly name = "ValidationFailed";
}

/** The item itself is invalid: it is not retried, and a person has to review it. */
export class BusinessException extends WorkException {
  override readonly name = "BusinessException";
}

/** A required service was unavailable: the item is retried up to Max Retries, then it becomes a dead letter. */
export class ITException extends WorkException {
  override readonly name = "ITException";
}

/** Any other failure: the item is retried up to Max Retries, then it becomes a dead letter. */
export class GenericException extends WorkException {
  override readonly name = "GenericException";
}

export interface ReadException {
  readonly type?: ErrorTypeName;
  /** Default: the class of the type. */
  readonly class?: ErrorClass;
  /** Default: the message of the thrown value. */
  readonly message?: string;
  readonly step?: string;
  readonly source?: FailureSource;
  readonly evidence?: readonly string[];
  readonly retryAfterMs?: number;
}

const TYPES = ["BusinessException", "ITException", "GenericException"] as const satisfies ErrorTypeName[];
const NAMES: readonly unknown[] = [...TYPES, "PermanentError", "ValidationFailed"];

/**
 * Reads the fields of an exception of this library, the issues of a schema library, and the delay that a server has
 * requested by the time `now`. Never throws.
 */
export function readException(value: unknown, now: number): ReadException {
  if (typeof value !== "object" || value === null) return {};
  const retryAfterMs = firstOf(causesOf(value), (cause) => requestedDelay(cause, now));
  try {
    return { ...compact({ retryAfterMs }), ...readOptions(value as ThrownFields) };
  } catch {
    return compact({ retryAfterMs }); // a getter threw
  }
}

interface ThrownFields {
  readonly name?: unknown;
  readonly options?: unknown;
  readonly issues?: unknown;
  readonly retryAfterMs?: unknown;
}

function readOptions(thrown: ThrownFields): ReadException {
  const { name, options, retryAfterMs } = thrown;
  const hasOptions = NAMES.includes(name) && typeof options === "object";
  const given = (hasOptions ? options : null) as ExceptionOptions | null;
  const source = compact({
    executionId: textOf(given?.executionId),
    flow: textOf(given?.flow),
    subflow: textOf(given?.subflow),
    action: textOf(given?.action),
    actionName: textOf(given?.actionName),
  });
  const evidence = Array.isArray(given?.evidence)
    ? given.evidence.filter((path) => typeof path === "string")
    : [];
  return compact({
    ...kindOf(thrown),
    step: textOf(given?.step),
    source: Object.keys(source).length > 0 ? source : undefined,
    evidence: evidence.length > 0 ? evidence : undefined,
    retryAfterMs: delayOf(given?.retryAfterMs ?? retryAfterMs),
  });
}

/**
 * The same data would fail again in the same way, so a schema mismatch is permanent, regardless of where it
 * is detected.
 */
function kindOf({ name, issues }: ThrownFields): Pick<ReadException, "type" | "class" | "message"> {
  if (name === "PermanentError") return { class: "permanent" };
  if (name === "ValidationFailed") return { type: "ValidationFailed", class: "permanent" };
  if (isIssues(issues)) return { type: "ValidationFailed", class: "permanent", message: issuesText(issues) };
  const type = TYPES.find((known) => known === name);
  return type === undefined ? {} : { type };
}

function isIssues(value: unknown): value is readonly SchemaIssue[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((issue) => typeof read(issue, "message") === "string");
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function delayOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? clampDelayMs(value) : undefined;
}
