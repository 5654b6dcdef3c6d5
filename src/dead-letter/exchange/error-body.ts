/**
 * Failures in the words of Power Automate's error queues: an `ErrorBody` for each. Its seven fields name the place from
 * large to small; three more of ours say what makes a letter of it again.
 */
import type { Failure } from "../../item/failure.ts";
import { failureToJson } from "../../item/failure.ts";
import type { Letter } from "../../item/letter.ts";
import { fromRfc3339, toRfc3339 } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";

/** One for each failure of a letter, oldest first. */
export function errorBodiesOf(letter: Letter): readonly JsonObject[] {
  return letter.failureHistory.map((failure) => ({
    ExecutionId: letter.jobId,
    DesktopFlow: letter.queue,
    Subflow: letter.itemId,
    Action: String(failure.attemptNumber),
    "Action name": failure.stepFailed,
    "Error Message": failure.errorMessage,
    "Error Evidence": evidenceOf(failure),
    "Error Type": failureToJson(failure).error_type ?? "Unknown",
    Timestamp: toRfc3339(failure.timestamp),
    "Item Data": letter.itemData,
  }));
}

/** One file of it: the first that the work named, else its log. */
function evidenceOf({ evidence, log, jsonLogLocation }: Failure): string {
  return evidence?.[0] ?? log ?? jsonLogLocation ?? "";
}

/** True for an object of this form. */
export function isErrorBody(json: JsonObject): boolean {
  return "Error Message" in json && "ExecutionId" in json;
}

/** True when both are of one item: of ours, those that follow one another are one letter's history. */
export function isSameItem(one: JsonObject, other: JsonObject): boolean {
  return (
    isOurs(one) && isOurs(other) && one.ExecutionId === other.ExecutionId && one.Subflow === other.Subflow
  );
}

/** The letter that these bodies tell of, in the form of a letter's JSON. There is at least one. */
export function letterOfBodies(bodies: readonly JsonObject[], now: number): JsonObject {
  const [first = {}] = bodies;
  const failures = bodies.map((body, index) => failureOf(body, index + 1, now));
  const common = { failure_history: failures, failure_count: failures.length };
  if (!isOurs(first)) return { item_data: first, ...common, first_attempt: timeOf(first, now) };
  return {
    item_id: first.Subflow ?? "",
    item_data: first["Item Data"] ?? null,
    job_id: first.ExecutionId ?? "",
    ...common,
  };
}

/** A body of the framework itself does not say which item failed: then all that it says is the item's data. */
function isOurs(body: JsonObject): boolean {
  return "Item Data" in body;
}

function failureOf(body: JsonObject, place: number, now: number): JsonObject {
  const evidence = body["Error Evidence"];
  return {
    attempt_number: isOurs(body) ? Number(body.Action) || place : place,
    timestamp: timeOf(body, now),
    error_type: body["Error Type"] ?? "GenericException", // what the framework marks such an item with
    error_message: body["Error Message"] ?? "",
    agent_id: isOurs(body) ? "" : textOf(body.DesktopFlow),
    step_failed: stepOf(body),
    duration_ms: 0,
    ...(typeof evidence === "string" && evidence !== "" && { evidence: [evidence] }),
  };
}

function stepOf(body: JsonObject): string {
  const name = textOf(body["Action name"]);
  return isOurs(body) ? name : [textOf(body.Subflow), textOf(body.Action), name].filter(Boolean).join(" ");
}

/** The framework names a run by the time at which it began: `20260216143022`. */
function timeOf(body: JsonObject, now: number): string {
  if (typeof body.Timestamp === "string") return body.Timestamp;
  const digits = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(textOf(body.ExecutionId));
  const began = digits && fromRfc3339(`${digits.slice(1, 4).join("-")}T${digits.slice(4).join(":")}Z`);
  return toRfc3339(began ?? now);
}

function textOf(value: JsonObject[string] | undefined): string {
  return typeof value === "string" ? value : "";
}
