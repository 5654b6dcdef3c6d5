/** The immutable record of a failed attempt, with its source and evidence files, and its JSON form. */
import { isJsonObject, type Json, type JsonObject } from "../std/json.ts";
import {
  ERROR_CLASSES,
  type ErrorClass,
  type ErrorType,
  errorTypeFromJson,
  errorTypeToJson,
  plainType,
} from "./error-type.ts";
import {
  COUNT,
  type FieldKind,
  FLAG,
  INTEGER,
  listKind,
  objectKind,
  RecordForm,
  required,
  SPAN_MS,
  TEXT,
  TIME,
} from "./record-form.ts";

/** One failed attempt: what failed, how and where. */
export interface Failure {
  /** The number of the attempt, from 1, counted over all redrives of the item. */
  readonly attemptNumber: number;
  /** When the attempt ended, in milliseconds since the epoch. */
  readonly timestamp: number;
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  readonly errorMessage: string;
  /** The chain of operations that led to the failure, outermost first. */
  readonly errorContext?: readonly string[];
  readonly stackTrace?: string;
  /** The worker that ran the attempt: host, process and slot. */
  readonly agentId: string;
  /** The failed step, e.g. `shell: cargo test`. */
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
  /** The location of the failure as reported by the command or handler. */
  readonly source?: FailureSource;
}

/** Moves the fields of a plain error type into the failure's context. */
export function withPlainType(failure: Failure): Failure {
  const { type, context } = plainType(failure.errorType);
  if (type === failure.errorType) return failure;
  const isNew = (line: string) => !line.startsWith("exit_code: ") || failure.exitCode === undefined;
  const errorContext = [...(failure.errorContext ?? []), ...context.filter(isNew)];
  return { ...failure, errorType: type, ...(errorContext.length > 0 && { errorContext }) };
}

/** The location of a failure as reported by external work, such as a desktop flow. */
export interface FailureSource {
  readonly executionId?: string;
  readonly flow?: string;
  readonly subflow?: string;
  /** The number or short name of the action. */
  readonly action?: string;
  readonly actionName?: string;
}

/** Accepts numbers too, because actions are often numbered. */
const WORD: FieldKind<string> = {
  ...TEXT,
  read: (json) =>
    typeof json === "string" || typeof json === "number" ? String(json) || undefined : undefined,
};

const SOURCE_FORM = new RecordForm<FailureSource>({
  executionId: WORD,
  flow: WORD,
  subflow: WORD,
  action: WORD,
  actionName: WORD,
});
export const SOURCE_FIELDS = SOURCE_FORM.names;
export const { toJson: sourceToJson } = SOURCE_FORM;

/** Returns undefined when all fields are missing. */
export function sourceFromJson(json: JsonObject): FailureSource | undefined {
  const source = SOURCE_FORM.fromJson(json);
  return Object.keys(source).length === 0 ? undefined : source;
}

/** Facts about a failure that Redrive determines itself. They fill in fields that were not reported. */
export interface KnownSource {
  readonly source?: FailureSource | undefined;
  readonly jobId?: string | undefined;
  readonly queue?: string | undefined;
  readonly attempt?: number | undefined;
  readonly holder?: string | undefined;
  readonly step?: string | undefined;
}

/**
 * Fills in missing fields: the flow with the worker's attempt or the job, then the queue, the step and the
 * attempt.
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

/** A file that shows what happened, such as a screenshot. Imported records may have only a path. */
export interface EvidenceFile {
  /** The absolute path on the machine where the file was recorded. */
  readonly path: string;
  /** The hex digest of the content at the time of recording. */
  readonly sha256?: string;
  readonly bytes?: number;
  readonly mediaType?: string;
  /** The machine where the file was when the attempt failed. */
  readonly host?: string;
  /** The file did not exist when the attempt ended. */
  readonly missing?: true;
  /** The path of the copy on the same machine. */
  readonly kept?: string;
  /** Why there is no digest or no copy. Completes a sentence that starts with "it". */
  readonly problem?: string;
}

const EVIDENCE_FORM = new RecordForm<EvidenceFile>({
  path: required(TEXT, ""),
  sha256: TEXT,
  bytes: COUNT,
  mediaType: TEXT,
  host: TEXT,
  missing: { ...FLAG, read: (json) => (json === true ? json : undefined) },
  kept: TEXT,
  problem: TEXT,
});

export function evidenceFileToJson(file: EvidenceFile): JsonObject {
  return EVIDENCE_FORM.toJson(file);
}

/** Also reads a plain path, which is the older form. */
const EVIDENCE_FILE: FieldKind<EvidenceFile> = {
  write: evidenceFileToJson,
  read: (json) => {
    if (typeof json === "string") return { path: json };
    return isJsonObject(json) && typeof json.path === "string" ? EVIDENCE_FORM.fromJson(json) : undefined;
  },
  problem: "neither a path nor a file with a path",
};

const isText = (json: Json) => typeof json === "string";

const ERROR_TYPE: FieldKind<ErrorType> = {
  write: errorTypeToJson,
  read: errorTypeFromJson,
  fits: (json) => isText(json) || isJsonObject(json),
  problem: "not an error type",
};

/** The JSON form of a failure. Records of Prodigy and mmm lack some of the fields. */
export const FAILURE_FORM = new RecordForm<Failure>({
  attemptNumber: required(COUNT, 1),
  timestamp: required(TIME, 0),
  errorType: required(ERROR_TYPE, { name: "Unknown" }),
  errorClass: required(
    { ...TEXT, read: (json) => ERROR_CLASSES.find((one) => one === json), fits: isText },
    "unknown",
  ),
  errorMessage: required(TEXT, ""),
  errorContext: listKind(TEXT, "not a list of texts"),
  stackTrace: TEXT,
  agentId: required(TEXT, ""),
  stepFailed: required(TEXT, ""),
  durationMs: required(SPAN_MS, 0),
  jsonLogLocation: TEXT,
  exitCode: INTEGER,
  signal: TEXT,
  stdoutTail: TEXT,
  stderrTail: TEXT,
  log: TEXT,
  evidence: listKind(EVIDENCE_FILE, "neither a list of paths nor of files with a path"),
  source: {
    ...objectKind(SOURCE_FORM),
    read: (json) => (isJsonObject(json) ? sourceFromJson(json) : undefined),
    fits: isJsonObject,
  },
});

/** Converts a failure to its public JSON form. */
export function failureToJson(failure: Failure): JsonObject {
  return FAILURE_FORM.toJson(failure);
}

/** Reads a failure from the JSON of Redrive, Prodigy or mmm. */
export function failureFromJson(json: JsonObject): Failure {
  return FAILURE_FORM.fromJson(json);
}
