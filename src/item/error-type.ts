/** Error types, and error classes, which decide how a failure is handled. */
import { asText, isJsonObject, type Json, type JsonObject } from "../std/json.ts";

/** The error classes that `decide` distinguishes. */
export const ERROR_CLASSES = ["transient", "throttled", "outage", "permanent", "unknown"] as const;
/** One of `ERROR_CLASSES`. */
export type ErrorClass = (typeof ERROR_CLASSES)[number];

interface TypeRule {
  /** The default class of failures of this type. */
  readonly class: ErrorClass;
  /** The type is recorded without fields; their values become lines of the failure's context. */
  readonly isPlain?: true;
  /** A person must review letters of this type before they are redriven. */
  readonly needsPerson?: true;
}

const TYPES = {
  Timeout: { class: "transient", isPlain: true },
  CommandFailed: { class: "unknown" },
  WorktreeError: { class: "transient", isPlain: true },
  MergeConflict: { class: "unknown", isPlain: true },
  VerifyFailed: { class: "unknown", isPlain: true }, // an agent may adapt its work to the others next time
  ValidationFailed: { class: "unknown", isPlain: true, needsPerson: true }, // an agent may succeed next time
  CommitValidationFailed: { class: "unknown", isPlain: true, needsPerson: true }, // an agent may commit next time
  PermissionError: { class: "permanent", isPlain: true, needsPerson: true },
  ResourceExhausted: { class: "transient", isPlain: true },
  WorkerLost: { class: "transient" }, // the machine may be the cause; `decide` counts the losses
  ClientError: { class: "permanent" },
  RateLimited: { class: "throttled" },
  ServerError: { class: "transient" },
  TransportError: { class: "transient" },
  BusinessException: { class: "permanent", needsPerson: true },
  ITException: { class: "transient" },
  GenericException: { class: "unknown" },
  Unknown: { class: "unknown", isPlain: true },
} as const satisfies Readonly<Record<string, TypeRule>>;

/** One of `ERROR_TYPE_NAMES`. */
export type ErrorTypeName = keyof typeof TYPES;

const RULES: Readonly<Record<ErrorTypeName, TypeRule>> = TYPES;

/** The names of all error types. */
export const ERROR_TYPE_NAMES = Object.keys(TYPES) as readonly ErrorTypeName[];

/** Returns the default class of an error type. */
export function classOfType(name: ErrorTypeName): ErrorClass {
  return RULES[name].class;
}

/** An error type: its name, and details such as the exit code. */
export interface ErrorType {
  readonly name: ErrorTypeName;
  /** For example `{exit_code: 101, command: "cargo test"}`. */
  readonly fields?: JsonObject;
}

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
  const manualReviewRequired =
    RULES[errorType.name].needsPerson === true || /\bcritical\b/i.test(errorMessage);
  return { reprocessEligible: errorClass !== "permanent" && !manualReviewRequired, manualReviewRequired };
}

export function isErrorTypeName(text: string): text is ErrorTypeName {
  return Object.hasOwn(TYPES, text);
}

export function isErrorClass(text: string): text is ErrorClass {
  return (ERROR_CLASSES as readonly string[]).includes(text);
}

/** Returns the type to record and, for a plain type, its fields as context lines. */
export function plainType(type: ErrorType): {
  readonly type: ErrorType;
  readonly context: readonly string[];
} {
  const { name, fields } = type;
  if (fields === undefined || !RULES[name].isPlain) return { type, context: [] };
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${fieldText(value)}`);
  return { type: { name }, context: lines };
}

function fieldText(value: Json): string {
  return Array.isArray(value) ? value.map(fieldText).join(", ") : asText(value);
}

/** Converts a type to `"Timeout"` or, with fields, to `{"CommandFailed": {"exit_code": 101}}`. */
export function errorTypeToJson(type: ErrorType): Json {
  return type.fields === undefined ? type.name : { [type.name]: type.fields };
}

/** Reads either JSON form. An unknown name becomes `Unknown` with the name in a field. */
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
