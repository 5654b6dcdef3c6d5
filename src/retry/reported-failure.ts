/** Reads the failure report that a command wrote to REDRIVE_FAILURE_FILE. Never throws: `problem` names invalid fields. */
import { type ErrorClass, type ErrorType, errorTypeFromJson, isErrorClass } from "../item/error-type.ts";
import { type FailureSource, SOURCE_FIELDS, sourceFromJson } from "../item/failure.ts";
import { fromRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import { tryTo } from "../std/try-to.ts";
import { oneLine, shorten } from "../triage/clean.ts";
import { clampDelayMs } from "./backoff.ts";

/** The valid part of a report. */
export interface ReportedFailure {
  readonly type?: ErrorType;
  readonly class?: ErrorClass;
  readonly message?: string;
  /** The chain of operations that led to the failure, outermost first. */
  readonly context?: readonly string[];
  readonly evidence?: readonly string[];
  /** The location of the failure as the command names it. */
  readonly source?: FailureSource;
  /** How long to wait before the next attempt, from the time the report was read. */
  readonly retryAfterMs?: number;
  readonly stackTrace?: string;
  /** What is invalid in the report. */
  readonly problem?: string;
}

const TEXT_CHARS_MAX = 2000;
const STACK_CHARS_MAX = 16_384;
const ENTRIES_MAX = 50;
const PATH_CHARS_MAX = 4096;

/** Returns no fields for an empty text. `nowMs` converts a `retry_after` date to a delay. */
export function parseReportedFailure(text: string, nowMs: number): ReportedFailure {
  if (text.trim() === "") return {};
  const json = tryTo(() => JSON.parse(text) as Json);
  if (json === undefined) return { problem: "its failure report is not valid JSON" };
  if (!isJsonObject(json)) return { problem: "its failure report is not a JSON object" };
  return compact({ ...fieldsOf(json, nowMs), problem: problemOf(json) });
}

function fieldsOf(json: JsonObject, nowMs: number) {
  const read = reader(json);
  const errorClass = read.text("class");
  return {
    type: isTypeForm(json.type) ? errorTypeFromJson(json.type) : undefined,
    class: errorClass !== undefined && isErrorClass(errorClass) ? errorClass : undefined,
    message: oneLine(read.text("message") ?? "", TEXT_CHARS_MAX) || undefined,
    context: read
      .texts("context")
      ?.slice(0, ENTRIES_MAX)
      .map((entry) => shorten(entry, TEXT_CHARS_MAX)),
    evidence: read.texts("evidence")?.filter(isPath),
    source: sourceOf(json),
    retryAfterMs: retryAfterMs(json.retry_after, nowMs),
    stackTrace: read.text("stack_trace")?.slice(0, STACK_CHARS_MAX),
  };
}

/** Accepts `"Timeout"` or `{"CommandFailed": {"exit_code": 1}}`. */
function isTypeForm(json: Json | undefined): json is string | JsonObject {
  return (typeof json === "string" && json !== "") || (isJsonObject(json) && Object.keys(json).length === 1);
}

/** Reads the source, whose fields are on the top level of the report. */
function sourceOf(json: JsonObject): FailureSource | undefined {
  const lines = SOURCE_FIELDS.flatMap((name) => {
    const value = json[name];
    return isWord(value) ? [[name, oneLine(String(value), TEXT_CHARS_MAX)]] : [];
  });
  return sourceFromJson(Object.fromEntries(lines) as JsonObject);
}

function isWord(json: Json | undefined): json is string | number {
  return typeof json === "string" || typeof json === "number";
}

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;

/** Reads seconds or a date; returns undefined for anything else. */
function retryAfterMs(json: Json | undefined, nowMs: number): number | undefined {
  if (typeof json === "number") return json >= 0 ? clampDelayMs(json * 1000) : undefined;
  if (typeof json !== "string") return undefined;
  if (/^\d{1,9}(?:\.\d{1,9})?$/.test(json)) return clampDelayMs(Number(json) * 1000);
  const atMs = RFC3339.test(json) ? fromRfc3339(json) : undefined;
  return atMs === undefined ? undefined : clampDelayMs(atMs - nowMs);
}

/** Returns a message with the names of the invalid fields. */
function problemOf(json: JsonObject): string | undefined {
  const isText = (value: Json | undefined) => typeof value === "string";
  const isList = (value: Json | undefined, isRight: (entry: Json) => boolean) =>
    Array.isArray(value) && value.every((entry: Json) => isText(entry) && isRight(entry));
  const checks: Readonly<Record<string, (value: Json) => boolean>> = {
    type: isTypeForm,
    class: (value) => isText(value) && isErrorClass(String(value)),
    message: isText,
    stack_trace: isText,
    context: (value) => isList(value, () => true),
    evidence: (value) => isList(value, (path) => isPath(String(path))),
    ...Object.fromEntries(SOURCE_FIELDS.map((key) => [key, isWord])),
    retry_after: (value) => retryAfterMs(value, 0) !== undefined,
  };
  const wrong = Object.keys(checks).filter(
    (key) => (json[key] ?? null) !== null && !checks[key]?.(json[key] ?? null),
  );
  return wrong.length === 0
    ? undefined
    : `parts of its failure report cannot be used: invalid ${wrong.join(", ")}`;
}

/** Refuses a long path instead of shortening it, because a shortened path would refer to another file. */
function isPath(text: string): boolean {
  return text !== "" && text.length <= PATH_CHARS_MAX;
}
