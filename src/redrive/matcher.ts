/** Asks a CEL expression about a letter. Loaded only when there is one to ask. */
import { WorkError } from "../errors.ts";
import { failureToJson } from "../item/failure.ts";
import { type Letter, letterToJson } from "../item/letter.ts";
import { type ExpressionVariables, type KnownVariables, requireExpression } from "../kit/expression.ts";
import type { JsonObject } from "../kit/json.ts";

/** What an expression about letters can name. A field that no letter has is refused before anything is asked. */
export const LETTER_VARIABLES: KnownVariables = new Map<string, readonly string[] | "any">([
  [
    "letter",
    [
      ...["item_id", "item_data", "first_attempt", "last_attempt", "failure_count", "failure_history"],
      ...["error_signature", "error_pattern", "reprocess_eligible", "manual_review_required"],
      ...["worktree_artifacts", "job_id", "queue", "state", "reason", "revision", "redrive_count", "toxic"],
      ...["evidence", "amendments", "notes", "resolution"],
    ],
  ],
  ["item", "any"],
  [
    "failure",
    [
      ...["attempt_number", "timestamp", "error_type", "error_class", "error_message", "error_context"],
      ...[
        "stack_trace",
        "agent_id",
        "step_failed",
        "duration_ms",
        "json_log_location",
        "exit_code",
        "signal",
      ],
      ...["stdout_tail", "stderr_tail", "log", "evidence"],
    ],
  ],
]);

/** The values of those names. A letter from elsewhere may have no failure; then `failure` has no fields. */
export function letterVariables(letter: Letter): ExpressionVariables {
  return { letter: letterToJson(letter), item: letter.itemData, failure: lastFailure(letter) };
}

function lastFailure({ failureHistory }: Letter): JsonObject {
  const last = failureHistory.at(-1);
  return last === undefined ? {} : failureToJson(last);
}

/** Compiles, or refuses with `filter_invalid`. A letter about which it has no answer is an error too, and no match. */
export function compileMatcher(where: string): (letter: Letter) => boolean {
  const evaluate = requireExpression(where, LETTER_VARIABLES, "The filter");
  const variablesOf = variablesFor(where);
  return (letter) => {
    const answer = evaluate(variablesOf(letter));
    if (answer.ok) return answer.value;
    throw new WorkError(
      "filter_invalid",
      `The filter "${where}" has no answer for ${letter.itemId} of ${letter.jobId}: ${answer.message}.`,
      { hint: "Guard a field that not every letter has: has(item.x) && item.x > 3." },
    );
  };
}

/** Making the whole letter costs more than the question, so it is made only where the text speaks of it. */
function variablesFor(where: string): (letter: Letter) => ExpressionVariables {
  const ofFailure = /\bfailure\b/.test(where) ? lastFailure : () => ({});
  if (!/\bletter\b/.test(where)) {
    return (letter) => ({ item: letter.itemData, failure: ofFailure(letter) });
  }
  if (/\bfailure_history\b|\bletter\b(?!\s*\.)/.test(where)) return letterVariables;
  return (letter) => ({
    letter: letterToJson({ ...letter, failureHistory: [] }), // its length is in failure_count
    item: letter.itemData,
    failure: ofFailure(letter),
  });
}
