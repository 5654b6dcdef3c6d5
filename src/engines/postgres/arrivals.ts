/** When letters came, kept by group and minute with every burial, so that the course of failures needs no scan. */
import type { Arrival, ArrivalQuery, LetterFilter } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import { groupConditions } from "../sql/conditions.ts";
import { type ArrivalSum, MINUTE_MS, minuteOf } from "../sql/deltas.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

/** Counts those of one transaction in. A minute that letters leave is there already; a new one has only come. */
export async function countArrivals(tx: Tx, sums: readonly ArrivalSum[]): Promise<void> {
  const changed = sums.filter(({ waiting, ever }) => waiting !== 0 || ever !== 0);
  if (changed.length === 0) return;
  await tx.run(
    `WITH counted AS (
       UPDATE arrivals a SET waiting = a.waiting + s.waiting, ever = a.ever + s.ever FROM ${SUMS}
        WHERE a.grp = s.grp AND a.minute = s.minute RETURNING a.grp, a.minute)
     INSERT INTO arrivals (grp, minute, waiting, ever)
     SELECT * FROM ${SUMS} WHERE NOT EXISTS (SELECT 1 FROM counted c WHERE c.grp = s.grp AND c.minute = s.minute)`,
    ...columnsOf(changed),
  );
}

const SUMS =
  "unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS s (grp, minute, waiting, ever)";

function columnsOf(sums: readonly ArrivalSum[]): number[][] {
  return [
    sums.map((sum) => sum.group),
    sums.map((sum) => sum.minute),
    sums.map((sum) => sum.waiting),
    sums.map((sum) => sum.ever),
  ];
}

export async function listArrivals(tx: Tx, query: ArrivalQuery): Promise<Arrival[]> {
  const { bucketMs } = query;
  assert(bucketMs > 0 && bucketMs % MINUTE_MS === 0, "a stretch of arrivals is a multiple of a minute");
  const minutes = bucketMs / MINUTE_MS;
  const { sql, values } = groupConditions(DIALECT, query);
  return tx.all<Arrival>(
    `SELECT a.minute / ?::bigint * ?::bigint AS at, sum(a.waiting)::bigint AS waiting, sum(a.ever)::bigint AS ever
         FROM groups g JOIN arrivals a ON a.grp = g.no
        WHERE a.minute >= ? AND ${sql} GROUP BY 1 HAVING sum(a.ever) > 0 ORDER BY 1`,
    minutes,
    bucketMs,
    Math.floor(Math.max(query.since ?? 0, 0) / bucketMs) * minutes,
    ...values,
  );
}

/** How many letters of the chosen groups wait that were buried at that time or before: whole minutes, and a part of one. */
export async function countBuriedBy(tx: Tx, filter: LetterFilter, at: number): Promise<number> {
  const { sql, values } = groupConditions(DIALECT, filter);
  const [minutes, letters] = ["a", "l"].map((table) =>
    values.length === 0 ? "" : `JOIN groups g ON g.no = ${table}.grp`,
  );
  const minute = minuteOf(at);
  const row = await tx.get<{ n: number }>(
    `SELECT (SELECT coalesce(sum(a.waiting), 0) FROM arrivals a ${minutes}
              WHERE a.minute < ? AND a.waiting > 0 AND ${sql})::bigint
          + (SELECT count(*) FROM letters l ${letters} WHERE l.buried_at BETWEEN ? AND ? AND ${sql}) AS n`,
    minute,
    ...values,
    minute * MINUTE_MS,
    at,
    ...values,
  );
  return row?.n ?? 0;
}
