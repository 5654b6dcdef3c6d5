/** The records of an item's attempts in SQLite. */
import { compact, failureFromJson } from "../../item/failure.ts";
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
  return attemptsOf(session, [ref]).get(ref) ?? [];
}

/** Those of many items in one step: a statement costs more than its rows. */
export function attemptsOf(session: Session, refs: readonly number[]): ReadonlyMap<number, Attempt[]> {
  const rows = session.all<AttemptRow>(
    `SELECT a.ref, a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM json_each(?) refs CROSS JOIN attempts a ON a.ref = refs.value JOIN holders h ON h.no = a.holder
      ORDER BY a.ref, a.number`,
    JSON.stringify(refs),
  );
  const attempts = new Map<number, Attempt[]>();
  for (const row of rows) {
    const list = attempts.get(row.ref);
    if (list === undefined) attempts.set(row.ref, [attemptOf(row)]);
    else list.push(attemptOf(row));
  }
  return attempts;
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
