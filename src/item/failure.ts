/** The record of a failed attempt, which is never rewritten, with its source and its evidence files; and their JSON. */
import { fromRfc3339, toRfc3339 } from "../std/clock.ts";
import { compact, isJsonObject, type Json, type JsonObject, reader } from "../std/json.ts";
import {
  type ErrorClass,
  type ErrorType,
  errorTypeFromJson,
  errorTypeToJson,
  isErrorClass,
  plainType,
} from "./error-type.ts";

/** One failed attempt: what failed, how and where. */
export interface Failure {
  /** Counts every started attempt of the item, from 1, over all redrives. */
  readonly attemptNumber: number;
  /** When the attempt ended, in milliseconds since the epoch. */
  readonly timestamp: number;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  readonly errorMessage: string;
  /** The operations that led here, outermost first. */
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
  readonly evidence?: readonly EvidenceFile[];
  /** Where it failed, in the terms of the work itself. */
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

/**
 * Where a piece of work failed in its own terms: the run, the flow, a part of it, and the action. Work that runs elsewhere,
 * such as a desktop flow, reports it; `sourceWithDefaults` fills in the rest.
 */
export interface FailureSource {
  readonly executionId?: string;
  readonly flow?: string;
  readonly subflow?: string;
  /** Its number or its own short name. */
  readonly action?: string;
  readonly actionName?: string;
}

/** The JSON names of the fields. */
export const SOURCE_FIELDS = {
  executionId: "execution_id",
  flow: "flow",
  subflow: "subflow",
  action: "action",
  actionName: "action_name",
} as const satisfies Readonly<Record<keyof FailureSource, string>>;

export function sourceToJson(source: FailureSource): JsonObject {
  return compact({
    execution_id: source.executionId,
    flow: source.flow,
    subflow: source.subflow,
    action: source.action,
    action_name: source.actionName,
  });
}

/** Undefined when all fields are missing. Numbers are converted to text, because actions are often numbered. */
export function sourceFromJson(json: JsonObject | undefined): FailureSource | undefined {
  if (json === undefined) return undefined;
  const read = reader(json);
  const word = (key: string) => {
    const number = read.number(key);
    return read.text(key) || (number === undefined ? undefined : String(number));
  };
  const source = compact({
    executionId: word("execution_id"),
    flow: word("flow"),
    subflow: word("subflow"),
    action: word("action"),
    actionName: word("action_name"),
  });
  return Object.keys(source).length === 0 ? undefined : source;
}

/** What Redrive knows about a failure, for fields that the work did not report. */
export interface KnownSource {
  readonly source?: FailureSource | undefined;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  readonly attempt?: number | undefined;
  readonly holder?: string | undefined;
  readonly step?: string | undefined;
}

/**
 * All five fields for the error log. Defaults: the attempt of the worker (or the job), the queue, the step, the number of the
 * attempt, and the step.
 */
export function sourceWithDefaults(known: KnownSource): Required<FailureSource> {
  const { source = {}, jobId, queue, attempt, step = "" } = known;
  const flow = queue ?? jobId ?? "";
  return {
    executionId: source.executionId ?? executionOf(known) ?? flow,
    flow: source.flow ?? flow,
    subflow: source.subflow ?? step,
    action: source.action ?? (attempt === undefined ? "" : String(attempt)),
    actionName: source.actionName ?? step,
  };
}

function executionOf({ jobId, holder, attempt }: KnownSource): string | undefined {
  if (!holder) return jobId;
  return attempt === undefined ? holder : `${holder}#${attempt}`;
}

/**
 * A file that shows what happened, such as a screenshot or a dump. The record describes it on any machine but never has its
 * content. Imported records may have only a path.
 */
export interface EvidenceFile {
  /** Absolute, on the machine that had it. */
  readonly path: string;
  /** Of its content when it was recorded, in hex. */
  readonly sha256?: string;
  readonly bytes?: number;
  readonly mediaType?: string;
  /** The machine that had it. */
  readonly host?: string;
  /** It did not exist when the attempt ended. */
  readonly missing?: true;
  /** The path of its copy on the same machine. */
  readonly kept?: string;
  /** Why there is no digest or no copy, to be read after "it". */
  readonly problem?: string;
}

export function evidenceFileToJson(file: EvidenceFile): JsonObject {
  return compact({
    path: file.path,
    sha256: file.sha256,
    bytes: file.bytes,
    media_type: file.mediaType,
    host: file.host,
    missing: file.missing,
    kept: file.kept,
    problem: file.problem,
  });
}

/** Reads the current form, and a plain path, which was the form before; undefined when it is neither. */
export function evidenceFileFromJson(json: Json): EvidenceFile | undefined {
  if (typeof json === "string") return { path: json };
  if (!isJsonObject(json)) return undefined;
  const read = reader(json);
  const path = read.text("path");
  if (path === undefined) return undefined;
  return compact({
    path,
    sha256: read.text("sha256"),
    bytes: read.number("bytes"),
    mediaType: read.text("media_type"),
    host: read.text("host"),
    missing: read.flag("missing") === true ? (true as const) : undefined,
    kept: read.text("kept"),
    problem: read.text("problem"),
  });
}

/** Whether every entry of a list can be read. */
export function isEvidenceList(json: Json): boolean {
  return Array.isArray(json) && json.every((entry: Json) => evidenceFileFromJson(entry) !== undefined);
}
