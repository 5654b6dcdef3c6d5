/**
 * Reads a page of letters and the exact total. Nearly every filter selects groups, whose letters are already
 * counted, so the page is merged from the groups. Other filters are searched letter by letter in SQL. No
 * query uses OFFSET.
 */
import type { LetterFilter, LetterPage, LetterQuery, LetterSearch } from "../../engine.ts";
import { dependsOnAge } from "../../item/letter-query.ts";
import { condition } from "../sql/conditions.ts";
import { call, runNow } from "../sql/db.ts";
import { countQueue } from "../sql/jobs.ts";
import {
  DEAD,
  type Found,
  groupsMissing,
  isOfGroups,
  KEY,
  LETTERS_WITHOUT_GROUPS,
  mergeParts,
  type Part,
  type Search,
  type Source,
  searchAndCount,
  searchEach,
  searchOf,
  WAITING,
  walkTypes,
} from "../sql/letter-search.ts";
import { runOn, SqliteDb } from "./db.ts";
import { countWalk, type Walk, walkGroups } from "./group-walk.ts";
import {
  byItemId,
  isNothingInRetry,
  matching,
  type Path,
  pathOf,
  sourcesApartIn,
  sourcesIn,
  textFinds,
} from "./letter-search.ts";
import { readLetters } from "./letters.ts";
import type { Session } from "./session.ts";
import { walkText } from "./text-walk.ts";

export function listLetters(session: Session, query: LetterQuery): LetterPage {
  const read = () => readPage(session, query);
  return query.limit < MANY && query.condition === undefined ? read() : session.mapped(read);
}

/** For at least this many letters, or a condition on all of them, mapping the file costs less than reading its pages one by one. */
const MANY = 200;

function readPage(session: Session, query: LetterQuery): LetterPage {
  const search = searchOf(query);
  const sources = isApart(query) ? sourcesApartIn(session, query) : sourcesIn(session, query);
  const parts = sources.map((source) => lookInto(session, source, search, query.counted ?? true));
  const { page, ...rest } = mergeParts(search, parts);
  if (rest.total === 0 && session.get(LETTERS_WITHOUT_GROUPS) !== undefined)
    throw groupsMissing(session.path);
  return { letters: readLetters(session, page, query.parts), ...rest };
}

/**
 * Whether each state is searched separately: attempts, item ids and texts are indexed for dead items only,
 * ages for all waiting letters.
 */
function isApart(query: LetterQuery): boolean {
  const { order, attemptsMin, attemptsMax, text } = query;
  if (text !== undefined) return true;
  const isOfAttempts = attemptsMin !== undefined || attemptsMax !== undefined || order === "attempts";
  return (isOfAttempts || order === "item") && !dependsOnAge(query);
}

function lookInto(session: Session, source: Source, search: Search, isCounted: boolean): Part {
  const { filter, order, limit } = search;
  if (isOfTries(source, filter) && (order === "newest" || order === "oldest" || order === "attempts")) {
    const tries = countTries(session, filter);
    return { found: limit === 0 ? [] : walkTries(session, source, search, tries), total: sumOf(tries) };
  }
  const part = findByText(session, source, search, isCounted);
  if (part !== null) return part;
  if (!isWalked(source, filter)) {
    return isCounted
      ? countIn(session, source, search)
      : { found: searchIn(session, source, search), total: 0 };
  }
  const total = countWalk(session, source, filter);
  return { found: limit === 0 ? [] : findCounted(session, source, search, total), total };
}

/** If more letters than this are found one by one, scanning all letters finds the page faster. */
const OTHERS_MAX = 5000;

/** Searches by text, alone or within groups, in the order of burials. Null if the text index does not help. */
function findByText(session: Session, source: Source, search: Search, isCounted: boolean): Part | null {
  const { filter, order } = search;
  const { text, ...rest } = filter;
  const isOfText = text !== undefined && isOfGroups(rest) && !dependsOnAge(rest);
  if (!isOfText || (order !== "newest" && order !== "oldest")) return null;
  const finds = textFinds(session, source, filter, isCounted);
  // Not for callers without a total: they read all pages, and each page would check the whole list again.
  if (finds === null || (finds.isLong && !isCounted)) return null;
  return walkText(session, finds, {
    search,
    isAnyInRetry: !isNothingInRetry(session, filter.queue),
    ...(!isCounted && { othersMax: OTHERS_MAX }),
  });
}

/**
 * Ranges contain neither ages of resolved letters nor arrival times, and do not separate letters in retry.
 */
function isWalked(source: Source, filter: LetterSearch): boolean {
  if (source.counted === undefined || !isOfGroups(filter)) return false;
  return !dependsOnAge(filter) || (source === WAITING && filter.ageOf !== "arrival");
}

function findCounted(session: Session, source: Source, search: Search, total: number): readonly Found[] {
  const { filter, order, after, limit } = search;
  if (total === 0) return [];
  const walk = { session, source, filter, limit };
  if (order === "newest" || order === "oldest") return walkGroups({ ...walk, order, after: after?.no });
  if (order === "type") {
    const newest = (one: Omit<Walk, "order">) => call(() => walkGroups({ ...one, order: "newest" }));
    return runNow(walkTypes(new SqliteDb(session), { ...walk, after }, newest));
  }
  const attempts = order === "attempts" ? onlyTries(session, source, filter) : undefined;
  if (attempts !== undefined) return walkAlike(walk, after, attempts);
  const isByItem = order === "item" && isDense(session, source, { queue: filter.queue, total, limit });
  return searchIn(session, source, search, isByItem ? byItemId(source, filter.queue) : undefined);
}

/** The number of attempts, if it is the same for all letters that may match. */
function onlyTries(session: Session, source: Source, { queue }: LetterFilter): number | undefined {
  if (!isOfTries(source, {})) return undefined;
  const [only, ...others] = countTries(session, queue === undefined ? {} : { queue });
  return others.length === 0 ? only?.attempts : undefined;
}

/** With equal attempts, letters are ordered by burial. The cursor may have another number of attempts. */
function walkAlike(
  walk: Omit<Walk, "order" | "after">,
  after: Search["after"],
  attempts: number,
): readonly Found[] {
  if (after !== undefined && Number(after.key) < attempts) return [];
  const start = after?.key === attempts ? after.no : undefined;
  const found = walkGroups({ ...walk, order: "newest", after: start });
  return found.map((letter) => ({ ...letter, key: attempts }));
}

/** Whether reading items by id finds a page of letters faster than sorting the letters. */
function isDense(
  session: Session,
  source: Source,
  { queue, total, limit }: { queue: string | undefined; total: number; limit: number },
): boolean {
  if (queue !== undefined) return runOn(session, (db) => countQueue(db, queue)).total * limit < total * total;
  return isOfTries(source, {}) && sumOf(countTries(session, {})) * limit < total * total;
}

/** Reads a page from one source; in the order of burials, it reads no further than the page. */
function searchIn(
  session: Session,
  source: Source,
  search: Search,
  path: Path = pathOf(session, source, search.filter, search),
): Found[] {
  const letters = matching(session, source, search.filter, { path, columns: KEY[search.order] });
  return runNow(searchEach(new SqliteDb(session), source, search, letters));
}

function countIn(session: Session, source: Source, search: Search): Part {
  const letters = matching(session, source, search.filter, { columns: KEY[search.order] });
  return runNow(searchAndCount(new SqliteDb(session), source, search, letters));
}

/** Whether the filter uses only a queue and numbers of attempts, which are counted for dead letters. */
function isOfTries(source: Source, filter: LetterSearch): boolean {
  const { types, classes, signatures, eligible, itemIds, text, condition } = filter;
  const asked = [types, classes, signatures, eligible, itemIds, text, condition];
  return source === DEAD && !dependsOnAge(filter) && asked.every((one) => one === undefined);
}

/** Counts dead letters by number of attempts, the most attempts first. */
function countTries(session: Session, { queue, attemptsMin, attemptsMax }: LetterFilter): Tries[] {
  return session.all<Tries>(
    `SELECT attempts, sum(count) AS count FROM letters_by_attempts
      WHERE ${queue === undefined ? "? IS NULL" : "queue = (SELECT no FROM queues WHERE name = ?)"}
        AND attempts BETWEEN ? AND ? AND count > 0 GROUP BY attempts ORDER BY attempts DESC`,
    queue ?? null,
    attemptsMin ?? 0,
    attemptsMax ?? Number.MAX_SAFE_INTEGER,
  );
}

interface Tries {
  readonly attempts: number;
  readonly count: number;
}

/**
 * If there are fewer letters than this, they are read and sorted; otherwise a scan of the letters finds a
 * page faster.
 */
const FEW = 5000;

/** Reads a page of the letters with these numbers of attempts. */
function walkTries(
  session: Session,
  source: Source,
  search: Search,
  tries: readonly Tries[],
): readonly Found[] {
  if (search.order === "attempts") return walkDown(session, source, search, tries);
  return searchIn(session, source, search, pathFor(source, search.filter, sumOf(tries)));
}

function sumOf(tries: readonly Tries[]): number {
  return tries.reduce((sum, { count }) => sum + count, 0);
}

function pathFor({ table }: Source, { queue }: LetterFilter, count: number): Path | undefined {
  if (count >= FEW) return undefined;
  const from = condition(
    `queues q CROSS JOIN items i INDEXED BY items_dead ON i.queue = q.no
      CROSS JOIN ${table} l ON l.ref = i.ref CROSS JOIN groups g ON g.no = l.grp`,
  );
  return queue === undefined ? { from } : { from, where: condition("q.name = ?", queue) };
}

/** Letters with the same number of attempts are ordered by burial, newest first. */
function walkDown(
  session: Session,
  source: Source,
  { filter, after, limit }: Search,
  tries: readonly Tries[],
): readonly Found[] {
  const found: Found[] = [];
  for (const { attempts, count } of tries) {
    if (found.length >= limit) break;
    if (after !== undefined && attempts > Number(after.key)) continue;
    const page = searchIn(
      session,
      source,
      {
        filter: { ...filter, attemptsMin: attempts, attemptsMax: attempts },
        order: "newest",
        after: after?.key === attempts ? after : undefined,
        limit: limit - found.length,
      },
      pathFor(source, filter, count),
    );
    found.push(...page.map((letter) => ({ ...letter, key: attempts })));
  }
  return found;
}
