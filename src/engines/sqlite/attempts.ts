/** The records of an item's attempts in SQLite. */
import type { Failure } from "../../item/failure.ts";
import type { Attempt } from "../../item/item.ts";
import type { LetterPart } from "../../item/letter-query.ts";
import { type AttemptRow, attemptOf, readFailure } from "../attempt-row.ts";
import type { Session } from "./session.ts";

/** The one that runs is told by the row of its item, and is the last. */
export function listAttempts(session: Session, ref: number): Attempt[] {
  const columns =
    "h.id AS holder, a.ref, a.number, a.outcome, a.started_at, a.ended_at, a.failure, a.log, a.result";
  const rows = session.all<AttemptRow>(
    `SELECT ${columns} FROM attempts a JOIN holders h ON h.no = a.holder WHERE a.ref = ?1
      UNION ALL
     SELECT ${columns} FROM (${RUNNING} WHERE i.ref = ?1 AND i.state = 'leased') a JOIN holders h ON h.no = a.holder
      ORDER BY 3`,
    ref,
  );
  return rows.map(attemptOf);
}

/** An attempt that runs, as a row of `attempts` would tell it: of items `i` that are leased. */
export const RUNNING = `SELECT i.ref, i.attempts AS number, i.holder, i.started_at, NULL AS ended_at, 'running' AS outcome,
  NULL AS failure, NULL AS log, NULL AS result FROM items i`;

/** What the attempts of an item left, as its letter tells it. */
export interface FailureHistory {
  readonly lastAttempt: number;
  readonly failureCount: number;
  readonly failures: readonly Failure[];
}

/** Of many items in one step: what is wanted, and no more of each row than that needs. The rest is empty. */
export function historiesOf(
  session: Session,
  refs: readonly number[],
  parts: ReadonlySet<LetterPart>,
): ReadonlyMap<number, FailureHistory> {
  const chosen = JSON.stringify(refs);
  const histories = new Map<number, Growing>();
  if (parts.has("failures")) addAttempts(histories, wholeAttempts(session, chosen));
  else if (parts.has("times")) addAttempts(histories, attemptTimes(session, chosen));
  if (parts.has("last_failure") && !parts.has("failures")) addLastFailures(histories, session, chosen);
  return histories;
}

type Growing = { -readonly [Key in keyof FailureHistory]: FailureHistory[Key] } & { failures: Failure[] };

function newHistory(): Growing {
  return { lastAttempt: 0, failureCount: 0, failures: [] };
}

/** Of attempts that failed, in the order of their numbers. There is no failure where none is wanted or none was described. */
type AttemptTuple = readonly [ref: number, endedAt: number | null, failure: string | null];

const OF_REFS = `FROM json_each(?) refs CROSS JOIN attempts a ON a.ref = refs.value
  WHERE (a.outcome = 'failed' OR a.outcome = 'lost')`;

function wholeAttempts(session: Session, chosen: string): AttemptTuple[] {
  return session.tuples<AttemptTuple>(
    `SELECT a.ref, a.ended_at, a.failure ${OF_REFS} ORDER BY a.ref, a.number`,
    chosen,
  );
}

/** Text is much of a failure, and is not read here. */
function attemptTimes(session: Session, chosen: string): AttemptTuple[] {
  const rows = session.packed<[number: number, ...AttemptTuple]>(
    "a.number, a.ref, a.ended_at, NULL",
    OF_REFS,
    chosen,
  );
  return rows.sort(([a], [b]) => a - b).map(([, ...attempt]) => attempt);
}

function addAttempts(histories: Map<number, Growing>, attempts: readonly AttemptTuple[]): void {
  for (const [ref, endedAt, failure] of attempts) {
    const history = histories.get(ref) ?? newHistory();
    histories.set(ref, history);
    history.lastAttempt = endedAt ?? 0;
    history.failureCount += 1;
    if (failure !== null) history.failures.push(readFailure(failure));
  }
}

function addLastFailures(histories: Map<number, Growing>, session: Session, chosen: string): void {
  const rows = session.tuples<[ref: number, failure: string | null]>(
    `SELECT refs.value, ${lastFailureOf("refs.value")} FROM json_each(?) refs`,
    chosen,
  );
  for (const [ref, failure] of rows) {
    if (failure === null) continue;
    const history = histories.get(ref) ?? newHistory();
    histories.set(ref, history);
    history.failures.push(readFailure(failure));
  }
}

/** The failure of the item's last attempt that failed, as it is stored. */
export function lastFailureOf(ref: string): string {
  return `(SELECT a.failure FROM attempts a
    WHERE a.ref = ${ref} AND a.failure IS NOT NULL ORDER BY a.number DESC LIMIT 1)`;
}
