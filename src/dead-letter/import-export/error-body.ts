/**
 * Converts failures and letters to and from two formats of other programs: Power Automate's `ErrorBody`, and
 * receipts.
 */

import type { Engine } from "../../engine.ts";
import { contentId } from "../../intake/identity.ts";
import { errorTypeToJson } from "../../item/error-type.ts";
import { type Failure, type KnownSource, sourceToJson, sourceWithDefaults } from "../../item/failure.ts";
import type { Letter } from "../../item/letter.ts";
import { receiptKeyOf } from "../../item/receipt.ts";
import { fromRfc3339, toRfc3339 } from "../../std/clock.ts";
import type { JsonObject } from "../../std/json.ts";

export interface ReportedError extends KnownSource {
  readonly message: string;
  /** Absent for an error that has no failure record, such as an error of the runner itself. */
  readonly failure?: Failure | undefined;
}

/** The seven standard fields, in order. */
export function errorBodyOf({ message, failure, ...known }: ReportedError): JsonObject {
  const step = known.step ?? failure?.stepFailed;
  const source = sourceWithDefaults({ ...known, step, source: known.source ?? failure?.source });
  return {
    ExecutionId: source.executionId,
    DesktopFlow: source.flow,
    Subflow: source.subflow,
    Action: source.action,
    "Action name": source.actionName,
    "Error Message": message,
    "Error Evidence": failure === undefined ? "" : evidenceOf(failure),
  };
}

/** Returns one path: the first evidence file (preferably its stored copy), or else the log. */
function evidenceOf({ evidence, log, jsonLogLocation }: Failure): string {
  const [first] = evidence ?? [];
  return first?.kept ?? first?.path ?? log ?? jsonLogLocation ?? "";
}

export function errorBodiesOf(letter: Letter): readonly JsonObject[] {
  return letter.failureHistory.map((failure) => ({
    ...errorBodyOf({ ...knownOf(letter, failure), message: failure.errorMessage, failure }),
    "Error Type": errorTypeToJson(failure.errorType),
    Timestamp: toRfc3339(failure.timestamp),
    Step: failure.stepFailed,
    Agent: failure.agentId,
    Attempt: failure.attemptNumber,
    "Item Id": letter.itemId,
    "Job Id": letter.jobId,
    "Item Data": letter.itemData,
  }));
}

function knownOf(
  { jobId, queue }: Pick<Letter, "jobId" | "queue">,
  { attemptNumber, agentId, stepFailed }: Pick<Failure, "attemptNumber" | "agentId" | "stepFailed">,
): KnownSource {
  return { jobId, queue, attempt: attemptNumber, holder: agentId, step: stepFailed };
}

export function isErrorBody(json: JsonObject): boolean {
  return "Error Message" in json && "ExecutionId" in json;
}

/** Whether both belong to the same item: consecutive bodies written by Redrive form one letter's history. */
export function isSameItem(one: JsonObject, other: JsonObject): boolean {
  if (!isOurs(one) || !isOurs(other)) return false;
  const [first, second] = [itemOf(one), itemOf(other)];
  return first.job_id === second.job_id && first.item_id === second.item_id;
}

export function letterOfBodies(bodies: readonly JsonObject[], now: number): JsonObject {
  const [first = {}] = bodies;
  const failures = bodies.map((body, index) => failureOf(body, index + 1, now));
  const common = { failure_history: failures, failure_count: failures.length };
  if (!isOurs(first)) return { item_data: first, ...common, first_attempt: timeOf(first, now) };
  return { ...itemOf(first), item_data: first["Item Data"] ?? null, ...common };
}

/**
 * Whether Redrive wrote the body. Bodies from Power Automate name no item, so the body itself becomes the
 * item's data.
 */
function isOurs(body: JsonObject): boolean {
  return "Item Data" in body;
}

/** Accepts only bodies written by Redrive. Older versions stored the job and the item in ExecutionId and Subflow. */
function itemOf(body: JsonObject): { readonly job_id: string; readonly item_id: string } {
  return isOld(body)
    ? { job_id: textOf(body.ExecutionId), item_id: textOf(body.Subflow) }
    : { job_id: textOf(body["Job Id"]), item_id: textOf(body["Item Id"]) };
}

function isOld(body: JsonObject): boolean {
  return isOurs(body) && !("Item Id" in body);
}

function failureOf(body: JsonObject, number: number, now: number): JsonObject {
  const evidence = textOf(body["Error Evidence"]);
  const source = isOld(body) ? {} : sourceOf(body);
  return {
    attempt_number: isOurs(body) ? Number(body.Attempt ?? body.Action) || number : number,
    timestamp: timeOf(body, now),
    error_type: body["Error Type"] ?? "GenericException", // Power Automate's own default
    error_message: body["Error Message"] ?? "",
    agent_id: isOurs(body) ? textOf(body.Agent) : textOf(body.DesktopFlow),
    step_failed: stepOf(body),
    duration_ms: 0,
    ...(evidence !== "" && { evidence: [{ path: evidence }] }),
    ...(Object.keys(source).length > 0 && { source }),
  };
}

/** The source of the failure. For bodies written by Redrive, only the fields that differ from the defaults. */
function sourceOf(body: JsonObject): JsonObject {
  const queue = textOf(body["Job Id"]);
  const [attemptNumber, agentId] = [Number(body.Attempt), textOf(body.Agent)];
  const failure = { attemptNumber, agentId, stepFailed: stepOf(body) };
  const known = sourceWithDefaults(isOurs(body) ? knownOf({ jobId: queue, queue }, failure) : {});
  const own = SOURCE_FIELDS.flatMap(([name, field]) => {
    const text = textOf(body[field]);
    return text === "" || text === known[name] ? [] : [[name, text]];
  });
  return sourceToJson(Object.fromEntries(own));
}

const SOURCE_FIELDS = [
  ["executionId", "ExecutionId"],
  ["flow", "DesktopFlow"],
  ["subflow", "Subflow"],
  ["action", "Action"],
  ["actionName", "Action name"],
] as const;

function stepOf(body: JsonObject): string {
  const name = textOf(body["Action name"]);
  if (isOurs(body)) return isOld(body) ? name : textOf(body.Step);
  return [textOf(body.Subflow), textOf(body.Action), name].filter(Boolean).join(" ");
}

/**
 * Returns the timestamp, or else the start time that Power Automate uses as the run's id: `20260216143022`.
 */
function timeOf(body: JsonObject, now: number): string {
  if (typeof body.Timestamp === "string") return body.Timestamp;
  const digits = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(textOf(body.ExecutionId));
  const began = digits && fromRfc3339(`${digits.slice(1, 4).join("-")}T${digits.slice(4).join(":")}Z`);
  return toRfc3339(began ?? now);
}

function textOf(value: JsonObject[string] | undefined): string {
  return typeof value === "string" ? value : "";
}

export function isReceipt(json: JsonObject): boolean {
  return "receipt" in json && !("item_id" in json);
}

/** The job for receipts that name no job, unless there is exactly one target. */
export const RECEIPTS_JOB = "receipts";

/** Returns the only target's job, so that `receipts recover` delivers imported receipts; otherwise `RECEIPTS_JOB`. */
export async function receiptsJobOf(engine: Engine): Promise<string> {
  const [target, ...others] = await engine.listJobs({ kinds: ["target"], limit: 2 });
  return target !== undefined && others.length === 0 ? target.id : RECEIPTS_JOB;
}

/** Includes the idempotency key only if it differs from the hash of the receipt. */
export function receiptOfLetter(letter: Letter): JsonObject {
  const key = receiptKeyOf(letter);
  return {
    receipt: letter.itemData,
    failed_at: toRfc3339(letter.lastAttempt),
    attempts: attemptsOf(letter),
    ...(key !== contentId(letter.itemData) && { idempotency_key: key }),
  };
}

/** An imported receipt has only its last failure, whose attempt number is then the count. */
function attemptsOf({ failureCount, failureHistory }: Letter): number {
  return Math.max(failureCount, failureHistory.at(-1)?.attemptNumber ?? 0);
}

/**
 * If a receipt has no key, the import derives the id from the content. A receipt contains only its last
 * failure.
 */
export function letterOfReceipt(entry: JsonObject, job: string): JsonObject {
  const attempts = entry.attempts ?? 1;
  return {
    ...(entry.idempotency_key !== undefined && { item_id: entry.idempotency_key }),
    item_data: entry.receipt ?? null,
    last_attempt: entry.failed_at ?? null,
    failure_count: attempts,
    failure_history: [
      {
        attempt_number: attempts,
        timestamp: entry.failed_at ?? null,
        error_type: "Unknown",
        error_message: "The receipt was not delivered.",
        step_failed: "send receipt",
        duration_ms: 0,
      },
    ],
    job_id: entry.job_id ?? job,
  };
}
