/** An attempt as both SQL stores write it down. */
import { type Failure, failureFromJson } from "../item/failure.ts";
import type { Attempt, AttemptOutcome } from "../item/item.ts";
import { compact, type Json, type JsonObject, parseJson } from "../std/json.ts";

export interface AttemptRow {
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly holder: string;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly failure: string | null;
  readonly log: string | null;
  readonly result: string | null;
}

export function attemptOf(row: AttemptRow): Attempt {
  return compact({
    number: row.number,
    outcome: row.outcome,
    holder: row.holder,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    failure: row.failure === null ? undefined : readFailure(row.failure),
    log: row.log ?? undefined,
    result: row.result === null ? undefined : (parseJson(row.result) as Json),
  });
}

/** A failure has no data of the item: its numbers are small, and a page of letters has very many failures. */
export function readFailure(text: string): Failure {
  return failureFromJson(JSON.parse(text) as JsonObject);
}
