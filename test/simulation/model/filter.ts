/**
 * Whether a letter matches a filter: all conditions must match, and any element of a list; an empty list matches
 * nothing.
 */
import type { LetterFilter } from "../../../src/engine.ts";
import { ageBounds } from "../../../src/item/letter-query.ts";
import type { ItemState } from "../../../src/item/state.ts";
import { burialOf } from "./bury.ts";
import type { Row, Store } from "./store.ts";

/** The waiting letters: dead, or in retry. */
const WAITING: readonly ItemState[] = ["dead", "ready", "leased", "held"];

/** The matching letters, in no order. */
export function matchingLetters(store: Store, filter: LetterFilter): Row[] {
  return [...store.letters.values()].filter(
    (row) =>
      (filter.states ?? WAITING).includes(row.state) &&
      isOne(filter.queue, row.queue.name) &&
      isAny(filter.itemIds, row.itemId) &&
      fitsDeath(row, filter) &&
      fitsAge(store, row, filter) &&
      row.started >= (filter.attemptsMin ?? 0) &&
      row.started <= (filter.attemptsMax ?? Number.POSITIVE_INFINITY) &&
      says(row, filter.text),
  );
}

function fitsAge(store: Store, row: Row, filter: LetterFilter): boolean {
  const { at, firstAt, arrivedAt } = burialOf(row);
  const time = { first: firstAt, last: at, arrival: arrivedAt }[filter.ageOf ?? "first"];
  const { after = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = ageBounds(filter, store.now);
  return time > after && time <= until;
}

function fitsDeath(row: Row, filter: LetterFilter): boolean {
  const { death } = burialOf(row);
  return (
    isAny(filter.types, death.errorType) &&
    isAny(filter.classes, death.errorClass) &&
    isAny(filter.signatures, death.signature) &&
    isOne(filter.eligible, death.reprocessEligible)
  );
}

function isOne<T>(wanted: T | undefined, value: T): boolean {
  return wanted === undefined || wanted === value;
}

function isAny<T>(wanted: readonly T[] | undefined, value: T): boolean {
  return wanted === undefined || wanted.includes(value);
}

/** Searches the message of the last failure, ignoring case. */
function says({ attempts }: Row, text: string | undefined): boolean {
  if (text === undefined) return true;
  const last = attempts.findLast(({ failure }) => failure !== undefined);
  return (last?.failure?.errorMessage ?? "").toLowerCase().includes(text.toLowerCase());
}
