/**
 * Letters by number of attempts. The dead items of each queue are counted by attempts, so that a total needs no scan, and
 * the order by attempts starts with the highest number.
 */
import type { LetterFilter } from "../../engine.ts";
import { dependsOnAge } from "../../item/letter-query.ts";
import { condition } from "../sql/conditions.ts";
import { DEAD, type Found, type Search, type Source } from "../sql/letter-search.ts";
import { searchIn } from "./letter-pages.ts";
import type { Path } from "./letter-search.ts";
import type { Session } from "./session.ts";

/** Whether the filter uses only a queue and numbers of attempts, which are counted for dead letters. */
export function isOfTries(source: Source, filter: LetterFilter): boolean {
  const { types, classes, signatures, eligible, itemIds, text } = filter;
  const asked = [types, classes, signatures, eligible, itemIds, text];
  return source === DEAD && !dependsOnAge(filter) && asked.every((one) => one === undefined);
}

/** Counts dead letters by number of attempts, the most attempts first. */
export function countTries(session: Session, { queue, attemptsMin, attemptsMax }: LetterFilter): Tries[] {
  return session.all<Tries>(
    `SELECT attempts, sum(count) AS count FROM letters_by_attempts
      WHERE ${queue === undefined ? "? IS NULL" : "queue = (SELECT no FROM queues WHERE name = ?)"}
        AND attempts BETWEEN ? AND ? AND count > 0 GROUP BY attempts ORDER BY attempts DESC`,
    queue ?? null,
    attemptsMin ?? 0,
    attemptsMax ?? Number.MAX_SAFE_INTEGER,
  );
}

export interface Tries {
  readonly attempts: number;
  readonly count: number;
}

/** Fewer letters than this are read and sorted; among more, a scan of the letters finds a page sooner. */
const FEW = 5000;

/** Reads a page of the letters with these numbers of attempts. */
export function walkTries(
  session: Session,
  source: Source,
  search: Search,
  tries: readonly Tries[],
): readonly Found[] {
  if (search.order === "attempts") return walkDown(session, source, search, tries);
  return searchIn(session, source, search, pathFor(source, search.filter, sumOf(tries)));
}

export function sumOf(tries: readonly Tries[]): number {
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
