/**
 * From a letter's JSON to a letter with everything that ours have. What a predecessor did not write is worked out from what
 * it did: the class from the type, the group from the last failure, the judgement from both.
 */

import { type ErrorType, errorTypeFromJson, isErrorTypeName, reviewOf } from "../../item/error-type.ts";
import { type Failure, failureFromJson } from "../../item/failure.ts";
import { type Letter, letterFromJson } from "../../item/letter.ts";
import type { JsonObject } from "../../kit/json.ts";
import { CLASS_OF_TYPE } from "../../retry/class-of-type.ts";
import { type Signature, signatureOf } from "../../triage/signature.ts";

/** The shape was looked at before. The id may still be missing. `now` stands for times that nobody wrote down. */
export function completeLetter(json: JsonObject, now: number): Letter {
  const read = letterFromJson(json);
  const times = timesOf(json, read, now);
  const failureHistory = historyOf(json, read, times.lastAttempt);
  const last = failureHistory.at(-1) ?? guessedFailure(read, times.lastAttempt);
  const { signature, pattern } = groupOf(read, last);
  const review = reviewOf(last.errorType, last.errorClass, last.errorMessage);
  const { errorSignature: given, sourceSignature = given } = read;
  return {
    ...read,
    ...times,
    failureCount: Math.max(read.failureCount, failureHistory.length, 1),
    failureHistory,
    errorSignature: signature,
    errorPattern: pattern,
    ...(sourceSignature !== "" && sourceSignature !== signature && { sourceSignature }),
    reprocessEligible: isGiven(json.reprocess_eligible) ? read.reprocessEligible : review.reprocessEligible,
    manualReviewRequired: isGiven(json.manual_review_required)
      ? read.manualReviewRequired
      : review.manualReviewRequired,
    reason: isGiven(json.reason) ? read.reason : `attempts spent (${Math.max(read.failureCount, 1)})`,
  };
}

function isGiven(value: JsonObject[string] | undefined): boolean {
  return value !== undefined && value !== null;
}

function timesOf(
  json: JsonObject,
  { firstAttempt, lastAttempt, failureHistory }: Letter,
  now: number,
): Pick<Letter, "firstAttempt" | "lastAttempt"> {
  const last = isGiven(json.last_attempt) ? lastAttempt : failureHistory.at(-1)?.timestamp || now;
  const first = isGiven(json.first_attempt) ? firstAttempt : failureHistory[0]?.timestamp || last;
  return { firstAttempt: first, lastAttempt: last };
}

function historyOf(json: JsonObject, read: Letter, lastAttempt: number): readonly Failure[] {
  const raw = (json.failure_history ?? []) as readonly JsonObject[];
  return read.failureHistory.map((failure, index) => completeFailure(failure, raw[index] ?? {}, lastAttempt));
}

function completeFailure(failure: Failure, raw: JsonObject, lastAttempt: number): Failure {
  const code = failure.errorType.fields?.exit_code;
  const knowsCode = failure.exitCode === undefined && Number.isSafeInteger(code) && !isGiven(raw.error_class);
  if (isGiven(raw.error_class) && isGiven(raw.timestamp) && !knowsCode) return failure;
  return {
    ...failure,
    ...(!isGiven(raw.error_class) && { errorClass: CLASS_OF_TYPE[failure.errorType.name] }),
    ...(!isGiven(raw.timestamp) && { timestamp: lastAttempt }),
    ...(knowsCode && { exitCode: Number(code) }),
  };
}

/** What a letter without a history most likely died of. It is grouped and judged by it, and never recorded. */
function guessedFailure({ failureCount, errorSignature }: Letter, timestamp: number): Failure {
  const { type, message } = hintOf(errorSignature);
  return {
    ...failureFromJson({ attempt_number: Math.max(failureCount, 1), error_message: message }),
    timestamp,
    errorType: type,
    errorClass: CLASS_OF_TYPE[type.name],
  };
}

/** A predecessor's signature is the beginning of its message: `CommandFailed::cargo test failed with exit`. */
function hintOf(text: string): { readonly type: ErrorType; readonly message: string } {
  const [name = "", message] = text.split(/::(.*)/s);
  if (message !== undefined && isErrorTypeName(name)) return { type: errorTypeFromJson(name), message };
  return { type: { name: "Unknown" }, message: isOurs(text) ? "" : text };
}

function isOurs(signature: string): boolean {
  return /^[0-9a-f]{16}$/.test(signature);
}

function groupOf(letter: Letter, last: Failure): Signature {
  const { errorSignature, errorPattern } = letter;
  if (isOurs(errorSignature) && errorPattern !== "")
    return { signature: errorSignature, pattern: errorPattern };
  const says = `${last.errorMessage}${last.stderrTail ?? ""}${last.stdoutTail ?? ""}`.trim();
  const failure = says === "" ? { ...last, errorMessage: hintOf(errorSignature).message } : last;
  return signatureOf(failure);
}
