/** What a failed attempt leaves. Written once, never rewritten; `failureToJson` is its form outside the process. */
import { fromRfc3339, toRfc3339 } from "../kit/clock.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import {
  type ErrorClass,
  type ErrorType,
  errorTypeFromJson,
  errorTypeToJson,
  isErrorClass,
  plainType,
} from "./error-type.ts";
import { type EvidenceFile, evidenceFileFromJson, evidenceFileToJson } from "./evidence-file.ts";
import { type FailureSource, sourceFromJson, sourceToJson } from "./failure-source.ts";
import { compact, reader } from "./record.ts";

export { compact, reader } from "./record.ts";

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
  /** Files that the work named as evidence. */
  readonly evidence?: readonly EvidenceFile[];
  /** Where in its own world it failed, as far as the work said so. */
  readonly source?: FailureSource;
}

/** The form of a failure outside the process. */
export function failureToJson(failure: Failure): JsonObject {
  return failureFieldsToJson(failure, FAILURE_FIELDS);
}

/** The same with some of its fields alone, for one who asks many failures for little. */
export function failureFieldsToJson(failure: Failure, fields: readonly FailureField[]): JsonObject {
  const json: Record<string, Json> = {};
  for (const field of fields) {
    const value = TELL[field](failure);
    if (value !== undefined) json[field] = value;
  }
  return json;
}

const TELL = {
  attempt_number: (failure) => failure.attemptNumber,
  timestamp: (failure) => toRfc3339(failure.timestamp),
  error_type: (failure) => errorTypeToJson(failure.errorType),
  error_class: (failure) => failure.errorClass,
  error_message: (failure) => failure.errorMessage,
  error_context: (failure) => failure.errorContext,
  stack_trace: (failure) => failure.stackTrace,
  agent_id: (failure) => failure.agentId,
  step_failed: (failure) => failure.stepFailed,
  duration_ms: (failure) => failure.durationMs,
  json_log_location: (failure) => failure.jsonLogLocation,
  exit_code: (failure) => failure.exitCode,
  signal: (failure) => failure.signal,
  stdout_tail: (failure) => failure.stdoutTail,
  stderr_tail: (failure) => failure.stderrTail,
  log: (failure) => failure.log,
  evidence: (failure) => failure.evidence?.map(evidenceFileToJson),
  source: (failure) => failure.source && sourceToJson(failure.source),
} as const satisfies Record<string, (failure: Failure) => Json | undefined>;

/** The name of a field in that form. */
export type FailureField = keyof typeof TELL;
export const FAILURE_FIELDS = Object.keys(TELL) as readonly FailureField[];

/** The failure with a type as the sources write it; what the type's fields say besides becomes part of the context. */
export function withPlainType(failure: Failure): Failure {
  const { type, context } = plainType(failure.errorType);
  if (type === failure.errorType) return failure;
  const isNew = (line: string) => !line.startsWith("exit_code: ") || failure.exitCode === undefined;
  const errorContext = [...(failure.errorContext ?? []), ...context.filter(isNew)];
  return { ...failure, errorType: type, ...(errorContext.length > 0 && { errorContext }) };
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
    evidence: read.list("evidence")?.flatMap((entry) => evidenceFileFromJson(entry) ?? []),
    source: sourceFromJson(read.object("source")),
  });
}
