/** The records of an item's attempts in PostgreSQL. */
import type { Failure } from "../../item/failure.ts";
import type { Attempt } from "../../item/item.ts";
import { type AttemptRow, attemptOf, readFailure } from "../attempt-row.ts";
import type { Tx } from "./session.ts";

/** An attempt that runs, as a row of `attempts` would tell it: of items `i` that are leased. */
export const RUNNING = `SELECT i.ref, i.holder, i.started_at, NULL::bigint AS ended_at, i.attempts AS number,
  'running' AS outcome, NULL AS failure, NULL AS log, NULL AS result FROM items i`;

export async function listAttempts(tx: Tx, ref: number): Promise<Attempt[]> {
  const rows = await tx.all<AttemptRow>(
    `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM (SELECT * FROM attempts WHERE ref = ?1 UNION ALL ${RUNNING} WHERE i.ref = ?1 AND i.state = 'leased') a
            JOIN holders h ON h.no = a.holder ORDER BY a.number`,
    ref,
  );
  return rows.map(attemptOf);
}

/** What the attempts of an item left, as its letter tells it. */
export interface FailureHistory {
  readonly lastAttempt: number;
  readonly failureCount: number;
  readonly failures: readonly Failure[];
}

/** Stands between attempts: a character that is nowhere in JSON as it is written. */
const BETWEEN = "\u001e";

/**
 * The attempts of an item that failed, as one text for `historyOf`; null when there are none. Text is much of a failure,
 * and is left out where it is not wanted, as where no failure was described.
 */
export function attemptsSql(ref: string, withFailures: boolean): string {
  const columns = withFailures ? "a.ended_at, a.failure" : "a.ended_at";
  return `(SELECT string_agg(concat_ws(' ', ${columns}), '${BETWEEN}' ORDER BY a.number)
             FROM attempts a WHERE a.ref = ${ref} AND a.outcome IN ('failed', 'lost'))`;
}

export function lastFailureSql(ref: string): string {
  return `(SELECT a.failure FROM attempts a WHERE a.ref = ${ref} AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`;
}

/** What is not told is empty. */
export function historyOf(attempts: string | null, lastFailure: string | null): FailureHistory {
  const failed = attempts === null ? [] : attempts.split(BETWEEN).map(attemptIn);
  const texts = lastFailure === null ? failed.map(({ failure }) => failure) : [lastFailure];
  return {
    lastAttempt: failed.at(-1)?.endedAt ?? 0,
    failureCount: failed.length,
    failures: texts.filter((text) => text !== "").map(readFailure),
  };
}

function attemptIn(text: string): { endedAt: number; failure: string } {
  const [end] = text.split(" ", 1);
  return { endedAt: Number(end), failure: text.slice((end?.length ?? 0) + 1) };
}
