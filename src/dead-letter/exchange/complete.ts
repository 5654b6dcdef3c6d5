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
  const last = failureHistory.at(-1) as Failure;
  const { signature, pattern } = groupOf(read, last);
  const review = reviewOf(last.errorType, last.errorClass, last.errorMessage);
  return {
    ...read,
    ...times,
    failureHistory,
    errorSignature: signature,
    errorPattern: pattern,
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

/** At least one failure: a letter died of something, even when nobody wrote down of what. */
function historyOf(json: JsonObject, read: Letter, lastAttempt: number): readonly Failure[] {
  if (read.failureHistory.length === 0) return [onlyFailure(read, lastAttempt)];
  const raw = json.failure_history as readonly JsonObject[];
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

function onlyFailure({ failureCount, errorSignature }: Letter, timestamp: number): Failure {
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
