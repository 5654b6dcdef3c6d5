/** Counts of burials by group and minute, updated with every burial, so that a timeline of failures needs no scan. */
import type { Arrival, ArrivalQuery } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import { groupConditions } from "./conditions.ts";
import type { Db, Step } from "./db.ts";
import { MINUTE_MS } from "./deltas.ts";

export function listArrivals(db: Db, query: ArrivalQuery): Step<Arrival[]> {
  const { bucketMs } = query;
  assert(bucketMs > 0 && bucketMs % MINUTE_MS === 0, "a stretch of arrivals is a multiple of a minute");
  const minutes = bucketMs / MINUTE_MS;
  const { typed, joinInOrder } = db.sql;
  const { sql, values } = groupConditions(db.sql, query);
  return db.all<Arrival>(
    `SELECT a.minute / ${typed("?", "bigint")} * ${typed("?", "bigint")} AS at, sum(a.waiting) AS waiting, sum(a.ever) AS ever
       FROM groups g ${joinInOrder} arrivals a ON a.grp = g.no
      WHERE a.minute >= ? AND ${sql} GROUP BY 1 HAVING sum(a.ever) > 0 ORDER BY 1`,
    minutes,
    bucketMs,
    Math.floor(Math.max(query.since ?? 0, 0) / bucketMs) * minutes,
    ...values,
  );
}
