/**
 * Assertions on dead letters for any test runner. They throw an `AssertionError` that lists the existing
 * letters.
 */
import { AssertionError } from "node:assert";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import {
  ERROR_CLASSES,
  ERROR_TYPE_NAMES,
  type ErrorClass,
  type ErrorTypeName,
} from "../../item/error-type.ts";
import { ITEM_STATES, type ItemState } from "../../item/state.ts";
import * as t from "../../std/check-input.ts";
import type { Letter } from "../letter.ts";
import type { Shape } from "../values.ts";

/** A source of letters: a queue, the result of a map, a selection of letters, or the store. */
export type LetterSource<Data> =
  | AsyncIterable<Letter<Data>>
  | { readonly letters: AsyncIterable<Letter<Data>> }
  | { letters(): AsyncIterable<Letter<Data>> };

/** The expected fields of a letter. Fields that are not given may have any value. */
export interface ExpectedLetter<Data = unknown> {
  readonly id?: string;
  /** The whole data. */
  readonly data?: Data;
  /** The message of the last failure: a substring or a regular expression. */
  readonly message?: string | RegExp;
  /** Why the policy gave up: a substring of the reason or a regular expression. */
  readonly reason?: string | RegExp;
  readonly type?: ErrorTypeName;
  readonly class?: ErrorClass;
  readonly state?: ItemState;
  /** The number of failures. */
  readonly failures?: number;
  readonly eligible?: boolean;
  readonly needsReview?: boolean;
}

const textOrPattern = t.anyThat(
  (value) => typeof value === "string" || value instanceof RegExp,
  "a text or a regular expression",
);

const expectedLetter = z.strictObject({
  id: t.name.optional(),
  data: z.unknown().optional(),
  message: textOrPattern.optional(),
  reason: textOrPattern.optional(),
  type: t.oneOf(ERROR_TYPE_NAMES).optional(),
  class: t.oneOf(ERROR_CLASSES).optional(),
  state: t.oneOf(ITEM_STATES).optional(),
  failures: t.count.optional(),
  eligible: t.flag.optional(),
  needsReview: t.flag.optional(),
} satisfies Shape<ExpectedLetter>);

/** Asserts that exactly one letter matches, and returns it. Other letters may exist. */
export async function assertLetter<Data>(
  source: LetterSource<Data>,
  expected: ExpectedLetter<Data>,
): Promise<Letter<Data>> {
  t.checkInput(expectedLetter, expected, { caller: "assertLetter", name: "expected" });
  const letters = await readAll(source);
  const matching = letters.filter((letter) => differences(letter, expected).length === 0);
  const [found] = matching;
  if (found !== undefined && matching.length === 1) return found;
  const what = found === undefined ? "No letter matches" : `${matching.length} letters match`;
  throw failed(`${what} ${shown(expected)}.`, { letters, expected, operator: "assertLetter" }, assertLetter);
}

/** Asserts that these letters exist and no others, in any order. */
export async function assertLetters<Data>(
  source: LetterSource<Data>,
  expected: readonly ExpectedLetter<Data>[],
): Promise<void> {
  t.checkInput(t.listOf(expectedLetter), expected, { caller: "assertLetters", name: "expected" });
  const letters = await readAll(source);
  const pairs = matchAll(letters, expected);
  const missing = expected.filter((_, index) => !pairs.has(index));
  const matched = new Set(pairs.values());
  const others = letters.filter((_, index) => !matched.has(index));
  if (missing.length === 0 && others.length === 0) return;
  const problems = [
    ...missing.map((one) => `No letter matches ${shown(one)}.`),
    ...others.map(({ id }) => `The letter ${id} was not expected.`),
  ];
  const facts = { letters, expected, operator: "assertLetters" };
  throw failed(problems.join("\n"), facts, assertLetters);
}

/** Asserts that there are no letters. */
export async function assertNoLetters(source: LetterSource<unknown>): Promise<void> {
  const letters = await readAll(source);
  if (letters.length === 0) return;
  const facts = { letters, expected: [], operator: "assertNoLetters" };
  throw failed("There are letters, but none was expected.", facts, assertNoLetters);
}

async function readAll<Data>(source: LetterSource<Data>): Promise<readonly Letter<Data>[]> {
  const letters: Letter<Data>[] = [];
  for await (const letter of selectionOf(source)) letters.push(letter);
  return letters;
}

function selectionOf<Data>(source: LetterSource<Data>): AsyncIterable<Letter<Data>> {
  if (Symbol.asyncIterator in source) return source;
  return typeof source.letters === "function" ? source.letters() : source.letters;
}

/** Matches each expectation with a different letter, even if an expectation matches several letters. */
function matchAll<Data>(
  letters: readonly Letter<Data>[],
  expected: readonly ExpectedLetter<Data>[],
): ReadonlyMap<number, number> {
  const letterOf = new Map<number, number>();
  const expectationOf = new Map<number, number>();
  const pair = (index: number, seen: Set<number>): boolean => {
    const one = expected[index];
    for (const [at, letter] of letters.entries()) {
      if (one === undefined || seen.has(at) || differences(letter, one).length > 0) continue;
      seen.add(at);
      const other = expectationOf.get(at);
      if (other !== undefined && !pair(other, seen)) continue;
      expectationOf.set(at, index);
      letterOf.set(index, at);
      return true;
    }
    return false;
  };
  for (const index of expected.keys()) pair(index, new Set());
  return letterOf;
}

/** The names of the fields that differ. */
function differences<Data>(letter: Letter<Data>, expected: ExpectedLetter<Data>): readonly string[] {
  const facts = factsOf(letter);
  return Object.entries(expected)
    .filter(
      ([name, value]) => value !== undefined && !matches(name, facts[name as keyof typeof facts], value),
    )
    .map(([name]) => name);
}

function factsOf<Data>({ id, data, reason, type, class: errorClass, state, ...letter }: Letter<Data>) {
  const { eligible, needsReview, failureCount } = letter;
  const message = letter.failures.at(-1)?.message ?? "";
  return {
    id,
    data,
    message,
    reason,
    type,
    class: errorClass,
    state,
    failures: failureCount,
    eligible,
    needsReview,
  };
}

function matches(name: string, actual: unknown, expected: unknown): boolean {
  if (name !== "message" && name !== "reason") return isDeepStrictEqual(actual, expected);
  const text = String(actual);
  // A pattern with the flag g or y would start at the end of its last match.
  return expected instanceof RegExp ? text.search(expected) >= 0 : text.includes(String(expected));
}

const LETTERS_SHOWN_MAX = 20;

interface Facts<Data> {
  readonly letters: readonly Letter<Data>[];
  readonly expected: unknown;
  readonly operator: string;
}

function failed<Data>(
  problem: string,
  { letters, expected, operator }: Facts<Data>,
  stackStartFn: (...args: never[]) => unknown,
): AssertionError {
  const lines = letters.slice(0, LETTERS_SHOWN_MAX).map((letter) => `  ${lineOf(letter)}`);
  const more = letters.length - lines.length;
  if (more > 0) lines.push(`  … and ${more} more`);
  const list =
    letters.length === 0 ? "There are no letters." : `Letters (${letters.length}):\n${lines.join("\n")}`;
  const actual = letters.map(factsOf);
  return new AssertionError({ message: `${problem}\n${list}`, actual, expected, operator, stackStartFn });
}

function lineOf<Data>(letter: Letter<Data>): string {
  const { id, state, type, class: errorClass, message, failures, data } = factsOf(letter);
  const attempts = failures === 1 ? "1 failure" : `${failures} failures`;
  return `${id} · ${state} · ${type} · ${errorClass} · ${attempts} · ${message} · ${JSON.stringify(data)}`;
}

function shown(expected: ExpectedLetter): string {
  const fields = Object.entries(expected).filter(([, value]) => value !== undefined);
  if (fields.length === 0) return "{}";
  const texts = fields.map(
    ([name, value]) => `${name}: ${value instanceof RegExp ? value : JSON.stringify(value)}`,
  );
  return `{ ${texts.join(", ")} }`;
}
