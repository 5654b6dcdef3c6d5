/**
 * A page of letters and the exact total. Nearly every filter is a choice of groups: then the page is a walk over groups
 * that are counted already. What only a look at each letter can tell is searched for in SQL. No OFFSET anywhere.
 */
import type { LetterFilter, LetterOrder, LetterPage, LetterQuery } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { countWalk, walkGroups, walkTypes } from "./group-walk.ts";
import { countQueue } from "./jobs.ts";
import {
  byItemId,
  type Found,
  isOfGroups,
  type Search,
  type Source,
  searchAndCount,
  searchEach,
  sourcesOf,
} from "./letter-search.ts";
import { readLetters } from "./letters.ts";
import type { Session } from "./session.ts";

export function listLetters(session: Session, query: LetterQuery): LetterPage {
  const order = query.order ?? "newest";
  const after = query.cursor === undefined ? undefined : readCursor(order, query.cursor);
  const search = { filter: query, order, after, limit: query.limit === 0 ? 0 : query.limit + 1 };
  const parts = sourcesOf(session, query).map((source) => lookInto(session, source, search));
  const found = parts
    .flatMap((part) => part.found)
    .sort(IN_ORDER[order])
    .slice(0, search.limit);
  const page = found.slice(0, query.limit);
  const last = page.at(-1);
  return {
    letters: readLetters(session, page, query.history),
    total: parts.reduce((sum, part) => sum + part.total, 0),
    next: found.length > query.limit && last !== undefined ? cursorOf(order, last) : null,
  };
}

interface Part {
  readonly found: readonly Found[];
  readonly total: number;
}

function lookInto(session: Session, source: Source, search: Search): Part {
  if (!isWalked(source, search.filter)) return searchAndCount(session, source, search);
  const total = countWalk(session, source, search.filter);
  return { found: search.limit === 0 ? [] : findCounted(session, source, search, total), total };
}

/** Ages of closed letters are not kept by strata, and those of letters on their way are not told apart. */
function isWalked(source: Source, filter: LetterFilter): boolean {
  if (source.counted === undefined || !isOfGroups(filter)) return false;
  return filter.olderThanMs === undefined || source.condition === "1";
}

function findCounted(session: Session, source: Source, search: Search, total: number): readonly Found[] {
  const { filter, order, after, limit } = search;
  if (total === 0) return [];
  const walk = { session, source, filter, limit };
  if (order === "newest" || order === "oldest") return walkGroups({ ...walk, order, after: after?.no });
  if (order === "type") return walkTypes({ ...walk, after });
  const { queue } = filter;
  const isByItem = order === "item" && queue !== undefined && isDense(session, queue, { total, limit });
  return searchEach(session, source, search, isByItem ? byItemId(source, queue) : undefined);
}

/** Whether walking a queue's items in order comes to a page of letters sooner than sorting the letters does. */
function isDense(
  session: Session,
  queue: string,
  { total, limit }: { total: number; limit: number },
): boolean {
  return countQueue(session, queue).total * limit < total * total;
}

const newestFirst = (a: Found, b: Found) => b.no - a.no;
const byKey = (a: Found, b: Found) => compare(a.key, b.key) || newestFirst(a, b);

const IN_ORDER: Readonly<Record<LetterOrder, (a: Found, b: Found) => number>> = {
  newest: newestFirst,
  oldest: (a, b) => a.no - b.no,
  attempts: (a, b) => compare(b.key, a.key) || newestFirst(a, b),
  item: byKey,
  type: byKey,
};

/** As SQLite compares: numbers by value, texts by their UTF-8 bytes. */
function compare(a: string | number, b: string | number): number {
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
}

type Place = Pick<Found, "no" | "key">;

function cursorOf(order: LetterOrder, { no, key }: Place): string {
  return Buffer.from(JSON.stringify([order, key, no])).toString("base64url");
}

function readCursor(order: LetterOrder, cursor: string): Place {
  const [of, key, no] = readList(cursor);
  const isKey = typeof key === (order === "item" || order === "type" ? "string" : "number");
  if (of === order && isKey && Number.isInteger(no)) return { key: key as Place["key"], no: no as number };
  throw new WorkError("usage", `"${cursor}" is not the cursor of a page in the order ${order}.`, {
    hint: "Take `next` of the page before, in the same order.",
  });
}

function readList(cursor: string): readonly unknown[] {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(read) ? read : [];
  } catch {
    return []; // no JSON: then it is no cursor of ours
  }
}
