/** Which letters are meant, in the words that a store can search by. */
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { ItemState } from "./state.ts";

/**
 * Which time a letter's age is counted from: its first failure, its last failure, or (`arrival`) when this store got it,
 * which differs from the last failure only for an imported letter.
 */
export const LETTER_AGES = ["first", "last", "arrival"] as const;
export type LetterAge = (typeof LETTER_AGES)[number];

/** Everything that is given must hold (and), any of a list (or). An empty list matches nothing. */
export interface LetterFilter {
  readonly queue?: string;
  readonly itemIds?: readonly string[];
  readonly types?: readonly ErrorTypeName[];
  readonly classes?: readonly ErrorClass[];
  readonly signatures?: readonly string[];
  readonly eligible?: boolean;
  /** Default: those that wait (dead, ready, leased). `done` are resolved letters, `discarded` the discarded ones. */
  readonly states?: readonly ItemState[];
  /** At least this old, by the store's clock. */
  readonly olderThanMs?: number;
  /** Younger than this. */
  readonly newerThanMs?: number;
  /** What the two ages above are counted from. Default `first`. */
  readonly ageOf?: LetterAge;
  /** Attempts ever started. */
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /** In the message of the last failed attempt, in any case of letters (as `toLowerCase` has it). */
  readonly text?: string;
}

/** Whether the filter asks for an age. */
export function asksForAge({ olderThanMs, newerThanMs }: LetterFilter): boolean {
  return olderThanMs !== undefined || newerThanMs !== undefined;
}

/** The times that the filter's ages allow: later than `after`, up to `until`. A bound that was not asked for is undefined. */
export function ageBounds(
  { olderThanMs, newerThanMs }: LetterFilter,
  now: number,
): { readonly after: number | undefined; readonly until: number | undefined } {
  return {
    after: newerThanMs === undefined ? undefined : now - newerThanMs,
    until: olderThanMs === undefined ? undefined : now - olderThanMs,
  };
}
