/**
 * Validates the JSON of imported letters. A field of the wrong type is refused, because treating it as absent
 * would lose data.
 */
import { idProblem } from "../../intake/identity.ts";
import { isEvidenceList } from "../../item/failure.ts";
import { ATTEMPTS_MAX } from "../../item/imported-letter.ts";
import { parseItemState } from "../../item/state.ts";
import { fromRfc3339 } from "../../std/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../../std/json.ts";

/** A check, and the message if it fails. */
type Kind = readonly [fits: (value: Json) => boolean, is: string];

const TEXT: Kind = [(value) => typeof value === "string", "not text"];
const FLAG: Kind = [(value) => typeof value === "boolean", "neither true nor false"];
const COUNT: Kind = [
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  "not a whole number from 0 on",
];
const FAILURES: Kind = [
  (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= ATTEMPTS_MAX,
  `not a whole number from 0 to ${ATTEMPTS_MAX}`,
];
const INTEGER: Kind = [(value) => Number.isSafeInteger(value), "not a whole number"];
const SPAN: Kind = [(value) => typeof value === "number" && value >= 0, "not a number of milliseconds"];
const TIME: Kind = [(value) => typeof value === "string" && fromRfc3339(value) !== undefined, "not a time"];
const STATE: Kind = [
  (value) => typeof value === "string" && parseItemState(value) !== undefined,
  "not a state",
];
const OBJECT: Kind = [isJsonObject, "not an object"];
const OBJECTS: Kind = [(value) => Array.isArray(value) && value.every(isJsonObject), "not a list of objects"];
const TEXTS: Kind = [
  (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  "not a list of texts",
];
const FILES: Kind = [isEvidenceList, "neither a list of paths nor of files with a path"];
const TYPE: Kind = [(value) => typeof value === "string" || isJsonObject(value), "not an error type"];
const ID: Kind = [
  (value) => typeof value === "string" && (value === "" || idProblem(value) === undefined),
  "not an id: a text of at most 512 bytes without control characters",
];
const ANY: Kind = [() => true, ""];

type Shape = ReadonlyMap<string, Kind>;

const LETTER: Shape = new Map([
  ["item_id", ID],
  ["item_data", ANY],
  ["first_attempt", TIME],
  ["last_attempt", TIME],
  ["failure_count", FAILURES],
  ["failure_history", OBJECTS],
  ["error_signature", TEXT],
  ["error_pattern", TEXT],
  ["source_signature", TEXT],
  ["reprocess_eligible", FLAG],
  ["manual_review_required", FLAG],
  ["worktree_artifacts", OBJECT],
  ["job_id", ID],
  ["queue", TEXT],
  ["state", STATE],
  ["reason", TEXT],
  ["revision", COUNT],
  ["redrive_count", COUNT],
  ["poison", FLAG],
  ["late_results", OBJECTS],
  ["amendments", OBJECTS],
  ["notes", OBJECTS],
  ["resolution", OBJECT],
]);

const FAILURE: Shape = new Map([
  ["attempt_number", COUNT],
  ["timestamp", TIME],
  ["error_type", TYPE],
  ["error_class", TEXT],
  ["error_message", TEXT],
  ["error_context", TEXTS],
  ["stack_trace", TEXT],
  ["agent_id", TEXT],
  ["step_failed", TEXT],
  ["duration_ms", SPAN],
  ["json_log_location", TEXT],
  ["exit_code", INTEGER],
  ["signal", TEXT],
  ["stdout_tail", TEXT],
  ["stderr_tail", TEXT],
  ["log", TEXT],
  ["evidence", FILES],
  ["source", OBJECT],
]);

const ARTIFACTS: Shape = new Map([
  ["worktree_path", TEXT],
  ["branch_name", TEXT],
  ["head", TEXT],
  ["uncommitted_changes", TEXT],
  ["error_logs", TEXT],
  ["preserved", FLAG],
]);

/** Fields as version 0.1 exported them, and their names now. */
const RENAMED: Readonly<Record<string, string>> = { toxic: "poison", evidence: "late_results" };

export function withCurrentNames(json: JsonObject): JsonObject {
  if (!Object.keys(RENAMED).some((old) => old in json)) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [RENAMED[name] ?? name, value]));
}

/** Returns the first problem, or undefined. Calls `onUnknown` with the names of unknown fields. */
export function shapeProblem(json: JsonObject, onUnknown: (field: string) => void): string | undefined {
  const problem = problemIn(json, LETTER, "", onUnknown);
  if (problem !== undefined) return problem;
  const history = (json.failure_history ?? []) as readonly JsonObject[];
  for (const [index, failure] of history.entries()) {
    const inside = problemIn(failure, FAILURE, `failure_history[${index}].`, onUnknown);
    if (inside !== undefined) return inside;
  }
  const artifacts = (json.worktree_artifacts ?? {}) as JsonObject;
  return problemIn(artifacts, ARTIFACTS, "worktree_artifacts.", onUnknown) ?? notALetter(json);
}

/**
 * The fields that only a letter has. A record without them may be anything, such as the result of a success.
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

function problemIn(
  json: JsonObject,
  shape: Shape,
  path: string,
  onUnknown: (field: string) => void,
): string | undefined {
  for (const name in json) {
    const kind = shape.get(name);
    const value = json[name] ?? null;
    if (kind === undefined) onUnknown(`${path.replace(/\d+/, "")}${name}`);
    else if (value !== null && !kind[0](value)) return `${path}${name} is ${kind[1]}`; // null means absent
  }
  return undefined;
}
