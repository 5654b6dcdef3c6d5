/** The records of an item's attempts. */
import { type Failure, failureFromJson } from "../../item/failure.ts";
import type { Attempt } from "../../item/item.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { objectOf } from "./rows.ts";

/** The columns of `attempts` in the order of `RUNNING`. */
export const ATTEMPT_COLUMNS = "ref, number, holder, started_at, ended_at, outcome, failure, log, result";

/** Selects the running attempts of leased items `i`, as rows of `attempts`. */
export const RUNNING = `SELECT i.ref, i.attempts AS number, i.holder, i.started_at, CAST(NULL AS bigint) AS ended_at,
  'running' AS outcome, NULL AS failure, NULL AS log, NULL AS result FROM items i`;

/** Selects the attempts of an item, oldest first. */
export const attemptsOf = (
  ref: string,
) => `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
    FROM (SELECT ${ATTEMPT_COLUMNS} FROM attempts WHERE ref = ${ref}
           UNION ALL ${RUNNING} WHERE i.ref = ${ref} AND i.state = 'leased') a
         JOIN holders h ON h.no = a.holder ORDER BY a.number`;

export interface AttemptRow {
  readonly failure: string | null;
}

export function attemptOf({ failure, ...row }: AttemptRow): Attempt {
  const attempt = objectOf<Attempt>(row, { json: ["result"] });
  return failure === null ? attempt : { ...attempt, failure: readFailure(failure) };
}

/** Like `attemptOf`, but parses the failure when it is first used: of a letter's attempts, mostly the times are used. */
export function lazyAttemptOf({ failure: text, ...row }: AttemptRow): Attempt {
  const attempt = objectOf<Attempt>(row, { json: ["result"] });
  if (text === null) return attempt;
  let failure: Failure | undefined;
  const get = () => {
    failure ??= readFailure(text);
    return failure;
  };
  return Object.defineProperty(attempt, "failure", { enumerable: true, configurable: true, get });
}

export function* listAttempts(db: Db, ref: number): Step<Attempt[]> {
  return (yield* db.all<AttemptRow>(attemptsOf("?1"), ref)).map(attemptOf);
}

/** Returns SQL for the stored failure of the item's last failed attempt. */
export function lastFailureOf(ref: string): string {
  return `(SELECT a.failure FROM attempts a WHERE a.ref = ${ref} AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`;
}

/** Uses the faster `JSON.parse`: a failure contains no item data and so no numbers that need `parseJson`. */
export function readFailure(text: string): Failure {
  return failureFromJson(JSON.parse(text) as JsonObject);
}

/** Separates attempts in the text of `failedAttempts`. JSON never contains this character unescaped. */
const BETWEEN = "\u001e";
const TIME_CHARS_MAX = 20;

/**
 * Returns an expression for the failed attempts of an item as one text, so that one statement reads them for
 * many items; null if there are none. The text contains their number, then the attempts, the last one first.
 * Failures are large, so they are optional; without them, the text has only the last attempt.
 */
export function failedAttempts(ref: string, withFailures: boolean): string {
  const failed = `FROM attempts a WHERE a.ref = ${ref} AND (a.outcome = 'failed' OR a.outcome = 'lost')`;
  // Without failures only the last end is read, because sorting thousands of attempts takes longer than counting them.
  if (!withFailures) {
    const last = `(SELECT a.ended_at ${failed} ORDER BY a.number DESC LIMIT 1)`;
    return `(SELECT count(*) || '${BETWEEN}' || ${last} ${failed})`;
  }
  // Both databases aggregate in the order of the subquery, which is that of the primary key. An ORDER BY inside of the aggregate sorts.
  return `(SELECT count(*) || '${BETWEEN}' || string_agg(concat_ws(' ', ended_at, failure), '${BETWEEN}')
             FROM (SELECT a.ended_at, a.failure ${failed} ORDER BY a.number DESC) a)`;
}

/** Returns the number of attempts in a text of `failedAttempts`. */
export function countOf(text: string): number {
  return Number.parseInt(text, 10);
}

/** Returns when the last attempt in a text of `failedAttempts` ended. */
export function lastEndOf(text: string): number {
  const start = text.indexOf(BETWEEN) + 1;
  return Number.parseInt(text.slice(start, start + TIME_CHARS_MAX), 10);
}

/** Returns the failures in a text of `failedAttempts`, oldest first. An imported attempt may have none. */
export function failuresOf(text: string): Failure[] {
  return failureTextsOf(text).map(readFailure);
}

/** Like `failuresOf`, as JSON. */
export function failureTextsOf(text: string): string[] {
  const failures: string[] = [];
  for (const attempt of text.split(BETWEEN).slice(1).reverse()) {
    const at = attempt.indexOf(" ");
    if (at !== -1) failures.push(attempt.slice(at + 1));
  }
  return failures;
}
