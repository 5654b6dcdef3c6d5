/** The records of an item's attempts in SQLite. */
import { compact, failureFromJson } from "../../item/failure.ts";
import type { Attempt, AttemptOutcome } from "../../item/item.ts";
import type { Json, JsonObject } from "../../kit/json.ts";
import type { Session } from "./session.ts";

interface AttemptRow {
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
    `SELECT a.number, a.outcome, h.id AS holder, a.started_at, a.ended_at, a.failure, a.log, a.result
       FROM attempts a JOIN holders h ON h.no = a.holder WHERE a.ref = ? ORDER BY a.number`,
    ref,
  );
  return rows.map((row) =>
    compact({
      number: row.number,
      outcome: row.outcome,
      holder: row.holder,
      startedAt: row.started_at,
      endedAt: row.ended_at ?? undefined,
      failure: row.failure === null ? undefined : failureFromJson(JSON.parse(row.failure) as JsonObject),
      log: row.log ?? undefined,
      result: row.result === null ? undefined : (JSON.parse(row.result) as Json),
    }),
  );
}
