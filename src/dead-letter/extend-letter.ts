/**
 * Adds a reported failure to an item's letter: the first one creates the letter, later ones extend its
 * history. Pure.
 */
import { CLASS_OF_TYPE, type ErrorType, reviewOf } from "../item/error-type.ts";
import { type Failure, withPlainType } from "../item/failure.ts";
import type { NewItem } from "../item/item.ts";
import type { Letter } from "../item/letter.ts";
import { classify } from "../retry/classify.ts";
import { compact } from "../std/json.ts";
import { signatureOf } from "../triage/signature.ts";

/** A failure reported by a program. Only the message is required; the rest is derived from it. */
export interface FailureReport extends Partial<Omit<Failure, "attemptNumber" | "errorMessage">> {
  /** A one-line error message. */
  readonly errorMessage: string;
}

export interface Extension {
  readonly jobId: string;
  readonly item: NewItem;
  readonly report: FailureReport;
  /** The existing letter, and how many attempts it has had. */
  readonly before?: { readonly letter: Letter; readonly attempts: number };
  /** When it failed unless the report has a time, in milliseconds since the epoch. */
  readonly now: number;
}

/** Returns the letter with this failure as its last. An existing letter keeps its data. */
export function extendedLetter({ jobId, item, report, before, now }: Extension): Letter {
  const failure = withPlainType(failureOf(report, { number: (before?.attempts ?? 0) + 1, now }));
  const { itemId } = item;
  const itemData = before?.letter.itemData ?? item.data;
  const { signature, pattern } = signatureOf(failure);
  const failureHistory = [...(before?.letter.failureHistory ?? []), failure];
  return {
    revision: 1,
    redriveCount: 0,
    ...before?.letter,
    itemId,
    itemData,
    firstAttempt: before?.letter.firstAttempt ?? failure.timestamp,
    lastAttempt: failure.timestamp,
    failureCount: (before?.letter.failureCount ?? 0) + 1,
    failureHistory,
    errorSignature: signature,
    errorPattern: pattern,
    ...reviewOf(failure.errorType, failure.errorClass, failure.errorMessage),
    jobId,
    queue: jobId,
    state: "dead",
    reason: `reported as failed (attempt ${failure.attemptNumber})`,
  };
}

function failureOf(report: FailureReport, { number, now }: { number: number; now: number }): Failure {
  const stepFailed = report.stepFailed ?? "handler";
  const { errorType, errorClass } = kindOf(report, stepFailed);
  return compact({
    ...report,
    attemptNumber: number,
    timestamp: report.timestamp ?? now,
    errorType,
    errorClass: report.errorClass ?? errorClass,
    agentId: report.agentId ?? "library",
    stepFailed,
    durationMs: report.durationMs ?? 0,
  });
}

/** A given type determines the class; otherwise both are classified as for any failed attempt. */
function kindOf(
  report: FailureReport,
  command: string,
): { errorType: ErrorType; errorClass: Failure["errorClass"] } {
  const { errorType, exitCode, signal, stderrTail, stdoutTail, errorMessage: message } = report;
  if (errorType !== undefined) return { errorType, errorClass: CLASS_OF_TYPE[errorType.name] };
  return classify(compact({ exitCode, signal, stderrTail, stdoutTail, command, message }));
}
