/** Which letters are meant, in the words that a store can search by. */
import type { ErrorClass, ErrorTypeName } from "./error-type.ts";
import type { ItemState } from "./state.ts";

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
  /** Buried this long ago or earlier, by the store's clock. */
  readonly olderThanMs?: number;
  /** Attempts ever started. */
  readonly attemptsMin?: number;
  readonly attemptsMax?: number;
  /** In the message of the last failed attempt, in any case of letters (as `toLowerCase` has it). */
  readonly text?: string;
}
