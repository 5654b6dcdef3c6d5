/**
 * A page of letters and the exact total. Nearly every filter is a choice of groups: then the page is a walk over groups
 * that are counted already. What only a look at each letter can tell is searched for in SQL. No OFFSET anywhere.
 */
import type { LetterPage, LetterQuery } from "../../engine.ts";
import { ageBounds, dependsOnAge } from "../../item/letter-query.ts";
import { cursorOf, IN_ORDER, readCursor } from "../letter-order.ts";
import { type Survey, survey, type Walk, walkGroups, walkSql, walkTypes } from "./group-walk.ts";
import {
  aged,
  type Found,
  isOfGroups,
  type Search,
  type Source,
  searchAndCount,
  searchByItem,
  searchEach,
  sourcesOf,
} from "./letter-search.ts";
import { type LetterRow, letterOf, lettersIn, readLetters } from "./letters.ts";
import type { Session, Tx } from "./session.ts";

export async function listLetters(session: Session, query: LetterQuery): Promise<LetterPage> {
  const order = query.order ?? "newest";
  const after = query.cursor === undefined ? undefined : readCursor(order, query.cursor);
  const search = { filter: query, order, after, limit: query.limit === 0 ? 0 : query.limit + 1 };
  const walks = walksOf(search);
  return walks === null
    ? session.readSnapshot((tx) => searchLetters(tx, query, search))
    : session.readPipelined((tx) => walkLetters(tx, query, walks));
}

/** One for each place, when groups and numbers alone tell what is in the page. */
function walksOf({ filter, order, after, limit }: Search): readonly Walk[] | null {
  if (order !== "newest" && order !== "oldest") return null;
  if (!isOfGroups(filter) || dependsOnAge(filter)) return null;
  const sources = sourcesOf(filter);
  if (sources.some(({ counted }) => counted === undefined)) return null;
  return sources.map((source) => ({ source, filter, order, after: after?.no, limit }));
}

/** One statement for each place tells all of its letters that may be in the page. */
async function walkLetters(tx: Tx, query: LetterQuery, walks: readonly Walk[]): Promise<LetterPage> {
  const places = await Promise.all(walks.map((walk) => walkPlace(tx, walk, query.parts)));
  const found = places
    .flatMap(({ rows }) => rows)
    .map((row) => ({ no: row.no, key: 0, row }))
    .sort(IN_ORDER[query.order ?? "newest"]);
  return {
    letters: found.slice(0, query.limit).map(({ row }) => letterOf(row)),
    total: places.reduce((sum, { total }) => sum + total, 0),
    next: nextAfter(query, found),
  };
}

async function walkPlace(
  tx: Tx,
  walk: Walk,
  parts: LetterQuery["parts"],
): Promise<{ readonly rows: readonly LetterRow[]; readonly total: number }> {
  const { sql, values } = walkSql(walk);
  const page = lettersIn(walk.source.table, "(SELECT no FROM found)", parts);
  const told = `SELECT sums.total, page.* FROM sums LEFT JOIN (${page}) page ON true`;
  const rows = await tx.all<Partial<LetterRow> & { readonly total: number }>(
    `${sql} ${walk.limit === 0 ? "SELECT total FROM sums" : told}`,
    ...values,
  );
  return { rows: rows.filter(isLetter), total: rows[0]?.total ?? 0 };
}

/** Where there are no letters, the total stands alone. */
function isLetter<Row extends Partial<LetterRow>>(row: Row): row is Row & LetterRow {
  return typeof row.no === "number";
}

/** Of what was found, which is one more than the page when there is a next one. */
function nextAfter({ order = "newest", limit }: LetterQuery, found: readonly Pick<Found, "no" | "key">[]) {
  const last = found[limit - 1];
  return found.length > limit && last !== undefined ? cursorOf(order, last) : null;
}

async function searchLetters(tx: Tx, query: LetterQuery, search: Search): Promise<LetterPage> {
  const isCounted = query.counted ?? true;
  const parts = await Promise.all(
    sourcesOf(query).map((source) => lookInto(tx, source, { search, isCounted })),
  );
  const found = parts
    .flatMap((part) => part.found)
    .sort(IN_ORDER[search.order])
    .slice(0, search.limit);
  return {
    letters: await readLetters(tx, found.slice(0, query.limit), query.parts),
    total: parts.reduce((sum, part) => sum + part.total, 0),
    next: nextAfter(query, found),
  };
}

interface Part {
  readonly found: readonly Found[];
  readonly total: number;
}

async function lookInto(
  tx: Tx,
  source: Source,
  { search, isCounted }: { readonly search: Search; readonly isCounted: boolean },
): Promise<Part> {
  const counted = isOfGroups(search.filter) ? await survey(tx, source, search.filter) : null;
  if (counted !== null) return { found: await findCounted(tx, counted, search), total: counted.total };
  if (isCounted) return searchAndCount(tx, source, search);
  return { found: await searchEach(tx, source, search), total: 0 };
}

/** So few letters of an age are found sooner among all of that age than on the way through the letters. */
const FEW = 5000;

async function findCounted(tx: Tx, { source, total }: Survey, search: Search): Promise<readonly Found[]> {
  const { filter, order, after, limit } = search;
  if (total === 0 || limit === 0) return [];
  const isAged = dependsOnAge(filter);
  if (isAged && filter.ageOf !== "last" && total <= FEW)
    return (await searchAndCount(tx, source, search)).found;
  const walk = {
    ...{ source, filter, limit },
    age: isAged ? aged(filter, tx.now) : undefined,
    buriedBy: filter.ageOf === "last" ? ageBounds(filter, tx.now).until : undefined,
  };
  if (order === "newest" || order === "oldest") return walkGroups(tx, { ...walk, order, after: after?.no });
  if (order === "type") return walkTypes(tx, { ...walk, after });
  return order === "item" ? searchByItem(tx, source, search) : searchEach(tx, source, search);
}
