/**
 * The one selection language: what a store can search by is its filter; the rest, a CEL expression over the letter and
 * its data, is looked at here, page by page, so that memory stays bounded however many letters there are.
 */
import {
  type Engine,
  LETTER_PARTS,
  type LetterOrder,
  type LetterPage,
  type LetterPart,
  type LetterQuery,
  type StoredLetter,
} from "../engine.ts";
import type { Letter } from "../item/letter.ts";
import type { LetterFilter } from "../item/letter-filter.ts";
import type { PartMatcher } from "./matcher.ts";
import { partsNamedIn } from "./named-parts.ts";

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

/** A failure keeps at most kilobytes of output and a letter few failures: so many fit into memory. */
const PAGE_LETTERS_MAX = 500;

/** A search keeps little of what it reads, so it reads more at once; most when it leaves the histories out. */
function pageMax(parts: readonly LetterPart[] | undefined): number {
  if (parts === undefined) return PAGE_LETTERS_MAX;
  return parts.includes("failures") ? 500 : 1000;
}

/** The first page is small, for often it is enough; each one after it is larger, up to the most. */
const FIRST_PAGE = 100;
const GROWTH = 4;

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
  const { where } = selection;
  const parts = where === undefined ? ALL : partsNamedIn(where);
  let isWhole = parts.some((part) => part !== "data"); // most of each is read to ask it, so all of it is
  let cursor: string | null | undefined = options.cursor;
  if (!isWhole) {
    for await (const { letters, read, next } of searchPages(engine, selection, options)) {
      yield { letters: await whole(engine, letters), next };
      cursor = next;
      isWhole = letters.length * MATCHES_FEW > read.length;
      if (isWhole) break;
    }
  }
  if (!isWhole || cursor === null) return;
  const from = cursor === undefined ? {} : { cursor };
  yield* searchPages(engine, selection, { ...options, ...from, isWhole });
}

/** One letter read by itself costs as much as so many on a page: where more of them match, all are read whole. */
const MATCHES_FEW = 20;

const ALL: readonly LetterPart[] = LETTER_PARTS;

/** How many letters are meant. */
export async function countSelected(engine: Engine, selection: Selection): Promise<number> {
  if (selection.where === undefined) {
    return (await engine.listLetters({ ...selection.filter, limit: 0 })).total;
  }
  let count = 0;
  for await (const page of searchPages(engine, selection, {})) count += page.letters.length;
  return count;
}

/** Which page of a selection is wanted. */
export interface PageWanted {
  /** Default `newest`. */
  readonly order?: LetterOrder;
  readonly limit: number;
  /** The `next` of the page before, of the same order. */
  readonly cursor?: string;
  /** Default true. False when nobody waits for the total: it may be 0 then, and the search ends with the page. */
  readonly counted?: boolean;
}

/** A page of the selection with its exact total; `next` is a cursor of the store, with or without CEL. */
export async function selectPage(
  engine: Engine,
  selection: Selection,
  page: PageWanted,
): Promise<LetterPage> {
  const { filter, where } = selection;
  if (where === undefined) return engine.listLetters({ ...filter, ...page });
  const narrowed = { filter: await narrow(filter, where), where };
  return searchPage(engine, narrowed, page);
}

/**
 * Looks at all letters once: for the total, and for the matches of the page and whether one comes after them. Without a
 * total it begins where the page does, and stops behind it.
 */
async function searchPage(
  engine: Engine,
  selection: Selection & { readonly where: string },
  { limit, cursor, order = "newest", counted = true }: PageWanted,
): Promise<LetterPage> {
  const isFromStart = cursor === undefined || !counted;
  const start = isFromStart ? undefined : await burialAfter(engine, selection, { cursor, order });
  const letters: StoredLetter[] = [];
  let [total, isReached, hasMore] = [0, isFromStart, false];
  let last: Place | undefined;
  const from = counted || cursor === undefined ? {} : { cursor };
  for await (const { query, read, letters: matching } of searchPages(engine, selection, { order, ...from })) {
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
    if (hasMore && !counted) break;
  }
  return {
    letters: await whole(engine, letters),
    total: counted ? total : 0,
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

/** Searched letters with all their parts; those that left meanwhile are left out. */
async function whole(engine: Engine, found: readonly StoredLetter[]): Promise<readonly StoredLetter[]> {
  const whole: StoredLetter[] = [];
  for (const { ref, burial } of found) {
    const letter = await engine.readLetter(ref);
    if (letter?.burial === burial) whole.push(letter);
  }
  return whole;
}

async function* searchPages(
  engine: Engine,
  { filter, where }: Selection,
  { order = "newest", signal, cursor, isWhole = false }: SelectOptions & { readonly isWhole?: boolean },
): AsyncGenerator<SearchedPage> {
  const matcher = await partMatcherOf(where, isWhole);
  const narrowed = where === undefined ? filter : await narrow(filter, where);
  let at: string | null | undefined = cursor;
  let size = FIRST_PAGE;
  while (at !== null) {
    signal?.throwIfAborted();
    const parts = matcher.parts();
    const query = {
      ...narrowed,
      order,
      limit: Math.min(size, pageMax(parts)),
      counted: false,
      ...(parts !== undefined && { parts }),
      ...(at !== undefined && { cursor: at }),
    };
    const { letters: read, next }: LetterPage = await engine.listLetters(query);
    const letters = matcher.filter(read);
    if (letters === null) continue; // the same page once more, with what the expression looked at
    yield { query, read, letters, next };
    at = next;
    size *= GROWTH;
  }
}

/** Asks what was read of the letters; or all of each, when that is wanted anyway. */
async function partMatcherOf(
  where: string | undefined,
  isWhole: boolean,
): Promise<Pick<PartMatcher, "filter"> & { readonly parts: () => readonly LetterPart[] | undefined }> {
  if (where === undefined) return { parts: () => undefined, filter: (letters) => letters };
  const { compileMatcher, compilePartMatcher } = await import("./matcher.ts");
  if (!isWhole) return compilePartMatcher(where);
  const matches = compileMatcher(where);
  return { parts: () => undefined, filter: (letters) => letters.filter(matches) };
}

/** CEL that was narrowed once is narrowed no further. */
async function narrow(filter: LetterFilter, where: string): Promise<LetterFilter> {
  await matcherOf(where); // what cannot be understood is refused, and not narrowed by
  const { narrowedBy } = await import("./push-down.ts");
  return narrowedBy(where, filter);
}
