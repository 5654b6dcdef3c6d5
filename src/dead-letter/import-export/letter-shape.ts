/** Validates imported letters. A field of the wrong type is refused: taking it for absent would lose data. */
import { idProblem } from "../../intake/identity.ts";
import { letterProblem } from "../../item/letter.ts";
import type { Json, JsonObject } from "../../std/json.ts";

/** Fields as version 0.1 exported them, and their names now. */
const RENAMED: Readonly<Record<string, string>> = { toxic: "poison", evidence: "late_results" };

export function withCurrentNames(json: JsonObject): JsonObject {
  if (!Object.keys(RENAMED).some((old) => old in json)) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [RENAMED[name] ?? name, value]));
}

/** Returns the first problem, or undefined. Calls `onUnknown` with the names of unknown fields. */
export function shapeProblem(json: JsonObject, onUnknown: (field: string) => void): string | undefined {
  const wrong = ["item_id", "job_id"].find((name) => !isId(json[name] ?? ""));
  if (wrong !== undefined)
    return `${wrong} is not an id: a text of at most 512 bytes without control characters`;
  return letterProblem(json, onUnknown) ?? notALetter(json);
}

function isId(value: Json): boolean {
  return value === "" || (typeof value === "string" && idProblem(value) === undefined);
}

/** Only a letter has these. A record without them may be anything, such as the result of a success. */
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
