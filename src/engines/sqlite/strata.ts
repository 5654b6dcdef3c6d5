/**
 * Questions of age. Letters are numbered as they are buried, and a stratum is a stretch of those numbers: whole strata
 * are counted by their counters, and only a stratum that the asked time runs through is looked at letter by letter.
 * A clock that was put back makes more such strata and no wrong answer.
 */
import type { Session } from "./session.ts";

/** Few enough that looking at each letter of one is quick, enough that strata are few. */
const STRATUM_SIZE = 4096;

/** The letters `l` of the stratum `s`. */
export const IN_STRATUM = `l.no >= s.stratum * ${STRATUM_SIZE} AND l.no < (s.stratum + 1) * ${STRATUM_SIZE}`;

/** The stratum of the letter with this number. */
export function stratumOf(no: number): number {
  return Math.floor(no / STRATUM_SIZE);
}

/** Counts letters into a stratum of a group, or out of it; the times are of those that came in. */
export function countIntoStratum(
  session: Session,
  place: { readonly group: number; readonly stratum: number },
  { count, firstAt, lastAt }: { readonly count: number; readonly firstAt: number; readonly lastAt: number },
): void {
  // Letters leave a stratum that is there; its row is only tried, and the CHECK looks at what is tried.
  session.run(
    `INSERT INTO strata (grp, stratum, count, first_at, last_at) VALUES (?1, ?2, max(?3, 0), ?4, ?5)
     ON CONFLICT DO UPDATE SET count = count + ?3, first_at = min(first_at, ?4), last_at = max(last_at, ?5)`,
    place.group,
    place.stratum,
    count,
    firstAt,
    lastAt,
  );
}

/** How many letters of the groups were buried at that time or before. */
export function countBuriedBy(session: Session, groups: readonly number[], at: number): number {
  const chosen = JSON.stringify(groups);
  const whole = session.get<{ n: number }>(
    `SELECT coalesce(sum(count), 0) AS n FROM strata
      WHERE grp IN (SELECT value FROM json_each(?)) AND last_at <= ?`,
    chosen,
    at,
  );
  const parted = session.get<{ n: number }>(
    `SELECT count(*) AS n FROM strata s CROSS JOIN letters l ON l.grp = s.grp AND ${IN_STRATUM}
      WHERE s.grp IN (SELECT value FROM json_each(?)) AND s.first_at <= ? AND s.last_at > ? AND l.buried_at <= ?`,
    chosen,
    at,
    at,
    at,
  );
  return (whole?.n ?? 0) + (parted?.n ?? 0);
}

/** The end of the last stratum that may have a letter which was buried at that time or before. */
export function lastNumberBy(session: Session, at: number): number {
  const sql = "SELECT max(stratum) AS stratum FROM strata WHERE first_at <= ? AND count > 0";
  const stratum = session.get<{ stratum: number | null }>(sql, at)?.stratum ?? -1;
  return (stratum + 1) * STRATUM_SIZE;
}

/**
 * The group's first letter beyond a number, in the order of the walk, that was buried at that time or before; null when
 * there is none. It is looked for from the nearest stratum on that may have one.
 */
export function firstBuriedBy(
  session: Session,
  search: {
    readonly grp: number;
    readonly order: "newest" | "oldest";
    readonly after: number;
    readonly at: number;
  },
): number | null {
  const { grp, order, after, at } = search;
  const [isBeyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
  const stratum = session.get<{ stratum: number }>(
    `SELECT stratum FROM strata WHERE grp = ? AND stratum ${isBeyond}= ? AND first_at <= ? AND count > 0
      ORDER BY stratum ${direction} LIMIT 1`,
    grp,
    stratumOf(after),
    at,
  )?.stratum;
  if (stratum === undefined) return null;
  const edge =
    order === "newest"
      ? Math.min(after, (stratum + 1) * STRATUM_SIZE)
      : Math.max(after, stratum * STRATUM_SIZE - 1);
  const found = session.get<{ no: number }>(
    `SELECT no FROM letters WHERE grp = ? AND no ${isBeyond} ? AND buried_at <= ? ORDER BY no ${direction} LIMIT 1`,
    grp,
    edge,
    at,
  );
  return found?.no ?? null;
}
