/**
 * The exceptions that a handler throws to say whose fault a failure is, and how anything thrown is read for it. They are
 * known by name, so that an error of the user's own class, or of another copy of this library, says the same.
 */
import type { ErrorTypeName } from "../item/error-type.ts";
import { compact } from "../item/failure.ts";
import type { FailureSource } from "../item/failure-source.ts";
import { clampDelayMs } from "./backoff.ts";

/** Where it happened, what shows it, and when to come back. */
export interface ExceptionOptions extends ErrorOptions, FailureSource {
  /** The step that failed. Default: `handler`. */
  readonly step?: string;
  /** Files that show what happened, absolute or from the folder that the process runs in. */
  readonly evidence?: readonly string[];
  /** How long to wait before the next try. Default: as the policy says. */
  readonly retryAfterMs?: number;
}

/** What the three have in common. */
export abstract class WorkException extends Error {
  readonly options: ExceptionOptions;

  constructor(message: string, options: ExceptionOptions = {}) {
    super(message, options);
    this.options = options;
  }
}

/** The item itself is wrong: it is not tried again, and a person has to look. */
export class BusinessException extends WorkException {
  override readonly name = "BusinessException";
}

/** Something that the work needs was not there: it is tried again up to Max Retries, then it is dead. */
export class ITException extends WorkException {
  override readonly name = "ITException";
}

/** Anything else: it is tried again up to Max Retries, then it is dead. */
export class GenericException extends WorkException {
  override readonly name = "GenericException";
}

/** What a thrown value says in these words. */
export interface ReadException {
  readonly type?: ErrorTypeName;
  readonly step?: string;
  readonly source?: FailureSource;
  readonly evidence?: readonly string[];
  readonly retryAfterMs?: number;
}

const NAMES = ["BusinessException", "ITException", "GenericException"] as const satisfies ErrorTypeName[];

/** Never throws, whatever was thrown. */
export function readException(value: unknown): ReadException {
  if (typeof value !== "object" || value === null) return {};
  try {
    return read(value as { name?: unknown; options?: unknown; retryAfterMs?: unknown });
  } catch {
    return {}; // a property that throws says nothing
  }
}

function read({
  name,
  options,
  retryAfterMs,
}: {
  name?: unknown;
  options?: unknown;
  retryAfterMs?: unknown;
}) {
  const type = NAMES.find((known) => known === name);
  const said = (
    type !== undefined && typeof options === "object" ? options : null
  ) as ExceptionOptions | null;
  const source = compact({
    executionId: textOf(said?.executionId),
    flow: textOf(said?.flow),
    subflow: textOf(said?.subflow),
    action: textOf(said?.action),
    actionName: textOf(said?.actionName),
  });
  const evidence = Array.isArray(said?.evidence)
    ? said.evidence.filter((path) => typeof path === "string")
    : [];
  return compact({
    type,
    step: textOf(said?.step),
    source: Object.keys(source).length > 0 ? source : undefined,
    evidence: evidence.length > 0 ? evidence : undefined,
    retryAfterMs: delayOf(said?.retryAfterMs ?? retryAfterMs),
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function delayOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? clampDelayMs(value) : undefined;
}
