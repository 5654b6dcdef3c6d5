/** Evaluates a CEL expression for letters. Imported only when a selection has an expression. */
import type { LetterPart } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import { FAILURE_FORM } from "../item/failure.ts";
import { LETTER_FIELDS, type Letter, letterFieldsToJson, letterToJson } from "../item/letter.ts";
import { type ExpressionVariables, type KnownVariables, requireCompiled } from "../std/expression.ts";
import type { Json, JsonObject } from "../std/json.ts";
import { type NamedFields, namedIn, partOf, partsNamedIn } from "./named-parts.ts";

/** The variables of an expression and their fields. An unknown field does not compile. */
export const LETTER_VARIABLES: KnownVariables = new Map<string, readonly string[] | "any">([
  ["letter", LETTER_FIELDS],
  ["item", "any"],
  ["failure", FAILURE_FORM.names],
]);

/** The values of the variables. An imported letter may have no failure; `failure` is then empty. */
export function letterVariables(letter: Letter): ExpressionVariables {
  return { letter: letterToJson(letter), item: letter.itemData, failure: lastFailure(letter) };
}

const NOTHING: JsonObject = {};

function lastFailure({ failureHistory }: Letter, fields?: readonly string[]): JsonObject {
  const last = failureHistory.at(-1);
  return last === undefined ? {} : FAILURE_FORM.toJson(last, fields);
}

/** Throws `filter_invalid` for an expression that does not compile or cannot be evaluated for a letter. */
export function compileMatcher(where: string): (letter: Letter) => boolean {
  const { evaluate } = compiledWhere(where);
  const variablesOf = variablesFor(where);
  return (letter) => {
    const answer = evaluate(variablesOf(letter));
    if (answer.ok) return answer.value;
    throw noAnswer(where, letter, answer.message);
  };
}

/** Compiles the expression. The last one is cached, because every page of a search needs it. */
export function compiledWhere(where: string): ReturnType<typeof requireCompiled> {
  if (last?.where !== where) {
    last = { where, compiled: requireCompiled(where, LETTER_VARIABLES, "The filter") };
  }
  return last.compiled;
}

let last: { readonly where: string; readonly compiled: ReturnType<typeof requireCompiled> } | undefined;

function noAnswer(where: string, letter: Letter, message: string): RedriveError {
  return new RedriveError(
    "filter_invalid",
    `The filter "${where}" cannot be evaluated for ${letter.itemId} of ${letter.jobId}: ${message}.`,
    { hint: "Guard fields that some letters lack: has(item.x) && item.x > 3." },
  );
}

export interface PartMatcher {
  /** The parts of each letter that must be read, as known so far. */
  readonly parts: () => readonly LetterPart[];
  /** The matching letters, or null if more parts must be read first. */
  readonly filter: <One extends Letter>(letters: readonly One[]) => readonly One[] | null;
}

/** Determines which parts of a letter the expression reads: from its text, or else during evaluation. */
export function compilePartMatcher(where: string): PartMatcher {
  const { evaluate } = compiledWhere(where);
  const parts = new Set(partsNamedIn(where, [])); // others are loaded on demand
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

/** Converts only what is used: parsing and converting a whole letter costs more than the evaluation. */
function variablesFor(where: string, reading?: Reading): (letter: Letter) => ExpressionVariables {
  const named = namedIn(where);
  const ofLetter = chosen(LETTER_FIELDS, named.letter);
  const ofFailure = chosen(FAILURE_FORM.names, named.failure);
  const isLazy = reading !== undefined && named.letter === "all";
  return (letter) => ({
    letter:
      named.letter === null
        ? NOTHING
        : isLazy
          ? lazyLetter(letter, reading)
          : letterFieldsToJson(letter, ofLetter),
    item: named.item ? letter.itemData : null,
    failure: named.failure === null ? NOTHING : lastFailure(letter, ofFailure),
  });
}

function chosen(fields: readonly string[], named: NamedFields): readonly string[] {
  return named === "all" ? fields : fields.filter((field) => named?.has(field));
}

export interface Reading {
  readonly parts: ReadonlySet<LetterPart>;
  /** Called when the expression reads a field of a part that was not loaded. The result is then invalid. */
  readonly onMissing: (part: LetterPart) => void;
}

export function lazyLetter(letter: Letter, { parts, onMissing }: Reading): JsonObject {
  const made = new Set<PropertyKey>();
  const make = (json: Record<string, Json>, key: PropertyKey): void => {
    if (made.has(key) || !isField(key)) return;
    made.add(key);
    const part = partOf(key);
    if (part !== undefined && !parts.has(part)) onMissing(part);
    Object.assign(json, letterFieldsToJson(letter, [key]));
  };
  const read = <T>(trap: (json: object, key: PropertyKey) => T) => {
    return (json: Record<string, Json>, key: PropertyKey): T => {
      make(json, key);
      return trap(json, key);
    };
  };
  return new Proxy<Record<string, Json>>(
    {},
    {
      get: read(Reflect.get),
      has: read(Reflect.has),
      getOwnPropertyDescriptor: read(Reflect.getOwnPropertyDescriptor),
      ownKeys(json) {
        for (const field of LETTER_FIELDS) make(json, field);
        return Reflect.ownKeys(json);
      },
    },
  );
}

const FIELDS: ReadonlySet<PropertyKey> = new Set(LETTER_FIELDS);

function isField(key: PropertyKey): key is string {
  return FIELDS.has(key);
}
