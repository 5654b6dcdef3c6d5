/** Adjusts stored times after a step of the store's clock, so that waits keep their remaining time. */
import { CLOCK_RECORD, gateName } from "../../item/store-queries.ts";
import { parseJson, stringifyJson } from "../../std/json.ts";
import { type ClockSample, machine, movedGate, nextRecord, readRecord, stepSince } from "../clock-record.ts";
import type { Db, Step } from "./db.ts";
import { writeEvent } from "./events.ts";

/** A step of the clock; `now` is the time after it. */
export interface ClockStep {
  readonly stepMs: number;
  readonly now: number;
}

/**
 * Returns the clock's step since the record, and whether the waits were moved, which `mayMove` decides. The
 * record is locked, so that the first process that detects a step moves the waits for all processes.
 */
export function* followClock(
  db: Db,
  sample: ClockSample,
  mayMove: (stepMs: number) => boolean = () => true,
): Step<{ readonly stepMs: number; readonly isFollowed: boolean }> {
  yield* db.run(
    "INSERT INTO documents (name, version, body) VALUES (?, 1, '{}') ON CONFLICT DO NOTHING",
    CLOCK_RECORD,
  );
  const row = yield* db.get<{ body: string }>(
    `SELECT body FROM documents WHERE name = ? ${db.sql.forUpdate}`,
    CLOCK_RECORD,
  );
  const record = readRecord(parseJson(row?.body ?? "{}"));
  const stepMs = stepSince(record[machine()], sample);
  if (!mayMove(stepMs)) return { stepMs, isFollowed: false };
  const next = nextRecord(record, sample, stepMs);
  if (next !== null) yield* replaceDocument(db, CLOCK_RECORD, stringifyJson(next));
  if (stepMs !== 0) yield* moveWaits(db, { stepMs, now: sample.now });
  return { stepMs, isFollowed: true };
}

/** Due items stay due, retries and leases keep their remaining time, and times that a person set do not change. */
function* moveWaits(db: Db, step: ClockStep): Step<void> {
  const { now, stepMs } = step;
  const expiry = db.sql.larger("1", `expires_at + ${db.sql.typed("?", "bigint")}`);
  yield* db.run(`UPDATE holders SET expires_at = ${expiry} WHERE gone = 0 AND expires_at > 0`, stepMs);
  const moved = yield* db.moveDueTimes(step);
  const gates = yield* db.all<{ name: string; body: string }>(
    `SELECT name, body FROM documents WHERE name LIKE ? ${db.sql.forUpdate}`,
    `${gateName("")}%`,
  );
  for (const { name, body } of gates) {
    const gate = movedGate(parseJson(body), { before: now - stepMs, stepMs });
    if (gate !== null) yield* replaceDocument(db, name, stringifyJson(gate));
  }
  yield* writeEvent(db, { type: "clock_stepped", data: { step_ms: stepMs, items_moved: moved } }, {}, now);
}

function* replaceDocument(db: Db, name: string, body: string): Step<void> {
  yield* db.run("UPDATE documents SET version = version + 1, body = ? WHERE name = ?", body, name);
}
