/**
 * The orders of letter pages, and the cursors between them. A cursor is a position and not a letter: it stays valid
 * when that letter is gone. Burials are numbered, so that a clock that was set back changes no order.
 */
import { LETTER_ORDERS, type LetterOrder } from "../../../src/engine.ts";
import { RedriveError } from "../../../src/errors.ts";
import { burialOf } from "./bury.ts";
import type { Row } from "./store.ts";

/** The position of a letter in an order: by key, then by burial. */
export interface Place {
  readonly key: string | number;
  readonly letterSequence: number;
}

/** The position of a letter. */
export function placeOf(row: Row, order: LetterOrder): Place {
  return { key: KEY_OF[order](row), letterSequence: burialOf(row).number };
}

/** Less than zero if the first position comes before the second. */
export function comparePlaces(order: LetterOrder, a: Place, b: Place): number {
  if (order === "oldest") return a.letterSequence - b.letterSequence;
  return compareKeys(a.key, b.key) || b.letterSequence - a.letterSequence;
}

/** The text of a cursor, which only `readCursor` understands. */
export function writeCursor(order: LetterOrder, { key, letterSequence }: Place): string {
  return Buffer.from(JSON.stringify([order, key, letterSequence])).toString("base64url");
}

/** The position of the cursor, which must be one of the same order. */
export function readCursor(order: LetterOrder, cursor: string): Place {
  const [of, key, letterSequence] = parse(cursor);
  const isPlace = (typeof key === "string" || typeof key === "number") && typeof letterSequence === "number";
  if (isPlace && of === order) return { key, letterSequence };
  const known = LETTER_ORDERS.find((one) => one === of);
  const trouble = known
    ? `The cursor "${cursor}" is of the order "${known}", not of "${order}".`
    : `The cursor "${cursor}" is not one that a page of letters gave.`;
  throw new RedriveError("usage", trouble, { hint: "Leave it out to start at the first page." });
}

const KEY_OF: Readonly<Record<LetterOrder, (row: Row) => string | number>> = {
  newest: () => 0,
  oldest: () => 0,
  attempts: (row) => -row.started,
  item: (row) => row.itemId,
  type: (row) => burialOf(row).death.errorType,
};

function compareKeys(a: string | number, b: string | number): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return compareCodePoints(String(a), String(b));
}

/** The bytes of UTF-8 are in the order of the code points; the units of a JavaScript string are not. */
export function compareCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function parse(cursor: string): readonly unknown[] {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(place) ? place : [];
  } catch {
    return []; // not ours, which the caller says
  }
}
