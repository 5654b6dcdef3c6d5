/** The records of an item's attempts in SQLite. */
import { compact, type Failure, failureFromJson } from "../../item/failure.ts";
import type { Attempt, AttemptOutcome } from "../../item/item.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import type { Session } from "./session.ts";

interface AttemptRow {
  readonly ref: number;
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly failure: string | null;
  readonly log: string | null;
  readonly result: string | null;
}

export function listAttempts(session: Session, ref: number): Attempt[] {
  const rows = session.all<AttemptRow>(
    `SELECT a.ref, a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM attempts a JOIN holders h ON h.no = a.holder WHERE a.ref = ? ORDER BY a.number`,
    ref,
  );
  return rows.map(attemptOf);
}

function attemptOf(row: AttemptRow): Attempt {
  return compact({
    number: row.number,
    outcome: row.outcome,
    holder: row.holder,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    failure: row.failure === null ? undefined : failureFromJson(JSON.parse(row.failure) as JsonObject),
    log: row.log ?? undefined,
    result: row.result === null ? undefined : (JSON.parse(row.result) as Json),
  });
}

/** What the attempts of an item left, as its letter tells it. */
export interface FailureHistory {
  readonly firstAttempt: number;
  readonly lastAttempt: number;
  readonly failures: readonly Failure[];
}

/** The histories of many items in one step, with no more of each row than a letter needs. */
export function historiesOf(session: Session, refs: readonly number[]): ReadonlyMap<number, FailureHistory> {
  const rows = session.all<Pick<AttemptRow, "ref" | "started_at" | "ended_at" | "failure">>(
    `SELECT a.ref, a.started_at, a.ended_at, a.failure
       FROM json_each(?) refs CROSS JOIN attempts a ON a.ref = refs.value ORDER BY a.ref, a.number`,
    JSON.stringify(refs),
  );
  const histories = new Map<number, FailureHistory & { lastAttempt: number; readonly failures: Failure[] }>();
  for (const { ref, started_at, ended_at, failure } of rows) {
    const history = histories.get(ref) ?? { firstAttempt: started_at, lastAttempt: 0, failures: [] };
    histories.set(ref, history);
    if (failure === null) continue;
    history.lastAttempt = ended_at ?? 0;
    history.failures.push(failureFromJson(JSON.parse(failure) as JsonObject));
  }
  return histories;
}
