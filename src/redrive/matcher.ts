/** Asks a CEL expression about a letter. Loaded only when there is one to ask. */
import type { LetterPart } from "../engine.ts";
import { WorkError } from "../errors.ts";
import { FAILURE_FIELDS, type FailureField, failureFieldsToJson } from "../item/failure.ts";
import { LETTER_FIELDS, type Letter, letterFieldsToJson, letterToJson } from "../item/letter.ts";
import { type ExpressionVariables, type KnownVariables, requireExpression } from "../kit/expression.ts";
import type { JsonObject } from "../kit/json.ts";
import { lazyLetter, type Reading } from "./lazy-letter.ts";
import { firstParts, type NamedFields, namedIn } from "./named-parts.ts";

/** What an expression about letters can name. A field that no letter has is refused before anything is asked. */
export const LETTER_VARIABLES: KnownVariables = new Map<string, readonly string[] | "any">([
  ["letter", LETTER_FIELDS],
  ["item", "any"],
  ["failure", FAILURE_FIELDS],
]);

/** The values of those names. A letter from elsewhere may have no failure; then `failure` has no fields. */
export function letterVariables(letter: Letter): ExpressionVariables {
  return {
    letter: letterToJson(letter),
    item: letter.itemData,
    failure: lastFailure(letter, FAILURE_FIELDS),
  };
}

function lastFailure({ failureHistory }: Letter, fields: readonly FailureField[]): JsonObject {
  const last = failureHistory.at(-1);
  return last === undefined ? {} : failureFieldsToJson(last, fields);
}

/** Compiles, or refuses with `filter_invalid`. A letter about which it has no answer is an error too, and no match. */
export function compileMatcher(where: string): (letter: Letter) => boolean {
  const evaluate = requireExpression(where, LETTER_VARIABLES, "The filter");
  const variablesOf = variablesFor(where);
  return (letter) => {
    const answer = evaluate(variablesOf(letter));
    if (answer.ok) return answer.value;
    throw noAnswer(where, letter, answer.message);
  };
}

function noAnswer(where: string, letter: Letter, message: string): WorkError {
  return new WorkError(
    "filter_invalid",
    `The filter "${where}" has no answer for ${letter.itemId} of ${letter.jobId}: ${message}.`,
    { hint: "Guard a field that not every letter has: has(item.x) && item.x > 3." },
  );
}

/** Asks letters that were read in part. */
export interface PartMatcher {
  /** What has to be read of each letter, as far as it is known by now. */
  readonly parts: () => readonly LetterPart[];
  /** Those that match; null when more of each has to be read first. */
  readonly filter: <One extends Letter>(letters: readonly One[]) => readonly One[] | null;
}

/** As `compileMatcher`, for a search: what an expression looks at is found out as far as its text does not say so. */
export function compilePartMatcher(where: string): PartMatcher {
  const evaluate = requireExpression(where, LETTER_VARIABLES, "The filter");
  const parts = new Set(firstParts(where));
  let isMissing = false;
  const variablesOf = variablesFor(where, {
    parts,
    onMissing: (part) => {
      parts.add(part);
      isMissing = true;
    },
  });
  const filter = <One extends Letter>(letters: readonly One[]): readonly One[] | null => {
    const found: One[] = [];
    for (const letter of letters) {
      const answer = evaluate(variablesOf(letter));
      if (isMissing) {
        isMissing = false;
        return null;
      }
      if (!answer.ok) throw noAnswer(where, letter, answer.message);
      if (answer.value) found.push(letter);
    }
    return found;
  };
  return { parts: () => [...parts], filter };
}

/** Making the whole letter costs more than the question, so only what the text names is made, or what is looked at. */
function variablesFor(where: string, reading?: Reading): (letter: Letter) => ExpressionVariables {
  const named = namedIn(where);
  const ofLetter = chosen(LETTER_FIELDS, named.letter);
  const ofFailure = chosen(FAILURE_FIELDS, named.failure);
  const isLazy = reading !== undefined && named.letter === "all";
  return (letter) => ({
    letter: isLazy ? lazyLetter(letter, reading) : letterFieldsToJson(letter, ofLetter),
    item: letter.itemData,
    failure: lastFailure(letter, ofFailure),
  });
}

function chosen<Field extends string>(fields: readonly Field[], named: NamedFields): readonly Field[] {
  return named === "all" ? fields : fields.filter((field) => named?.has(field));
}
