/** Selects letters by a store filter and a CEL expression. Reads pages, so that memory use is bounded. */

import type { ASTNode } from "@marcbachmann/cel-js";
import {
  type Engine,
  LETTER_PARTS,
  type LetterOrder,
  type LetterPage,
  type LetterPart,
  type LetterQuery,
  type LetterSearch,
  type StoredLetter,
} from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Letter } from "../item/letter.ts";
import { canBeFalse, isDecidable, type LetterCondition } from "../item/letter-condition.ts";
import type { LetterFilter } from "../item/letter-query.ts";
import { KIND_RULES, type OperationKind } from "../item/operation.ts";
import type { ItemState } from "../item/state.ts";
import { ElementsOfPages } from "../std/elements-of-pages.ts";
import { partsNamedIn } from "./named-parts.ts";
import { narrowedBy } from "./push-down.ts";
import { simpleTree } from "./simple-expression.ts";
import { storeCondition } from "./store-condition.ts";

/** Defines a set of letters. An invalid selection is an error; it never matches all letters. */
export interface Selection {
  readonly filter: LetterFilter;
  /** CEL over `letter` (its JSON form), `item` (its data) and `failure` (its last failure). */
  readonly where?: string;
}

export type Matcher = (letter: Letter) => boolean;

/** Compiles a CEL expression or throws `filter_invalid`. CEL is imported on first use. */
export async function matcherOf(where: string): Promise<Matcher> {
  const { compileMatcher } = await import("./where.ts");
  return compileMatcher(where);
}

/** The syntax tree of a CEL expression. Throws `filter_invalid` for an expression that does not compile. */
export async function treeOf(where: string): Promise<ASTNode> {
  return simpleTree(where) ?? (await import("./where.ts")).compiledWhere(where).tree;
}

export interface SelectOptions {
  readonly order?: LetterOrder;
  readonly signal?: AbortSignal;
  /** The position to continue from, returned by a search in the same order. */
  readonly cursor?: string;
}

/** The matching letters of one page of the store. `next` is the cursor of the next page; null after the last one. */
export type SelectedPage = Pick<LetterPage, "letters" | "next">;

/**
 * Limits memory use. A search keeps few of the letters that it reads, so larger pages are possible if they
 * contain no histories.
 */
function pageMax(parts: readonly LetterPart[] | undefined): number {
  return parts === undefined || parts.includes("failures") ? 500 : 1000;
}

/** The first page is small, because it is often enough; each further page is larger, up to the maximum. */
const FIRST_PAGE = 100;
const GROWTH = 4;

/** Every letter of the selection, one at a time. */
export function selectLetters(
  engine: Engine,
  selection: Selection,
  options: SelectOptions = {},
): AsyncIterableIterator<StoredLetter> {
  return new ElementsOfPages(selectPages(engine, selection, options), ({ letters }) => letters);
}

/** The letters in the store's pages. A page may be empty although more follow. */
export async function* selectPages(
  engine: Engine,
  selection: Selection,
  options: SelectOptions = {},
): AsyncGenerator<SelectedPage> {
  const { where } = selection;
  const search = await searchFor(selection);
  const parts = where === undefined ? LETTER_PARTS : partsNamedIn(where);
  // Whole letters are cheaper here.
  let isWhole = search.isDecidable || parts.some((part) => part !== "data");
  let cursor: string | null | undefined = options.cursor;
  if (!isWhole) {
    for await (const { letters, read, next } of searchPages(engine, search, options)) {
      isWhole = letters.length * MATCHES_FEW > read.length;
      if (isWhole) break; // reads the page again
      yield { letters: await whole(engine, letters), next };
      cursor = next;
    }
  }
  if (!isWhole) return;
  const from = typeof cursor === "string" ? { cursor } : {};
  yield* searchPages(engine, search, { ...options, ...from, isWhole });
}

/**
 * Loading one matching letter completely costs as much as reading 20 letters partly. If more than 1 in 20
 * match, whole letters are read.
 */
const MATCHES_FEW = 20;

export async function countSelected(engine: Engine, selection: Selection): Promise<number> {
  const search = await searchFor(selection);
  if (search.where === undefined || search.isDecidable) {
    const page = await engine.listLetters({ ...searchedBy(search), limit: 0 });
    const undecided = undecidedIn(page, search);
    if (undecided === 0) return page.total;
    if (undecided !== undefined) return page.total - undecided + (await countUndecided(engine, search));
  }
  let count = 0;
  for await (const page of searchPages(engine, search, {})) count += page.letters.length;
  return count;
}

async function countUndecided(engine: Engine, search: Search): Promise<number> {
  if (search.condition === undefined) return 0;
  const undecided: Search = {
    ...search,
    condition: { is: "undecided", of: search.condition },
    isDecidable: false,
  };
  let count = 0;
  for await (const page of searchPages(engine, undecided, {})) count += page.letters.length;
  return count;
}

export interface PageRequest {
  readonly order?: LetterOrder;
  readonly limit: number;
  /** The `next` value of the previous page in the same order. */
  readonly cursor?: string;
  /** Whether to count the total. Default true. If false, the total may be 0 and the search ends with the page. */
  readonly counted?: boolean;
  /** The parts that are needed. More may be loaded. Default: all. */
  readonly parts?: readonly LetterPart[];
}

/** Returns one page with its exact total. `next` is a cursor of the store, even if there is an expression. */
export async function selectPage(
  engine: Engine,
  selection: Selection,
  page: PageRequest,
): Promise<LetterPage> {
  const search = await searchFor(selection);
  if (search.where === undefined) return engine.listLetters({ ...search.filter, ...page });
  const isCounted = page.counted ?? true;
  if (search.isDecidable && (isCounted || !isOfText(search))) {
    const { undecided, ...found } = await engine.listLetters({ ...searchedBy(search), ...page });
    if (undecided !== undefined && (isCounted ? undecided.total : undecided.letterSequences.size) === 0)
      return found;
  }
  return searchPage(engine, search, page);
}

/** Reads all letters if a total is needed. Otherwise starts at the cursor and stops after the page. */
async function searchPage(
  engine: Engine,
  search: Search,
  { limit, cursor, order = "newest", counted = true }: PageRequest,
): Promise<LetterPage> {
  const isFromStart = cursor === undefined || !counted;
  const first = { ...searchedBy(search), order, limit: 1, counted: false };
  const start = isFromStart ? undefined : (await engine.listLetters({ ...first, cursor })).letters[0];
  const letters: StoredLetter[] = [];
  let [total, isReached, hasMore] = [0, isFromStart, false];
  let last: { readonly query: LetterQuery; readonly index: number } | undefined;
  const from = counted || cursor === undefined ? {} : { cursor };
  for await (const { query, read, letters: matching } of searchPages(engine, search, { order, ...from })) {
    const found = new Set(matching);
    total += matching.length;
    for (const [index, letter] of read.entries()) {
      isReached ||= letter.letterSequence === start?.letterSequence;
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

/** Repeats the query up to the letter, because the store returns a cursor only for the end of a page. */
async function cursorAfter(engine: Engine, { query, index }: { query: LetterQuery; index: number }) {
  return (await engine.listLetters({ ...query, limit: index + 1 })).next;
}

interface SearchedPage extends SelectedPage {
  readonly query: LetterQuery;
  readonly read: readonly StoredLetter[];
}

/** Loads the found letters with all parts. Leaves out letters that changed state in the meantime. */
async function whole(engine: Engine, found: readonly StoredLetter[]): Promise<readonly StoredLetter[]> {
  const letters: StoredLetter[] = [];
  for (const { ref, letterSequence } of found) {
    const letter = await engine.readLetter(ref);
    if (letter?.letterSequence === letterSequence) letters.push(letter);
  }
  return letters;
}

/**
 * A selection prepared for searching: the store excludes letters, and the expression is evaluated for those
 * that the store cannot decide.
 */
interface Search extends Selection {
  readonly condition?: LetterCondition;
  /** Whether the store can decide nearly all letters. */
  readonly isDecidable: boolean;
}

async function searchFor({ filter, where }: Selection): Promise<Search> {
  if (where === undefined) return { filter, isDecidable: false };
  const tree = await treeOf(where);
  const condition = storeCondition(tree);
  return {
    filter: narrowedBy(tree, filter),
    where,
    isDecidable: isDecidable(condition),
    ...((isDecidable(condition) || canBeFalse(condition)) && { condition }),
  };
}

function searchedBy({ filter, condition }: Search): LetterSearch {
  return { ...filter, ...(condition !== undefined && { condition }) };
}

/** Stores find pages of letters by their texts faster without a condition. */
function isOfText({ filter }: Search): boolean {
  return filter.text !== undefined;
}

/** Returns undefined if the store evaluated no condition. */
function undecidedIn({ undecided }: LetterPage, { where }: Search): number | undefined {
  return where === undefined ? 0 : undecided?.total;
}

async function* searchPages(
  engine: Engine,
  search: Search,
  { order = "newest", signal, cursor, isWhole = false }: SelectOptions & { readonly isWhole?: boolean },
): AsyncGenerator<SearchedPage> {
  const matcher = await partMatcherOf(search, isWhole);
  const searched = isOfText(search) ? search.filter : searchedBy(search);
  let at: string | null | undefined = cursor;
  let size = FIRST_PAGE;
  while (at !== null) {
    signal?.throwIfAborted();
    const parts = matcher.parts();
    const query = {
      ...searched,
      order,
      limit: Math.min(size, pageMax(parts)),
      counted: false,
      ...(parts !== undefined && { parts }),
      ...(at !== undefined && { cursor: at }),
    };
    const page: LetterPage = await engine.listLetters(query);
    const letters = await matcher.filter(page.letters, page.undecided?.letterSequences);
    if (letters === null) continue; // reads the page again with the parts that the expression needs
    yield { query, read: page.letters, letters, next: page.next };
    at = page.next;
    size *= GROWTH;
  }
}

interface SearchMatcher {
  readonly parts: () => readonly LetterPart[] | undefined;
  /** The matching letters; those that the store has decided match. */
  readonly filter: (
    letters: readonly StoredLetter[],
    undecided: ReadonlySet<number> | undefined,
  ) => Promise<readonly StoredLetter[] | null>;
}

/** Evaluates the expression on partly loaded letters, or on whole ones if the caller needs them anyway. */
async function partMatcherOf({ where }: Search, isWhole: boolean): Promise<SearchMatcher> {
  if (where === undefined) return { parts: () => undefined, filter: async (letters) => letters };
  if (!isWhole) {
    const { compilePartMatcher } = await import("./where.ts");
    const { parts, filter } = compilePartMatcher(where);
    return { parts, filter: async (letters) => filter(letters) };
  }
  return {
    parts: () => undefined,
    filter: async (letters, undecided) => {
      if (undecided?.size === 0) return letters;
      const matches = await matcherOf(where);
      return letters.filter((letter) => undecided?.has(letter.letterSequence) === false || matches(letter));
    },
  };
}

/** Restricts the selection to states that the operation kind accepts; throws if none is left. */
export function selectionFor(kind: OperationKind, { filter, ...selection }: Selection): Selection {
  const able = KIND_RULES[kind].states;
  const wanted = filter.states ?? (kind === "clear" ? able : able.slice(0, 1));
  const left = wanted.filter((state) => able.includes(state));
  if (left.length > 0) return { ...selection, filter: { ...filter, states: left } };
  const states = able.map(stateWord).join(", ");
  throw new RedriveError(
    "filter_invalid",
    `--state: ${kind} accepts only letters in these states: ${states}.`,
    {
      hint: "Omit --state, or give one of these.",
    },
  );
}

/** The user-facing name of a state. The item of a resolved letter is `done`. */
export function stateWord(state: ItemState): string {
  return state === "done" ? "resolved" : state;
}
