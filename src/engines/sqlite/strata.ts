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

/** The newest letter of the group below the number that was buried at that time or before; 0 when there is none. */
export function newestBuriedBy(session: Session, group: number, below: number, at: number): number {
  const stratum = session.get<{ stratum: number }>(
    `SELECT stratum FROM strata WHERE grp = ? AND stratum <= ? AND first_at <= ? AND count > 0
      ORDER BY stratum DESC LIMIT 1`,
    group,
    stratumOf(below),
    at,
  )?.stratum;
  if (stratum === undefined) return 0;
  const found = session.get<{ no: number }>(
    "SELECT no FROM letters WHERE grp = ? AND no < ? AND buried_at <= ? ORDER BY no DESC LIMIT 1",
    group,
    Math.min(below, (stratum + 1) * STRATUM_SIZE),
    at,
  );
  return found?.no ?? 0;
}
