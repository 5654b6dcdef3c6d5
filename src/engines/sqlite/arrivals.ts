/** When letters came, kept by group and minute with every burial, so that the course of failures needs no scan. */
import type { Arrival, ArrivalQuery } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import { groupConditions } from "../sql/conditions.ts";
import { type ArrivalSum, MINUTE_MS } from "../sql/deltas.ts";
import { DIALECT } from "./dialect.ts";
import type { Session } from "./session.ts";

/** Counts the burials of one transaction in. A minute that letters leave is there already; see letters-by-age.ts. */
export function countArrivals(session: Session, sum: ArrivalSum): void {
  if (sum.waiting === 0 && sum.ever === 0) return;
  session.run(
    `INSERT INTO arrivals (grp, minute, waiting, ever) VALUES (?1, ?2, max(?3, 0), max(?3, ?4, 0))
     ON CONFLICT DO UPDATE SET waiting = waiting + ?3, ever = ever + ?4`,
    sum.group,
    sum.minute,
    sum.waiting,
    sum.ever,
  );
}

export function listArrivals(session: Session, query: ArrivalQuery): Arrival[] {
  const { bucketMs } = query;
  assert(bucketMs > 0 && bucketMs % MINUTE_MS === 0, "a stretch of arrivals is a multiple of a minute");
  const minutes = bucketMs / MINUTE_MS;
  const { sql, values } = groupConditions(DIALECT, query);
  return session.all<Arrival>(
    `SELECT a.minute / ?1 * ?2 AS at, sum(a.waiting) AS waiting, sum(a.ever) AS ever
       FROM groups g CROSS JOIN arrivals a ON a.grp = g.no
      WHERE a.minute >= ?3 AND ${sql} GROUP BY 1 HAVING sum(a.ever) > 0 ORDER BY 1`,
    minutes,
    bucketMs,
    Math.floor(Math.max(query.since ?? 0, 0) / bucketMs) * minutes,
    ...values,
  );
}
