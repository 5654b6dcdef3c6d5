/**
 * Pages of letters by text, in burial order. The total is the sum of the template counts. The page is read
 * from the index (template, no) or by scanning the letters, whichever is faster.
 */
import { condition } from "../sql/conditions.ts";
import type { Fragment } from "../sql/db.ts";
import type { Found, Search } from "../sql/letter-search.ts";
import { type InRetryCondition, inRetryConditions } from "./letter-search.ts";
import type { Session } from "./session.ts";
import type { TextFinds } from "./text-search.ts";

export interface TextWalk {
  readonly search: Search;
  /** Whether some of the waiting letters are not dead. */
  readonly isAnyInRetry: boolean;
  /** The search returns null if it finds more other letters than this. Default: no limit. */
  readonly othersMax?: number;
}

/** Reads a page and the exact total of the dead letters found; null if there are more than `othersMax` other letters. */
export function walkText(
  session: Session,
  finds: TextFinds,
  { search, isAnyInRetry, othersMax = Number.MAX_SAFE_INTEGER }: TextWalk,
): { readonly found: readonly Found[]; readonly total: number } | null {
  const { order, after, limit } = search;
  const isNewest = order === "newest";
  const others = othersOf(session, finds, { isAnyInRetry, max: othersMax });
  if (others.length > othersMax) return null;
  const inRetry = isAnyInRetry ? countInRetry(session, finds) : 0;
  const total = finds.sureCount - inRetry + others.length;
  if (limit === 0) return { found: [], total };
  const start = after?.no ?? (isNewest ? Number.MAX_SAFE_INTEGER : 0);
  const isBeyond = (no: number) => (isNewest ? no < start : no > start);
  const sure =
    finds.sureCount === 0 ? [] : sureNumbers({ session, finds, isNewest, isAnyInRetry, start, limit });
  const numbers = [...sure, ...others.filter(isBeyond)].sort((a, b) => (isNewest ? b - a : a - b));
  return { found: numbers.slice(0, limit).map((no) => ({ table: "letters", no, key: 0 })), total };
}

/** Keeps only dead letters, because letters in retry may have failed differently since then. */
const DEAD = "CROSS JOIN letters l ON l.no = f.no CROSS JOIN items i ON i.ref = l.ref AND i.state = 'dead'";

/** Returns at most `max + 1` letters, so that the caller can detect that there are too many. */
function othersOf(
  session: Session,
  { others }: TextFinds,
  { isAnyInRetry, max }: { readonly isAnyInRetry: boolean; readonly max: number },
): number[] {
  const sql = `SELECT f.no AS no FROM (${others.sql}) f ${isAnyInRetry ? DEAD : ""} LIMIT ?`;
  return numbersOf(session, condition(sql, ...others.values, Math.min(max, Number.MAX_SAFE_INTEGER - 1) + 1));
}

/** Counts the letters in retry whose template matches, whatever their parameters are. */
function countInRetry(session: Session, { sure }: TextFinds): number {
  return inRetryConditions().reduce((sum, { index, condition: where }: InRetryCondition) => {
    const row = session.get<{ n: number }>(
      `SELECT count(*) AS n FROM items i INDEXED BY ${index} CROSS JOIN letters l ON l.ref = i.ref
              CROSS JOIN indexed_messages s ON s.no = l.no
        WHERE ${where} AND s.template IN (SELECT value FROM json_each(?))`,
      JSON.stringify(sure),
    );
    return sum + (row?.n ?? 0);
  }, 0);
}

interface Page {
  readonly session: Session;
  readonly finds: TextFinds;
  readonly isNewest: boolean;
  readonly isAnyInRetry: boolean;
  /** The number of the last letter of the previous page. */
  readonly start: number;
  readonly limit: number;
}

/** The most letters to scan for a page, and the most templates whose next letters are merged. */
const PASSED_MAX = 2000;
const ASKED_MAX = 500;

function sureNumbers(page: Page): readonly number[] {
  const { session, finds, limit } = page;
  const sql = "SELECT coalesce(sum(letters), 0) AS n FROM queues";
  const letters = session.get<{ n: number }>(sql)?.n ?? 0;
  if ((letters / finds.sureCount) * limit <= PASSED_MAX) return onTheWay(page);
  return finds.sure.length <= ASKED_MAX ? mergeHeads(page) : sorted(page);
}

/** Scans all letters in order. It takes longer than estimated if matches are rare near the page. */
function onTheWay({ session, finds, isNewest, isAnyInRetry, start, limit }: Page): number[] {
  return numbersOf(
    session,
    condition(
      `SELECT f.no FROM indexed_messages f ${isAnyInRetry ? DEAD : ""} WHERE f.no ${isNewest ? "<" : ">"} ?
          AND f.template IN (SELECT value FROM json_each(?)) ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT ?`,
      ...[start, JSON.stringify(finds.sure), limit],
    ),
  );
}

function sorted({ session, finds, isNewest, isAnyInRetry, start, limit }: Page): number[] {
  return numbersOf(
    session,
    condition(
      `SELECT f.no FROM json_each(?) w CROSS JOIN indexed_messages f INDEXED BY indexed_messages_by_template ON f.template = w.value
              ${isAnyInRetry ? DEAD : ""}
        WHERE f.no ${isNewest ? "<" : ">"} ? ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT ?`,
      ...[JSON.stringify(finds.sure), start, limit],
    ),
  );
}

function numbersOf(session: Session, { sql, values }: Fragment): number[] {
  return session.packed<[no: number]>("no", `FROM (${sql})`, ...values).map(([no]) => no);
}

/** Repeatedly takes the nearest next letter of all templates until the page is full. */
function mergeHeads(page: Page): number[] {
  const { finds, isNewest, start, limit } = page;
  const heads = finds.sure.map((template) => ({ template, no: nextOf(page, template, start) }));
  const numbers: number[] = [];
  while (numbers.length < limit) {
    let first: { readonly template: number; no: number | null } | undefined;
    for (const head of heads) {
      if (head.no === null) continue;
      if (first === undefined || first.no === null || head.no > first.no === isNewest) first = head;
    }
    if (first === undefined || first.no === null) break;
    numbers.push(first.no);
    first.no = nextOf(page, first.template, first.no);
  }
  return numbers;
}

function nextOf({ session, isNewest, isAnyInRetry }: Page, template: number, after: number): number | null {
  const row = session.get<{ no: number }>(
    `SELECT f.no AS no FROM indexed_messages f INDEXED BY indexed_messages_by_template ${isAnyInRetry ? DEAD : ""}
      WHERE f.template = ? AND f.no ${isNewest ? "<" : ">"} ? ORDER BY f.no ${isNewest ? "DESC" : ""} LIMIT 1`,
    template,
    after,
  );
  return row?.no ?? null;
}
