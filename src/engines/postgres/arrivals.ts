/** Counts letters by burial time from the per-minute counters in `arrivals`, without a scan of all letters. */
import type { LetterFilter } from "../../engine.ts";
import { groupConditions } from "../sql/conditions.ts";
import { MINUTE_MS, minuteOf } from "../sql/deltas.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

/** Counts waiting letters of the filter's groups buried by `at`: whole minutes from counters, the last minute row by row. */
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
