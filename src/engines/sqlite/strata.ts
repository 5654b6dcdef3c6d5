/**
 * Questions of age. Letters are numbered as they are buried, and a stratum is a stretch of those numbers: whole strata
 * are counted by their counters, and only a stratum that the asked time runs through is looked at letter by letter.
 * A clock that was put back makes more such strata and no wrong answer.
 */
import type { Rule } from "../letter-rules.ts";
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

/** Of the strata that have these letters: they came in as they were in another store, which may keep no strata. */
export function countStrataAnew(session: Session, numbers: readonly number[]): void {
  for (const stratum of new Set(numbers.map(stratumOf))) {
    session.run("DELETE FROM strata WHERE stratum = ?", stratum);
    session.run(
      `INSERT INTO strata (grp, stratum, count, first_at, last_at)
       SELECT grp, ?, count(*), min(buried_at), max(buried_at) FROM letters WHERE no >= ? AND no < ? GROUP BY grp`,
      stratum,
      stratum * STRATUM_SIZE,
      (stratum + 1) * STRATUM_SIZE,
    );
  }
}

/** How many letters of the groups, or of all, were buried at that time or before. */
export function countBuriedBy(session: Session, groups: readonly number[] | "all", at: number): number {
  const [strata, ofChosen, values] =
    groups === "all" ? ["strata_of_all", "1", []] : ["strata", CHOSEN, [JSON.stringify(groups)]];
  const sums = session.get<{ whole: number; parted: string }>(
    `SELECT coalesce(sum(count) FILTER (WHERE last_at <= ?), 0) AS whole,
            json_group_array(DISTINCT stratum) FILTER (WHERE last_at > ?) AS parted
       FROM ${strata} WHERE first_at <= ? AND count > 0 AND ${ofChosen}`,
    ...[at, at, at, ...values],
  );
  if (sums === undefined || sums.parted === "[]") return sums?.whole ?? 0;
  // A stratum that the time runs through in one of the groups is looked at for all of them: in the order of their
  // numbers, whichever group they are of, that is several times faster than group by group.
  const { parted } = sums;
  const counted = session.get<{ n: number }>(
    `SELECT coalesce(sum(count), 0) AS n FROM ${strata} WHERE last_at <= ? AND stratum IN ${LISTED} AND ${ofChosen}`,
    ...[at, parted, ...values],
  );
  const looked = session.get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT value AS stratum FROM json_each(?)) s CROSS JOIN letters l ON ${IN_STRATUM}
      WHERE l.buried_at <= ? AND ${ofChosen}`,
    ...[parted, at, ...values],
  );
  return sums.whole - (counted?.n ?? 0) + (looked?.n ?? 0);
}

/** Values of a list that is given as a JSON array. */
const LISTED = "(SELECT value FROM json_each(?))";
const CHOSEN = `grp IN ${LISTED}`;

/** The end of the last stratum that may have a letter which was buried at that time or before. */
export function lastNumberBy(session: Session, at: number): number {
  const sql =
    "SELECT stratum FROM strata_of_all WHERE first_at <= ? AND count > 0 ORDER BY stratum DESC LIMIT 1";
  const stratum = session.get<{ stratum: number }>(sql, at)?.stratum ?? -1;
  return (stratum + 1) * STRATUM_SIZE;
}

/** What is counted of all groups together is the sum of what is counted of each, and has been between these times. */
export const STRATA_RULES: readonly Rule[] = [
  [
    "groups count their letters",
    `SELECT 'stratum ' || stratum || ' counts ' || coalesce(a.count, 0) || ' letters, its groups ' || coalesce(s.count, 0)
            AS detail
       FROM strata_of_all a
       FULL JOIN (SELECT stratum, sum(count) AS count, min(first_at) AS first_at, max(last_at) AS last_at
                    FROM strata GROUP BY stratum) s USING (stratum)
      WHERE coalesce(a.count, 0) <> coalesce(s.count, 0) OR a.first_at > s.first_at OR a.last_at < s.last_at`,
  ],
];

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
