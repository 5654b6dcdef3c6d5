/** One more failure of an item, as a letter: the first one makes the letter, each later one makes its history longer. Pure. */
import { type ErrorType, reviewOf } from "../item/error-type.ts";
import { compact, type Failure, withPlainType } from "../item/failure.ts";
import type { NewItem } from "../item/item.ts";
import type { Letter } from "../item/letter.ts";
import { CLASS_OF_TYPE } from "../retry/class-of-type.ts";
import { classify } from "../retry/classify.ts";
import { signatureOf } from "../triage/signature.ts";

/** What is known of a failed try. Only the message is needed; the rest is worked out from what is given. */
export interface FailureReport extends Partial<Omit<Failure, "attemptNumber" | "errorMessage">> {
  /** What went wrong, in a line. */
  readonly errorMessage: string;
}

export interface Extension {
  readonly jobId: string;
  readonly item: NewItem;
  readonly report: FailureReport;
  /** What is there already, and how many attempts it has had. */
  readonly before?: { readonly letter: Letter; readonly attempts: number };
  /** When it failed, unless the report says so, in milliseconds since the epoch. */
  readonly now: number;
}

/** The letter with this failure as its last. What is there keeps its data. */
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

/** A type that is given has its own class; else both are told by the signs, as in any failed attempt. */
function kindOf(
  report: FailureReport,
  command: string,
): { errorType: ErrorType; errorClass: Failure["errorClass"] } {
  const { errorType, exitCode, signal, stderrTail, stdoutTail, errorMessage: message } = report;
  if (errorType !== undefined) return { errorType, errorClass: CLASS_OF_TYPE[errorType.name] };
  return classify(compact({ exitCode, signal, stderrTail, stdoutTail, command, message }));
}
