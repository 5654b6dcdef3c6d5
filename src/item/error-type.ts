/** The kinds of failures: a type, perhaps with fields, and a class, which decides what to do about it. */
import { asText, isJsonObject, type Json, type JsonObject } from "../std/json.ts";

/** Every error type, by name. */
export const ERROR_TYPE_NAMES = [
  "Timeout",
  "CommandFailed",
  "WorktreeError",
  "MergeConflict",
  "ValidationFailed",
  "CommitValidationFailed",
  "PermissionError",
  "ResourceExhausted",
  "WorkerLost",
  "ClientError",
  "RateLimited",
  "ServerError",
  "TransportError",
  "BusinessException",
  "ITException",
  "GenericException",
  "Unknown",
] as const;
/** One of `ERROR_TYPE_NAMES`. */
export type ErrorTypeName = (typeof ERROR_TYPE_NAMES)[number];

/** An error type: its name, and details such as the exit code. */
export interface ErrorType {
  readonly name: ErrorTypeName;
  /** For example `{exit_code: 101, command: "cargo test"}`. */
  readonly fields?: JsonObject;
}

/** The classes that `decide` depends on. */
export const ERROR_CLASSES = ["transient", "throttled", "outage", "permanent", "unknown"] as const;
/** One of `ERROR_CLASSES`. */
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** Types whose letters a person must review before they run again. */
const NEEDS_PERSON: ReadonlySet<ErrorTypeName> = new Set([
  "PermissionError",
  "BusinessException",
  "ValidationFailed",
  "CommitValidationFailed",
]);

interface ReviewedFailure {
  readonly errorType: ErrorType;
  readonly errorClass: ErrorClass;
  readonly errorMessage: string;
}

/** Whether a letter may be redriven without `--force`, and whether a person must review it first. */
export function reviewOf({ errorType, errorClass, errorMessage }: ReviewedFailure): {
  reprocessEligible: boolean;
  manualReviewRequired: boolean;
} {
  const manualReviewRequired = NEEDS_PERSON.has(errorType.name) || /\bcritical\b/i.test(errorMessage);
  return { reprocessEligible: errorClass !== "permanent" && !manualReviewRequired, manualReviewRequired };
}

export function isErrorTypeName(text: string): text is ErrorTypeName {
  return (ERROR_TYPE_NAMES as readonly string[]).includes(text);
}

export function isErrorClass(text: string): text is ErrorClass {
  return (ERROR_CLASSES as readonly string[]).includes(text);
}

/** Types without fields; what is known besides goes into the context of the failure. */
const PLAIN_TYPES: ReadonlySet<ErrorTypeName> = new Set([
  "Timeout",
  "WorktreeError",
  "MergeConflict",
  "ValidationFailed",
  "CommitValidationFailed",
  "PermissionError",
  "ResourceExhausted",
  "Unknown",
]);

/** The type of the failure record, and its fields as lines for the context. */
export function plainType(type: ErrorType): {
  readonly type: ErrorType;
  readonly context: readonly string[];
} {
  const { name, fields } = type;
  if (fields === undefined || !PLAIN_TYPES.has(name)) return { type, context: [] };
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${fieldText(value)}`);
  return { type: { name }, context: lines };
}

function fieldText(value: Json): string {
  return Array.isArray(value) ? value.map(fieldText).join(", ") : asText(value);
}

/** `"Timeout"`, or `{"CommandFailed": {"exit_code": 101}}`. */
export function errorTypeToJson(type: ErrorType): Json {
  return type.fields === undefined ? type.name : { [type.name]: type.fields };
}

/** Reads both forms. An unknown name becomes `Unknown` with the name in a field. */
export function errorTypeFromJson(json: Json): ErrorType {
  if (typeof json === "string") return named(json, undefined);
  if (!isJsonObject(json)) return { name: "Unknown" };
  const [name, fields] = Object.entries(json)[0] ?? ["Unknown", null];
  return named(name, isJsonObject(fields) ? fields : undefined);
}

function named(name: string, fields: JsonObject | undefined): ErrorType {
  if (!isErrorTypeName(name)) return { name: "Unknown", fields: { ...fields, type: name } };
  return fields === undefined ? { name } : { name, fields };
}

/** The class of each type, where nothing more is known about a failure. */
export const CLASS_OF_TYPE: Readonly<Record<ErrorTypeName, ErrorClass>> = {
  Timeout: "transient",
  CommandFailed: "unknown",
  WorktreeError: "transient",
  MergeConflict: "unknown",
  ValidationFailed: "unknown", // an agent may do better next time
  CommitValidationFailed: "unknown", // an agent may commit next time
  PermissionError: "permanent",
  ResourceExhausted: "transient",
  WorkerLost: "transient", // the machine may be the cause; `decide` counts how often
  ClientError: "permanent",
  RateLimited: "throttled",
  ServerError: "transient",
  TransportError: "transient",
  BusinessException: "permanent",
  ITException: "transient",
  GenericException: "unknown",
  Unknown: "unknown",
};
