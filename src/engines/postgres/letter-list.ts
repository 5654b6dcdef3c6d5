/**
 * Lists a page of letters and the exact total. Most filters select whole groups, whose counters provide the
 * total. Other filters are checked for each letter in SQL. No query uses OFFSET.
 */
import type { LetterPage, LetterQuery } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { call } from "../sql/db.ts";
import {
  type Found,
  groupsMissing,
  isOfGroups,
  KEY,
  LETTERS_WITHOUT_GROUPS,
  mergeParts,
  type PageCursor,
  type Part,
  type Search,
  type Source,
  searchAndCount,
  searchEach,
  searchOf,
  sourcesOf,
  walkTypes,
} from "../sql/letter-search.ts";
import { runOn } from "./db.ts";
import { type Survey, survey, type Walk, walkGroups, walkSql } from "./group-walk.ts";
import { aged, matching, searchByItem } from "./letter-search.ts";
import { letterFrom, lettersIn, type PageRow, readLetters } from "./letters.ts";
import type { Session, Tx } from "./session.ts";

export async function listLetters(session: Session, query: LetterQuery): Promise<LetterPage> {
  const search = searchOf(query);
  const walks = walksOf(search);
  const page = await (walks === null
    ? session.readSnapshot((tx) => searchLetters(tx, search))
    : session.readPipelined((tx) => walkLetters(tx, search, walks)));
  if (page.total > 0) return page;
  const isBroken = await session.readPipelined((tx) => tx.get(LETTERS_WITHOUT_GROUPS));
  if (isBroken !== undefined) throw groupsMissing(session.address.shown);
  return page;
}

/** Returns one walk per source if groups and letter numbers alone determine the page, otherwise null. */
function walksOf({ filter, order, after, limit }: Search): readonly Walk[] | null {
  if (order !== "newest" && order !== "oldest") return null;
  if (!isOfGroups(filter) || dependsOnAge(filter)) return null;
  const sources = sourcesOf(filter);
  if (sources.some(({ counted }) => counted === undefined)) return null;
  return sources.map((source) => ({ source, filter, order, after: after?.no, limit }));
}

/** Reads each source with one statement and merges the results. */
async function walkLetters(tx: Tx, search: QuerySearch, walks: readonly Walk[]): Promise<LetterPage> {
  const parts = await Promise.all(walks.map((walk) => walkSource(tx, walk, search.filter.parts)));
  const { page, ...rest } = mergeParts(search, parts);
  return { letters: page.map(({ row }) => letterFrom(row)), ...rest };
}

type QuerySearch = ReturnType<typeof searchOf>;

async function walkSource(
  tx: Tx,
  walk: Walk,
  parts: LetterQuery["parts"],
): Promise<{ readonly found: readonly (PageCursor & { readonly row: PageRow })[]; readonly total: number }> {
  const { sql, values } = walkSql(walk);
  const page = lettersIn(walk.source.table, "(SELECT no FROM found)", parts);
  const withTotal = `SELECT sums.total, page.* FROM sums LEFT JOIN (${page}) page ON true`;
  const rows = await tx.all<Partial<PageRow> & { readonly total: number }>(
    `${sql} ${walk.limit === 0 ? "SELECT total FROM sums" : withTotal}`,
    ...values,
  );
  const found = rows.filter(isLetter).map((row) => ({ no: row.no, key: 0, row }));
  return { found, total: rows[0]?.total ?? 0 };
}

/** A source without letters returns one row that has only the total. */
function isLetter<Row extends Partial<PageRow>>(row: Row): row is Row & PageRow {
  return typeof row.no === "number";
}

async function searchLetters(tx: Tx, search: QuerySearch): Promise<LetterPage> {
  const query = search.filter;
  const isCounted = query.counted ?? true;
  const parts = await Promise.all(
    sourcesOf(query).map((source) => lookInto(tx, source, { search, isCounted })),
  );
  const { page, ...rest } = mergeParts(search, parts);
  return { letters: await readLetters(tx, page, query.parts), ...rest };
}

async function lookInto(
  tx: Tx,
  source: Source,
  { search, isCounted }: { readonly search: Search; readonly isCounted: boolean },
): Promise<Part> {
  const counted = isOfGroups(search.filter) ? await survey(tx, source, search.filter) : null;
  if (counted !== null) return { found: await findCounted(tx, counted, search), total: counted.total };
  if (isCounted) return countIn(tx, source, search);
  return { found: await searchIn(tx, source, search), total: 0 };
}

/**
 * If at most this many letters match the age, reading all of them is faster than walking the letters in
 * order.
 */
const FEW = 5000;

async function findCounted(tx: Tx, { source, total }: Survey, search: Search): Promise<readonly Found[]> {
  const { filter, order, after, limit } = search;
  if (total === 0 || limit === 0) return [];
  const isAged = dependsOnAge(filter);
  if (isAged && filter.ageOf !== "last" && total <= FEW) return (await countIn(tx, source, search)).found;
  const walk = {
    ...{ source, filter, limit },
    age: isAged ? aged(filter, tx.now) : undefined,
    buriedBy: filter.ageOf === "last" ? ageBounds(filter, tx.now).until : undefined,
  };
  if (order === "newest" || order === "oldest") return walkGroups(tx, { ...walk, order, after: after?.no });
  if (order === "type") {
    const newest = (one: Omit<Walk, "order">) => call(() => walkGroups(tx, { ...one, order: "newest" }));
    return runOn(tx, (db) => walkTypes(db, { ...walk, after }, newest));
  }
  return order === "item" ? searchByItem(tx, source, search) : searchIn(tx, source, search);
}

/** Searches one source for a page without counting all matches. */
function searchIn(tx: Tx, source: Source, search: Search): Promise<Found[]> {
  const letters = matching(tx, source, search.filter, KEY[search.order]);
  return runOn(tx, (db) => searchEach(db, source, search, letters));
}

/** Searches one source for a page and counts all matches. */
function countIn(tx: Tx, source: Source, search: Search): Promise<Part> {
  const letters = matching(tx, source, search.filter, KEY[search.order]);
  return runOn(tx, (db) => searchAndCount(db, source, search, letters));
}
