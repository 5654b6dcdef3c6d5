/** What a failed attempt leaves. Written once, never rewritten; `failureToJson` is its form outside the process. */
import { fromRfc3339, toRfc3339 } from "../kit/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import {
  type ErrorClass,
  type ErrorType,
  errorTypeFromJson,
  errorTypeToJson,
  isErrorClass,
} from "./error-type.ts";

/** The record of one failed attempt. */
export interface Failure {
  /** Counts every started attempt of the item, from 1, over all redrives. */
  readonly attemptNumber: number;
  /** When the attempt ended, in milliseconds since the epoch. */
  readonly timestamp: number;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  readonly errorMessage: string;
  /** The trail of operations that led here, outermost first. */
  readonly errorContext?: readonly string[];
  readonly stackTrace?: string;
  /** Who ran it: host, process and slot. */
  readonly agentId: string;
  /** The step, e.g. `shell: cargo test`. */
  readonly stepFailed: string;
  readonly durationMs: number;
  readonly jsonLogLocation?: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stdoutTail?: string;
  readonly stderrTail?: string;
  /** Path of the file with the whole output. */
  readonly log?: string;
  /** Files that the command named as evidence. */
  readonly evidence?: readonly string[];
}

/** The form of a failure outside the process. */
export function failureToJson(failure: Failure): JsonObject {
  return compact({
    attempt_number: failure.attemptNumber,
    timestamp: toRfc3339(failure.timestamp),
    error_type: errorTypeToJson(failure.errorType),
    error_class: failure.errorClass,
    error_message: failure.errorMessage,
    error_context: failure.errorContext,
    stack_trace: failure.stackTrace,
    agent_id: failure.agentId,
    step_failed: failure.stepFailed,
    duration_ms: failure.durationMs,
    json_log_location: failure.jsonLogLocation,
    exit_code: failure.exitCode,
    signal: failure.signal,
    stdout_tail: failure.stdoutTail,
    stderr_tail: failure.stderrTail,
    log: failure.log,
    evidence: failure.evidence,
  });
}

/** Reads a failure of ours or of a predecessor, which lacks the fields that came later. */
export function failureFromJson(json: JsonObject): Failure {
  const read = reader(json);
  const errorClass = read.text("error_class") ?? "unknown";
  return compact({
    attemptNumber: read.number("attempt_number") ?? 1,
    timestamp: fromRfc3339(read.text("timestamp") ?? "") ?? 0,
    errorType: errorTypeFromJson(json.error_type ?? "Unknown"),
    errorClass: isErrorClass(errorClass) ? errorClass : "unknown",
    errorMessage: read.text("error_message") ?? "",
    errorContext: read.texts("error_context"),
    stackTrace: read.text("stack_trace"),
    agentId: read.text("agent_id") ?? "",
    stepFailed: read.text("step_failed") ?? "",
    durationMs: read.number("duration_ms") ?? 0,
    jsonLogLocation: read.text("json_log_location"),
    exitCode: read.number("exit_code"),
    signal: read.text("signal"),
    stdoutTail: read.text("stdout_tail"),
    stderrTail: read.text("stderr_tail"),
    log: read.text("log"),
    evidence: read.texts("evidence"),
  });
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The same object without the fields that are undefined, as `exactOptionalPropertyTypes` and JSON want it. */
export function compact<T extends object>(object: T): Defined<T> {
  const kept: Partial<T> = {};
  for (const key in object) if (object[key] !== undefined) kept[key] = object[key]; // many a letter passes here
  return kept as Defined<T>;
}

/** Reads fields of the expected kind and takes anything else for absent. */
export function reader(json: JsonObject) {
  const pick = (key: string): Json => json[key] ?? null;
  return {
    text: (key: string) => (typeof pick(key) === "string" ? (pick(key) as string) : undefined),
    number: (key: string) => (typeof pick(key) === "number" ? (pick(key) as number) : undefined),
    flag: (key: string) => (typeof pick(key) === "boolean" ? (pick(key) as boolean) : undefined),
    object: (key: string) => (isJsonObject(pick(key)) ? (pick(key) as JsonObject) : undefined),
    list: (key: string) => (Array.isArray(pick(key)) ? (pick(key) as readonly Json[]) : undefined),
    texts: (key: string) => {
      const list = pick(key);
      return Array.isArray(list)
        ? list.filter((entry): entry is string => typeof entry === "string")
        : undefined;
    },
  };
}
