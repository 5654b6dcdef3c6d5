/**
 * Follows steps of a SQLite store's clock: waits keep what was left of them. A process whose own clock differs from that of the
 * others follows theirs.
 */
import { CLOCK_RECORD, gateName } from "../../item/store-queries.ts";
import { parseJson, stringifyJson } from "../../std/json.ts";
import { processStart, thisHost } from "../../std/process-identity.ts";
import { type ClockRecord, machine, movedGate, nextRecord, readRecord, stepSince } from "../clock-record.ts";
import { readDocument } from "../sql/documents.ts";
import { runOn } from "./db.ts";
import { writeEvent } from "./events.ts";
import type { Session } from "./session.ts";

/**
 * To be called in a transaction of its own, before one that writes. It moves waits only by a step that this process has seen itself,
 * or that happened while none was running: otherwise its own clock may be the wrong one. Answers what is to be done after the commit.
 */
export function followClock(session: Session): () => void {
  const { clock } = session;
  const sample = clock.sample();
  const record = readRecord(runOn(session, (db) => readDocument(db, CLOCK_RECORD))?.body);
  const stepMs = stepSince(record[machine()], sample);
  const seenMs = clock.watch.seenStep(sample);
  const mayMove = stepMs === 0 || (seenMs ?? 0) !== 0 || !isAnotherAlive(session);
  if (!mayMove) return () => clock.looked(sample, stepMs);
  const next = nextRecord(record, sample, stepMs);
  if (next !== null) writeRecord(session, next);
  if (stepMs !== 0) moveWaits(session, sample.now, stepMs);
  return () => {
    clock.looked(sample, 0);
    const foundMs = stepMs === 0 ? (seenMs ?? 0) : stepMs;
    if (foundMs !== 0) clock.watch.report(foundMs);
  };
}

/** What was due stays due, what waits after a failure keeps its wait, leases keep their time; what a person set to a time stays there. */
function moveWaits(session: Session, now: number, stepMs: number): void {
  const before = now - stepMs;
  session.run(
    "UPDATE holders SET expires_at = max(1, expires_at + ?) WHERE gone = 0 AND expires_at > 0",
    stepMs,
  );
  const { changes } = session.run(
    `UPDATE items SET due_at = CASE WHEN due_at > ?1 THEN due_at + ?2 ELSE ?3 END
      WHERE state IN ('ready', 'held', 'leased') AND ((due_at > ?1 AND attempts > 0) OR (due_at <= ?1 AND due_at > ?3))`,
    before,
    stepMs,
    now,
  );
  const gates = session.all<{ name: string; body: string }>(
    "SELECT name, body FROM documents WHERE name GLOB ?",
    `${gateName("")}*`,
  );
  for (const { name, body } of gates) {
    const moved = movedGate(parseJson(body), { before, stepMs });
    if (moved === null) continue;
    session.run(
      "UPDATE documents SET version = version + 1, body = ? WHERE name = ?",
      stringifyJson(moved),
      name,
    );
  }
  writeEvent(session, now, { type: "clock_stepped", data: { step_ms: stepMs, items_moved: changes } }, {});
}

function writeRecord(session: Session, record: ClockRecord): void {
  session.run(
    `INSERT INTO documents (name, version, body) VALUES (?, 1, ?)
     ON CONFLICT (name) DO UPDATE SET version = version + 1, body = excluded.body`,
    CLOCK_RECORD,
    stringifyJson(record),
  );
}

/** Whether another process of this machine that works on the store is alive, and so sees a step of the clock by itself. */
function isAnotherAlive(session: Session): boolean {
  const holders = session.all<{ host: string; pid: number; process_start: string }>(
    "SELECT host, pid, process_start FROM holders WHERE gone = 0 AND expires_at > 0",
  );
  return holders.some(({ host, pid, process_start }) => {
    if (host !== thisHost() || pid === process.pid) return false;
    const start = processStart(pid);
    return start !== null && (process_start === "" || start === process_start);
  });
}
