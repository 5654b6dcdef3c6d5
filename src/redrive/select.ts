/**
 * The one selection language: what a store can search by is its filter; the rest, a CEL expression over the letter and
 * its data, is looked at here, page by page, so that memory stays bounded however many letters there are.
 */
import type { Engine, LetterOrder, LetterPage, LetterQuery, StoredLetter } from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-filter.ts";

/** Which letters are meant. What cannot be understood is an error, never "everything". */
export interface Selection {
  readonly filter: LetterFilter;
  /** CEL over `letter` (its JSON form), `item` (its data) and `failure` (its last failure). */
  readonly where?: string;
}

/** Whether a letter is meant. */
export type Matcher = (letter: Letter) => boolean;

/** Compiles the CEL of a selection; `filter_invalid` when it cannot be. CEL is loaded when it is first needed. */
export async function matcherOf(where: string): Promise<Matcher> {
  const { compileMatcher } = await import("./matcher.ts");
  return compileMatcher(where);
}

export interface SelectOptions {
  /** Default `newest`. */
  readonly order?: LetterOrder;
  readonly signal?: AbortSignal;
  /** Where a search of the same order goes on. */
  readonly cursor?: string;
}

/** What one page of the store holds of the selection. */
export interface SelectedPage {
  readonly letters: readonly StoredLetter[];
  /** Where the search goes on; null at its end. */
  readonly next: string | null;
}

/** A letter may have megabytes of output in its history; so many fit into memory. */
const PAGE_LETTERS_MAX = 200;

/** Every letter of the selection, one after the other. */
export async function* selectLetters(
  engine: Engine,
  selection: Selection,
  options: SelectOptions = {},
): AsyncGenerator<StoredLetter> {
  for await (const page of selectPages(engine, selection, options)) yield* page.letters;
}

/** The same in the store's pages; one may be empty although more are to come. */
export async function* selectPages(
  engine: Engine,
  selection: Selection,
  options: SelectOptions = {},
): AsyncGenerator<SelectedPage> {
  for await (const { letters, next } of searchPages(engine, selection, options)) {
    yield { letters: isOfData(selection.where) ? await readWhole(engine, letters) : letters, next };
  }
}

/** How many letters are meant. */
export async function countSelected(engine: Engine, selection: Selection): Promise<number> {
  if (selection.where === undefined) {
    return (await engine.listLetters({ ...selection.filter, limit: 0 })).total;
  }
  let count = 0;
  for await (const page of searchPages(engine, selection, {})) count += page.letters.length;
  return count;
}

/** A page of the selection with its exact total; `next` is a cursor of the store, with or without CEL. */
export async function selectPage(
  engine: Engine,
  selection: Selection,
  page: { readonly order?: LetterOrder; readonly limit: number; readonly cursor?: string },
): Promise<LetterPage> {
  if (selection.where === undefined) return engine.listLetters({ ...selection.filter, ...page });
  return searchPage(engine, selection, page);
}

/** Looks at all letters once: for the total, and for the matches of the page and whether one comes after them. */
async function searchPage(
  engine: Engine,
  selection: Selection,
  { limit, cursor, order = "newest" }: { limit: number; cursor?: string; order?: LetterOrder },
): Promise<LetterPage> {
  const start = cursor === undefined ? undefined : await burialAfter(engine, selection, { cursor, order });
  const letters: StoredLetter[] = [];
  let [total, isReached, hasMore] = [0, cursor === undefined, false];
  let last: Place | undefined;
  for await (const { query, read, letters: matching } of searchPages(engine, selection, { order })) {
    const found = new Set(matching);
    total += matching.length;
    for (const [index, letter] of read.entries()) {
      isReached ||= letter.burial === start;
      if (!isReached || !found.has(letter)) continue;
      if (letters.length === limit) {
        hasMore = true;
        break;
      }
      letters.push(letter);
      last = { query, index };
    }
  }
  return {
    letters: isOfData(selection.where) ? await readWhole(engine, letters) : letters,
    total,
    next: last && hasMore ? await cursorAfter(engine, last) : null,
  };
}

/** The first letter behind a cursor. */
async function burialAfter(
  engine: Engine,
  { filter }: Selection,
  place: { readonly cursor: string; readonly order: LetterOrder },
): Promise<number | undefined> {
  return (await engine.listLetters({ ...filter, ...place, limit: 1 })).letters[0]?.burial;
}

/** Where a letter was found: in the answer to this query, at this index. */
interface Place {
  readonly query: LetterQuery;
  readonly index: number;
}

/** A store's cursor stands behind the last letter of a page, so the page is asked for once more, up to that letter. */
async function cursorAfter(engine: Engine, { query, index }: Place): Promise<string | null> {
  return (await engine.listLetters({ ...query, limit: index + 1 })).next;
}

interface SearchedPage extends SelectedPage {
  readonly query: LetterQuery;
  /** All that the store had, matching or not. */
  readonly read: readonly StoredLetter[];
}

/** Whether the expression speaks of the item's data alone: then histories need not be read to ask it. */
export function isOfData(where: unknown): boolean {
  return typeof where === "string" && !/\b(?:letter|failure)\b/.test(where);
}

/** The letters with their histories; those that left meanwhile are left out. */
async function readWhole(engine: Engine, found: readonly StoredLetter[]): Promise<StoredLetter[]> {
  const whole: StoredLetter[] = [];
  for (const { ref, burial } of found) {
    const letter = await engine.readLetter(ref);
    if (letter?.burial === burial) whole.push(letter);
  }
  return whole;
}

/** Without histories when the expression does not ask for them. */
async function* searchPages(
  engine: Engine,
  selection: Selection,
  { order = "newest", signal, cursor }: SelectOptions,
): AsyncGenerator<SearchedPage> {
  const { filter, where } = selection;
  const matches = where === undefined ? undefined : await matcherOf(where);
  const history = !isOfData(selection.where);
  let at: string | null | undefined = cursor;
  while (at !== null) {
    signal?.throwIfAborted();
    const query = {
      ...filter,
      order,
      history,
      limit: PAGE_LETTERS_MAX,
      ...(at !== undefined && { cursor: at }),
    };
    const { letters: read, next }: LetterPage = await engine.listLetters(query);
    yield { query, read, letters: matches ? read.filter(matches) : read, next };
    at = next;
  }
}
