/**
 * Pages of letters by a text, in the order of their burials. The total is a sum of what wordings count; the page is read
 * from the index (wording, no) or on the way through the letters, whichever comes to it sooner.
 */
import { condition } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import type { Found, Search } from "../sql/letter-search.ts";
import { type AwayCondition, awayConditions } from "./letter-search.ts";
import type { Session } from "./session.ts";
import type { TextFinds } from "./text-search.ts";

export interface TextWalk {
  readonly search: Search;
  /** Some of the letters that wait are not dead. */
  readonly isAnyAway: boolean;
  /** Default any number. */
  readonly othersMax?: number;
}

/** A page and the exact total of the dead letters that were found; null when more others were than were to be. */
export function walkText(
  session: Session,
  finds: TextFinds,
  { search, isAnyAway, othersMax = Number.MAX_SAFE_INTEGER }: TextWalk,
): { readonly found: readonly Found[]; readonly total: number } | null {
  const { order, after, limit } = search;
  const isNewest = order === "newest";
  const others = othersOf(session, finds, { isAnyAway, max: othersMax });
  if (others.length > othersMax) return null;
  const away = isAnyAway ? countAway(session, finds) : 0;
  const total = finds.sureCount - away + others.length;
  if (limit === 0) return { found: [], total };
  const start = after?.no ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0);
  const isBeyond = (no: number) => (isNewest ? no < start : no > start);
  const sure =
    finds.sureCount === 0 ? [] : sureNumbers({ session, finds, isNewest, isAnyAway, start, limit });
  const numbers = [...sure, ...others.filter(isBeyond)].sort((a, b) => (isNewest ? b - a : a - b));
  return { found: numbers.slice(0, limit).map((no) => ({ table: "letters", no, key: 0 })), total };
}

/** Only dead letters: those on their way may have failed in another way since. */
const DEAD = "CROSS JOIN letters l ON l.no = f.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'";

/** Up to one more than the most that are wanted. */
function othersOf(
  session: Session,
  { others }: TextFinds,
  { isAnyAway, max }: { readonly isAnyAway: boolean; readonly max: number },
): number[] {
  const sql = `SELECT f.no AS no FROM (${others.sql}) f ${isAnyAway ? DEAD : ""} LIMIT ?`;
  return numbersOf(session, condition(sql, ...others.values, Math.min(max, Number.MAX_SAFE_INTEGER - 1) + 1));
}

/** Of the letters of the sure wordings, those that are on their way. */
function countAway(session: Session, { sure }: TextFinds): number {
  return awayConditions().reduce((sum, { index, condition: where }: AwayCondition) => {
    const row = session.get<{ n: number }>(
      `SELECT count(*) AS n FROM items i INDEXED BY ${index} CROSS JOIN letters l ON l.ref = i.ref
              CROSS JOIN said s ON s.no = l.no
        WHERE ${where} AND s.wording IN (SELECT value FROM json_each(?))`,
      JSON.stringify(sure),
    );
    return sum + (row?.n ?? 0);
  }, 0);
}

interface Page {
  readonly session: Session;
  readonly finds: TextFinds;
  readonly isNewest: boolean;
  readonly isAnyAway: boolean;
  /** The number before the page. */
  readonly start: number;
  readonly limit: number;
}

/** So many letters are passed by on the way to a page, or so many wordings asked for their next letter. */
const PASSED_MAX = 2000;
const ASKED_MAX = 500;

function sureNumbers(page: Page): readonly number[] {
  const { session, finds, limit } = page;
  const sql = "SELECT coalesce(sum(letters), 0) AS n FROM queues";
  const letters = session.get<{ n: number }>(sql)?.n ?? 0;
  if ((letters / finds.sureCount) * limit <= PASSED_MAX) return onTheWay(page);
  return finds.sure.length <= ASKED_MAX ? mergeHeads(page) : sorted(page);
}

/** Through all letters in their order; near the page there may be fewer than elsewhere, and then it takes longer. */
function onTheWay({ session, finds, isNewest, isAnyAway, start, limit }: Page): number[] {
  return numbersOf(
    session,
    condition(
      `SELECT f.no FROM said f ${isAnyAway ? DEAD : ""} WHERE f.no ${isNewest ? "<" : ">"} ?
          AND f.wording IN (SELECT value FROM json_each(?)) ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT ?`,
      ...[start, JSON.stringify(finds.sure), limit],
    ),
  );
}

function sorted({ session, finds, isNewest, isAnyAway, start, limit }: Page): number[] {
  return numbersOf(
    session,
    condition(
      `SELECT f.no FROM json_each(?) w CROSS JOIN said f INDEXED BY said_by_wording ON f.wording = w.value
              ${isAnyAway ? DEAD : ""}
        WHERE f.no ${isNewest ? "<" : ">"} ? ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT ?`,
      ...[JSON.stringify(finds.sure), start, limit],
    ),
  );
}

function numbersOf(session: Session, { sql, values }: Fragment): number[] {
  return session.packed<[no: number]>("no", `FROM (${sql})`, ...values).map(([no]) => no);
}

/** The first letters of each wording, and of them the nearest, as often as the page has letters. */
function mergeHeads(page: Page): number[] {
  const { finds, isNewest, start, limit } = page;
  const heads = finds.sure.map((wording) => ({ wording, no: nextOf(page, wording, start) }));
  const numbers: number[] = [];
  while (numbers.length < limit) {
    let first: { readonly wording: number; no: number | null } | undefined;
    for (const head of heads) {
      if (head.no === null) continue;
      if (first === undefined || first.no === null || head.no > first.no === isNewest) first = head;
    }
    if (first === undefined || first.no === null) break;
    numbers.push(first.no);
    first.no = nextOf(page, first.wording, first.no);
  }
  return numbers;
}

function nextOf({ session, isNewest, isAnyAway }: Page, wording: number, after: number): number | null {
  const row = session.get<{ no: number }>(
    `SELECT f.no AS no FROM said f INDEXED BY said_by_wording ${isAnyAway ? DEAD : ""}
      WHERE f.wording = ? AND f.no ${isNewest ? "<" : ">"} ? ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT 1`,
    wording,
    after,
  );
  return row?.no ?? null;
}
