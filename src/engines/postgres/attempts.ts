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
  readonly firstAttempt: number;
  readonly lastAttempt: number;
  readonly failureCount: number;
  readonly failures: readonly Failure[];
}

/** Stands between attempts: a character that is nowhere in JSON as it is written. */
const BETWEEN = "\u001e";

/**
 * The attempts of an item that have ended, as one text for `historyOf`; null when there are none. Text is much of a failure;
 * where it is not wanted, it is only seen that there is some.
 */
export function attemptsSql(ref: string, withFailures: boolean): string {
  const failure = withFailures ? "a.failure" : "CASE WHEN a.failure IS NOT NULL THEN '-' END";
  return `(SELECT string_agg(concat_ws(' ', a.started_at, a.ended_at, ${failure}), '${BETWEEN}' ORDER BY a.number)
             FROM attempts a WHERE a.ref = ${ref})`;
}

export function lastFailureSql(ref: string): string {
  return `(SELECT a.failure FROM attempts a WHERE a.ref = ${ref} AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`;
}

/** What is not told is empty. */
export function historyOf(attempts: string | null, lastFailure: string | null): FailureHistory {
  const told = attempts === null ? [] : attempts.split(BETWEEN).map(attemptIn);
  const failed = told.filter(({ failure }) => failure !== "");
  const texts = lastFailure === null ? failed.map(({ failure }) => failure) : [lastFailure];
  return {
    firstAttempt: told[0]?.startedAt ?? 0,
    lastAttempt: failed.at(-1)?.endedAt ?? 0,
    failureCount: failed.length,
    failures: texts.filter((text) => text !== "-").map(readFailure),
  };
}

function attemptIn(text: string): { startedAt: number; endedAt: number; failure: string } {
  const [first, second] = [text.indexOf(" "), text.indexOf(" ", text.indexOf(" ") + 1)];
  const end = second === -1 ? text.length : second;
  return {
    startedAt: Number(text.slice(0, first)),
    endedAt: Number(text.slice(first + 1, end)),
    failure: text.slice(end + 1),
  };
}
