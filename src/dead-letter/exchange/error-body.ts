/**
 * Failures in the words of Power Automate's error queues: an `ErrorBody` for each. Its seven fields name the place from
 * large to small; more of ours, behind them, say what makes a letter of it again. The error log speaks it too.
 */
import { errorTypeToJson } from "../../item/error-type.ts";
import type { Failure } from "../../item/failure.ts";
import { type KnownPlace, placeOf, SOURCE_FIELDS } from "../../item/failure-source.ts";
import type { Letter } from "../../item/letter.ts";
import { fromRfc3339, toRfc3339 } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";

/** What a body tells of: an error and its place. */
export interface ToldError extends KnownPlace {
  readonly message: string;
  /** Absent for an error without a record of its own, such as one of the runner. */
  readonly failure?: Failure | undefined;
}

/** The seven fields, in their order. */
export function errorBodyOf({ message, failure, ...known }: ToldError): JsonObject {
  const step = known.step ?? failure?.stepFailed;
  const place = placeOf({ ...known, step, source: known.source ?? failure?.source });
  return {
    ExecutionId: place.executionId,
    DesktopFlow: place.flow,
    Subflow: place.subflow,
    Action: place.action,
    "Action name": place.actionName,
    "Error Message": message,
    "Error Evidence": failure === undefined ? "" : evidenceOf(failure),
  };
}

/** One file of it: the first that the work named, its copy if there is one; else its log. */
function evidenceOf({ evidence, log, jsonLogLocation }: Failure): string {
  const [first] = evidence ?? [];
  return first?.kept ?? first?.path ?? log ?? jsonLogLocation ?? "";
}

/** One for each failure of a letter, oldest first. */
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
): KnownPlace {
  return { jobId, queue, attempt: attemptNumber, holder: agentId, step: stepFailed };
}

/** True for an object of this form. */
export function isErrorBody(json: JsonObject): boolean {
  return "Error Message" in json && "ExecutionId" in json;
}

/** True when both are of one item: of ours, those that follow one another are one letter's history. */
export function isSameItem(one: JsonObject, other: JsonObject): boolean {
  if (!isOurs(one) || !isOurs(other)) return false;
  const [first, second] = [itemOf(one), itemOf(other)];
  return first.job_id === second.job_id && first.item_id === second.item_id;
}

/** The letter that these bodies tell of, in the form of a letter's JSON. There is at least one. */
export function letterOfBodies(bodies: readonly JsonObject[], now: number): JsonObject {
  const [first = {}] = bodies;
  const failures = bodies.map((body, index) => failureOf(body, index + 1, now));
  const common = { failure_history: failures, failure_count: failures.length };
  if (!isOurs(first)) return { item_data: first, ...common, first_attempt: timeOf(first, now) };
  return { ...itemOf(first), item_data: first["Item Data"] ?? null, ...common };
}

/** A body of the framework itself does not say which item failed: then all that it says is the item's data. */
function isOurs(body: JsonObject): boolean {
  return "Item Data" in body;
}

/** Of ours. Before the item had fields of its own, the job and the item stood where the run and the part stand now. */
function itemOf(body: JsonObject): { readonly job_id: string; readonly item_id: string } {
  return isOld(body)
    ? { job_id: textOf(body.ExecutionId), item_id: textOf(body.Subflow) }
    : { job_id: textOf(body["Job Id"]), item_id: textOf(body["Item Id"]) };
}

function isOld(body: JsonObject): boolean {
  return isOurs(body) && !("Item Id" in body);
}

function failureOf(body: JsonObject, place: number, now: number): JsonObject {
  const evidence = textOf(body["Error Evidence"]);
  const source = isOld(body) ? {} : sourceOf(body);
  return {
    attempt_number: isOurs(body) ? Number(body.Attempt ?? body.Action) || place : place,
    timestamp: timeOf(body, now),
    error_type: body["Error Type"] ?? "GenericException", // what the framework marks such an item with
    error_message: body["Error Message"] ?? "",
    agent_id: isOurs(body) ? textOf(body.Agent) : textOf(body.DesktopFlow),
    step_failed: stepOf(body),
    duration_ms: 0,
    ...(evidence !== "" && { evidence: [{ path: evidence }] }),
    ...(Object.keys(source).length > 0 && { source }),
  };
}

/** What the work said of its place: all that a body of the framework says; of ours, what is not as it would be anyway. */
function sourceOf(body: JsonObject): JsonObject {
  const queue = textOf(body["Job Id"]);
  const failure = {
    attemptNumber: Number(body.Attempt),
    agentId: textOf(body.Agent),
    stepFailed: stepOf(body),
  };
  const known = isOurs(body) ? placeOf(knownOf({ jobId: queue, queue }, failure)) : placeOf({});
  const said = {
    executionId: textOf(body.ExecutionId),
    flow: textOf(body.DesktopFlow),
    subflow: textOf(body.Subflow),
    action: textOf(body.Action),
    actionName: textOf(body["Action name"]),
  };
  const names = Object.keys(SOURCE_FIELDS) as readonly (keyof typeof SOURCE_FIELDS)[];
  const own = names.filter((name) => said[name] !== "" && said[name] !== known[name]);
  return Object.fromEntries(own.map((name) => [SOURCE_FIELDS[name], said[name]]));
}

function stepOf(body: JsonObject): string {
  const name = textOf(body["Action name"]);
  if (isOurs(body)) return isOld(body) ? name : textOf(body.Step);
  return [textOf(body.Subflow), textOf(body.Action), name].filter(Boolean).join(" ");
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
