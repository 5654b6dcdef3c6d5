/** Reads the failed attempts of many items at once. */
import type { Failure } from "../../item/failure.ts";
import type { LetterPart } from "../../item/letter-query.ts";
import { type FailureHistory, lastFailureOf, readFailure } from "../sql/attempts.ts";
import type { Session } from "./session.ts";

/** Reads only the columns that the wanted parts need; the other fields stay empty. */
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

/** A failed attempt. Rows are ordered by number; `failure` is null if it is not wanted or was not described. */
type AttemptTuple = readonly [ref: number, endedAt: number | null, failure: string | null];

const OF_REFS = `FROM json_each(?) refs CROSS JOIN attempts a ON a.ref = refs.value
  WHERE (a.outcome = 'failed' OR a.outcome = 'lost')`;

function wholeAttempts(session: Session, chosen: string): AttemptTuple[] {
  return session.tuples<AttemptTuple>(
    `SELECT a.ref, a.ended_at, a.failure ${OF_REFS} ORDER BY a.ref, a.number`,
    chosen,
  );
}

/** Does not read the failures, because their texts are large. */
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
