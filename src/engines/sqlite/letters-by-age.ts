/**
 * Counts and finds letters by age. Letters are numbered in burial order, and each range of numbers has a
 * counter. Only ranges that contain a time bound are read letter by letter. If the clock was set back there
 * are more such ranges, but results stay correct.
 */
import type { Session } from "./session.ts";

/** Small enough that all letters of a range are read quickly, large enough that there are few ranges. */
const RANGE_SIZE = 4096;

/** The condition that a letter `l` is in the range `s`. */
export const IN_RANGE = `l.no >= s.number_range * ${RANGE_SIZE} AND l.no < (s.number_range + 1) * ${RANGE_SIZE}`;

export function rangeOf(no: number): number {
  return Math.floor(no / RANGE_SIZE);
}

/** Adds to the count of a group's range, or subtracts from it; the times are those of added letters. */
export function countIntoRange(
  session: Session,
  of: { readonly group: number; readonly range: number },
  { count, firstAt, lastAt, firstMin, firstMax }: RangeTimes & { readonly count: number },
): void {
  // SQLite applies the CHECK to the INSERT even if the row exists, so a negative count is inserted as 0.
  session.run(
    `INSERT INTO letters_by_age (grp, number_range, count, first_at, last_at, first_min, first_max)
     VALUES (?1, ?2, max(?3, 0), ?4, ?5, ?6, ?7)
     ON CONFLICT DO UPDATE SET count = count + ?3, first_at = min(first_at, ?4), last_at = max(last_at, ?5),
                               first_min = min(first_min, ?6), first_max = max(first_max, ?7)`,
    ...[of.group, of.range, count, firstAt, lastAt, firstMin, firstMax],
  );
}

/** Adds letters to ranges with one statement, because a call costs more than a row. No count may be negative. */
export function addToRanges(session: Session, sums: readonly RangeSum[]): void {
  session.insert(
    "letters_by_age (grp, number_range, count, first_at, last_at, first_min, first_max)",
    sums.map(({ group, range, count, firstAt, lastAt, firstMin, firstMax }) => [
      ...[group, range, count, firstAt, lastAt, firstMin, firstMax],
    ]),
    `ON CONFLICT DO UPDATE SET count = count + excluded.count,
       first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at),
       first_min = min(first_min, excluded.first_min), first_max = max(first_max, excluded.first_max)`,
  );
}

/** The net change of a group's letters in one range. */
export interface RangeSum extends RangeTimes {
  readonly group: number;
  readonly range: number;
  readonly count: number;
}

/** The bounds of the last failures (`firstAt`, `lastAt`) and of the first failures (`firstMin`, `firstMax`). */
interface RangeTimes {
  readonly firstAt: number;
  readonly lastAt: number;
  readonly firstMin: number;
  readonly firstMax: number;
}

/** Recounts the ranges of letters that were copied from another store, which may have no ranges. */
export function recountRanges(session: Session, numbers: readonly number[]): void {
  for (const range of new Set(numbers.map(rangeOf))) {
    session.run("DELETE FROM letters_by_age WHERE number_range = ?", range);
    session.run(
      `INSERT INTO letters_by_age (grp, number_range, count, first_at, last_at, first_min, first_max)
       SELECT grp, ?, count(*), min(buried_at), max(buried_at), min(first_at), max(first_at)
         FROM letters WHERE no >= ? AND no < ? GROUP BY grp`,
      range,
      range * RANGE_SIZE,
      (range + 1) * RANGE_SIZE,
    );
  }
}

/**
 * A span of times later than `after` and not later than `until`; `of` selects the first or the last failure.
 */
export interface TimeSpan {
  readonly of: "first" | "last";
  readonly after: number;
  readonly until: number;
}

/** For each kind of time: its column, and the columns with its minimum and maximum over a range of letters. */
const COLUMNS = {
  first: { column: "first_at", min: "first_min", max: "first_max" },
  last: { column: "buried_at", min: "first_at", max: "last_at" },
} as const;

/** Counts the letters of the groups, or of all groups, whose time is in the span. */
export function countInSpan(
  session: Session,
  groups: readonly number[] | "all",
  { of, after, until }: TimeSpan,
): number {
  const { column, min, max } = COLUMNS[of];
  const [ranges, ofChosen, values] =
    groups === "all"
      ? ["letters_by_age_of_all", "1", []]
      : ["letters_by_age", CHOSEN, [JSON.stringify(groups)]];
  const isWhole = `(${min} > ? AND ${max} <= ?)`;
  const bounds = [after, until];
  const sums = session.get<{ whole: number; parted: string }>(
    `SELECT coalesce(sum(count) FILTER (WHERE ${isWhole}), 0) AS whole,
            json_group_array(DISTINCT number_range) FILTER (WHERE NOT ${isWhole}) AS parted
       FROM ${ranges} WHERE ${max} > ? AND ${min} <= ? AND count > 0 AND ${ofChosen}`,
    ...[...bounds, ...bounds, ...bounds, ...values],
  );
  if (sums === undefined || sums.parted === "[]") return sums?.whole ?? 0;
  // A range that contains a bound in one group is read for all groups, because reading in number order is
  // several times faster than group by group.
  const { parted } = sums;
  const counted = session.get<{ n: number }>(
    `SELECT coalesce(sum(count), 0) AS n FROM ${ranges} WHERE ${isWhole} AND number_range IN ${LISTED} AND ${ofChosen}`,
    ...[...bounds, parted, ...values],
  );
  const looked = session.get<{ n: number }>(
    `SELECT count(*) AS n FROM (SELECT value AS number_range FROM json_each(?)) s CROSS JOIN letters l ON ${IN_RANGE}
      WHERE l.${column} > ? AND l.${column} <= ? AND ${ofChosen}`,
    ...[parted, ...bounds, ...values],
  );
  return sums.whole - (counted?.n ?? 0) + (looked?.n ?? 0);
}

/** The values of a parameter that is a JSON array. */
const LISTED = "(SELECT value FROM json_each(?))";
const CHOSEN = `grp IN ${LISTED}`;

/** The end of the last range that may have a letter in the span. */
export function lastNumberIn(session: Session, { of, after, until }: TimeSpan): number {
  const { min, max } = COLUMNS[of];
  const sql = `SELECT number_range FROM letters_by_age_of_all WHERE ${max} > ? AND ${min} <= ? AND count > 0
                ORDER BY number_range DESC LIMIT 1`;
  const range = session.get<{ number_range: number }>(sql, after, until)?.number_range ?? -1;
  return (range + 1) * RANGE_SIZE;
}

/**
 * Returns the earliest first failure of the queue's letters; null if there are none. The bounds of ranges are
 * used to narrow the search.
 */
export function earliestFailure(session: Session, queue: string): number | null {
  const ranges = session.tuples<[grp: number, range: number, min: number]>(
    `SELECT s.grp, s.number_range, s.first_min FROM queues q CROSS JOIN groups g ON g.queue = q.no
            CROSS JOIN letters_by_age s ON s.grp = g.no
      WHERE q.name = ? AND g.count > 0 AND s.count > 0 ORDER BY s.first_min`,
    queue,
  );
  let earliest: number | null = null;
  for (const [grp, range, min] of ranges) {
    if (earliest !== null && min >= earliest) break;
    const found = session.get<{ at: number | null }>(
      "SELECT min(first_at) AS at FROM letters WHERE grp = ? AND no >= ? AND no < ?",
      ...[grp, range * RANGE_SIZE, (range + 1) * RANGE_SIZE],
    );
    const at = found?.at ?? null;
    if (at !== null) earliest = Math.min(earliest ?? at, at);
  }
  return earliest;
}

/**
 * Returns the group's next letter after a number, in the order of the walk, whose time is in the span; null
 * if there is none. Starts with the nearest range that may contain one.
 */
export function firstInSpan(
  session: Session,
  search: {
    readonly grp: number;
    readonly order: "newest" | "oldest";
    readonly beyond: number;
    readonly span: TimeSpan;
  },
): number | null {
  const { grp, order, beyond, span } = search;
  const { column, min, max } = COLUMNS[span.of];
  const [isBeyond, direction] = order === "newest" ? ["<", "DESC"] : [">", "ASC"];
  const range = session.get<{ number_range: number }>(
    `SELECT number_range FROM letters_by_age WHERE grp = ? AND number_range ${isBeyond}= ? AND ${max} > ? AND ${min} <= ? AND count > 0
      ORDER BY number_range ${direction} LIMIT 1`,
    ...[grp, rangeOf(beyond), span.after, span.until],
  )?.number_range;
  if (range === undefined) return null;
  const edge =
    order === "newest"
      ? Math.min(beyond, (range + 1) * RANGE_SIZE)
      : Math.max(beyond, range * RANGE_SIZE - 1);
  const found = session.get<{ no: number }>(
    `SELECT no FROM letters WHERE grp = ? AND no ${isBeyond} ? AND ${column} > ? AND ${column} <= ?
      ORDER BY no ${direction} LIMIT 1`,
    ...[grp, edge, span.after, span.until],
  );
  return found?.no ?? null;
}
