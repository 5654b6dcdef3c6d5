/** Turns the records of a file into letters: detects the kind of each record and validates it. */
import { Identity, idProblem } from "../../intake/identity.ts";
import {
  classOfType,
  type ErrorType,
  errorTypeFromJson,
  isErrorTypeName,
  reviewOf,
} from "../../item/error-type.ts";
import { type Failure, failureFromJson } from "../../item/failure.ts";
import { type Letter, letterFromJson, letterProblem } from "../../item/letter.ts";
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";
import { type Signature, signatureOf } from "../../triage/signature.ts";
import { isErrorBody, isReceipt, isSameItem, letterOfBodies, letterOfReceipt } from "./error-body.ts";
import type { ImportFormat } from "./reading.ts";
import { originOf, type RawRecord, type RecordLocation, type Refusal } from "./reading.ts";

export type FoundLetter = {
  readonly letter: Letter;
  readonly location: RecordLocation;
  readonly bytes: number;
};

export interface LetterReaderOptions {
  readonly format?: ImportFormat;
  readonly job?: string;
  readonly defaultJob: string;
  readonly receiptsJob: string;
  readonly now: number;
}

const UNKNOWN_FIELDS_MAX = 20;

/** Processes records in order. Consecutive failures of one item become one letter. */
export class LetterReader {
  readonly unknownFields = new Set<string>();
  foreignSignatures = 0;
  readonly #options: LetterReaderOptions;
  readonly #names = new Map<string, Identity>();
  #bodies: JsonObject[] = [];
  #bodiesFrom: RawRecord | undefined;

  constructor(options: LetterReaderOptions) {
    this.#options = options;
  }

  /** Yields the letters and refusals that this record completes, including those of earlier records. */
  *take(record: RawRecord): Generator<FoundLetter | Refusal> {
    const { data } = record;
    if (isJsonObject(data) && this.#kindOf(data) === "error-body") return yield* this.#takeBody(record, data);
    yield* this.rest();
    if (!isJsonObject(data)) yield { location: record.location, why: "not an object" };
    else if (this.#kindOf(data) !== "receipts") yield this.#letter(data, record);
    else if (!("receipt" in data)) yield { location: record.location, why: "it has no receipt" };
    else yield this.#letter(letterOfReceipt(data, this.#options.receiptsJob), record);
  }

  *rest(): Generator<FoundLetter | Refusal> {
    const [bodies, from] = [this.#bodies, this.#bodiesFrom];
    this.#bodies = [];
    this.#bodiesFrom = undefined;
    if (from !== undefined) yield this.#letter(letterOfBodies(bodies, this.#options.now), from);
  }

  #kindOf(json: JsonObject): "letter" | "error-body" | "receipts" {
    const { format } = this.#options;
    if (format === "error-body" || format === "receipts") return format;
    if (isErrorBody(json)) return "error-body";
    return isReceipt(json) ? "receipts" : "letter";
  }

  *#takeBody(record: RawRecord, body: JsonObject): Generator<FoundLetter | Refusal> {
    if (!("Error Message" in body))
      return yield { location: record.location, why: "it has no Error Message" };
    const [first] = this.#bodies;
    if (first === undefined || !isSameItem(first, body)) yield* this.rest();
    this.#bodies.push(body);
    this.#bodiesFrom ??= record;
  }

  #letter(given: JsonObject, { location, bytes, folderJob }: RawRecord): FoundLetter | Refusal {
    const json = withCurrentNames(given);
    const unknown: string[] = [];
    const why = shapeProblem(json, (field) => unknown.push(field));
    if (why !== undefined) return { location, why };
    for (const field of unknown)
      if (this.unknownFields.size < UNKNOWN_FIELDS_MAX) this.unknownFields.add(field);
    const letter = completeLetter(json, this.#options.now);
    const jobId = this.#options.job ?? (letter.jobId || folderJob || this.#options.defaultJob);
    const problem = jobId === letter.jobId ? undefined : idProblem(jobId);
    if (problem !== undefined)
      return { location, why: `the name of its folder or file, which would be the job name, ${problem}` };
    if (letter.sourceSignature !== undefined && !json.source_signature) this.foreignSignatures += 1;
    const itemId = letter.itemId || this.#nameFor(jobId, letter, location);
    return { letter: { ...letter, itemId, jobId, queue: jobId }, location, bytes };
  }

  /** Derives an id from the content, never from the position. A second item with the same content gets the suffix `-2`. */
  #nameFor(jobId: string, { itemData }: Letter, { file, line = 1 }: RecordLocation): string {
    const names = this.#names.get(jobId) ?? new Identity(originOf(file), {});
    this.#names.set(jobId, names);
    return names.itemOf({ data: itemData, line })?.itemId ?? "";
  }
}

/** Fills in missing fields of a validated letter, except the id. `now` replaces missing times. */
export function completeLetter(json: JsonObject, now: number): Letter {
  const read = letterFromJson(json);
  const times = timesOf(json, read, now);
  const failureHistory = historyOf(json, read, times.lastAttempt);
  const last = failureHistory.at(-1) ?? guessedFailure(read, times.lastAttempt);
  const { signature, pattern } = groupOf(read, last);
  const review = reviewOf(last);
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
    reason: isGiven(json.reason) ? read.reason : outOfRetries(Math.max(read.failureCount, 1)),
  };
}

/** The reason of a letter that was written without one. */
function outOfRetries(attempts: number): string {
  return `out of retries (${attempts} ${attempts === 1 ? "attempt" : "attempts"} used)`;
}

function isGiven(value: JsonObject[string] | undefined): boolean {
  return value !== undefined && value !== null;
}

function timesOf(json: JsonObject, { firstAttempt, lastAttempt, failureHistory }: Letter, now: number) {
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
    ...(!isGiven(raw.error_class) && { errorClass: classOfType(failure.errorType.name) }),
    ...(!isGiven(raw.timestamp) && { timestamp: lastAttempt }),
    ...(knowsCode && { exitCode: Number(code) }),
  };
}

/** The probable failure of a letter without a history, for its group and eligibility. Not recorded. */
function guessedFailure({ failureCount, errorSignature }: Letter, timestamp: number): Failure {
  const { type, message } = hintOf(errorSignature);
  return {
    ...failureFromJson({ attempt_number: Math.max(failureCount, 1), error_message: message }),
    timestamp,
    errorType: type,
    errorClass: classOfType(type.name),
  };
}

/** Parses a signature of Prodigy and mmm, which is the start of the message: `CommandFailed::cargo test failed`. */
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
  const text = `${last.errorMessage}${last.stderrTail ?? ""}${last.stdoutTail ?? ""}`.trim();
  const failure = text === "" ? { ...last, errorMessage: hintOf(errorSignature).message } : last;
  return signatureOf(failure);
}

/** The field names of version 0.1 and their current names. */
const RENAMED: Readonly<Record<string, string>> = { toxic: "poison", evidence: "late_results" };

export function withCurrentNames(json: JsonObject): JsonObject {
  if (!Object.keys(RENAMED).some((old) => old in json)) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [RENAMED[name] ?? name, value]));
}

/** Returns the first problem, or undefined. Calls `onUnknown` with the names of unknown fields. */
export function shapeProblem(json: JsonObject, onUnknown: (field: string) => void): string | undefined {
  const wrong = ["item_id", "job_id"].find((name) => !isId(json[name] ?? ""));
  if (wrong !== undefined)
    return `${wrong} is not an id: ids have at most 512 bytes and no control characters`;
  return letterProblem(json, onUnknown) ?? notALetter(json);
}

function isId(value: Json): boolean {
  return value === "" || (typeof value === "string" && idProblem(value) === undefined);
}

/**
 * Fields that only letters have. A record without them may be something else, such as the result of a
 * successful item.
 */
const LETTER_FIELDS = ["failure_history", "failure_count", "error_signature", "error_pattern", "reason"];

function notALetter(json: JsonObject): string | undefined {
  if (!json.item_id && !("item_data" in json)) {
    const isFailure = "error_message" in json && "attempt_number" in json;
    return isFailure
      ? "it is a single failure, not a letter: it names no item"
      : "it has neither item_id nor item_data";
  }
  if (LETTER_FIELDS.some((name) => isPresent(json[name]))) return undefined;
  return `it is not a letter: it has no failure (${LETTER_FIELDS.slice(0, 3).join(", ")})`;
}

function isPresent(value: Json | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}
