/** When letters came, kept by group and minute with every burial, so that the course of failures needs no scan. */
import type { LetterFilter } from "../../engine.ts";
import { groupConditions } from "../sql/conditions.ts";
import { MINUTE_MS, minuteOf } from "../sql/deltas.ts";
import { DIALECT } from "./dialect.ts";
import type { Tx } from "./session.ts";

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
