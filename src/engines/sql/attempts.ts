/** The records of an item's attempts. */
import { type Failure, failureFromJson } from "../../item/failure.ts";
import type { Attempt } from "../../item/item.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { objectOf } from "./row.ts";

/** The columns of `attempts` in the order of `RUNNING`. */
export const ATTEMPT_COLUMNS = "ref, number, holder, started_at, ended_at, outcome, failure, log, result";

/** Selects the running attempts of leased items `i`, as rows of `attempts`. */
export const RUNNING = `SELECT i.ref, i.attempts AS number, i.holder, i.started_at, CAST(NULL AS bigint) AS ended_at,
  'running' AS outcome, NULL AS failure, NULL AS log, NULL AS result FROM items i`;

export function* listAttempts(db: Db, ref: number): Step<Attempt[]> {
  const rows = yield* db.all<{ failure: string | null }>(
    `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM (SELECT ${ATTEMPT_COLUMNS} FROM attempts WHERE ref = ?1
              UNION ALL ${RUNNING} WHERE i.ref = ?1 AND i.state = 'leased') a
            JOIN holders h ON h.no = a.holder ORDER BY a.number`,
    ref,
  );
  return rows.map(({ failure, ...row }) => ({
    ...objectOf<Attempt>(row, { json: ["result"] }),
    ...(failure !== null && { failure: readFailure(failure) }),
  }));
}

/** The failures of an item's attempts, as its letter shows them. */
export interface FailureHistory {
  readonly lastAttempt: number;
  readonly failureCount: number;
  readonly failures: readonly Failure[];
}

/** SQL for the stored failure of the item's last failed attempt. */
export function lastFailureOf(ref: string): string {
  return `(SELECT a.failure FROM attempts a WHERE a.ref = ${ref} AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`;
}

/** Uses the faster `JSON.parse`: a failure contains no item data and so no numbers that need `parseJson`. */
export function readFailure(text: string): Failure {
  return failureFromJson(JSON.parse(text) as JsonObject);
}
