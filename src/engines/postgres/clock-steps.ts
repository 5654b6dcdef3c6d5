/**
 * Follows steps of the server's clock: waits keep what was left of them. Each holder compares it with the uptime of its own machine at
 * its heartbeats; the first one that finds a step moves the times of all, under a lock of the record.
 */
import { CLOCK_RECORD, gateName } from "../../item/store-queries.ts";
import { parseJson, stringifyJson } from "../../std/json.ts";
import { type ClockSample, machine, movedGate, nextRecord, readRecord, stepSince } from "../clock-record.ts";
import { writeEvent } from "./events.ts";
import type { Tx } from "./session.ts";

/** By how much the clock was stepped since it was noted. */
export async function followClock(tx: Tx, sample: ClockSample): Promise<number> {
  await tx.run(
    "INSERT INTO documents (name, version, body) VALUES (?, 1, '{}') ON CONFLICT DO NOTHING",
    CLOCK_RECORD,
  );
  const row = await tx.get<{ body: string }>(
    "SELECT body FROM documents WHERE name = ? FOR UPDATE",
    CLOCK_RECORD,
  );
  const record = readRecord(parseJson(row?.body ?? "{}"));
  const stepMs = stepSince(record[machine()], sample);
  const next = nextRecord(record, sample, stepMs);
  if (next !== null) {
    const sql = "UPDATE documents SET version = version + 1, body = ? WHERE name = ?";
    await tx.run(sql, stringifyJson(next), CLOCK_RECORD);
  }
  if (stepMs !== 0) await moveWaits(tx, sample.now, stepMs);
  return stepMs;
}

/**
 * What was due stays due, what waits after a failure keeps its wait, leases keep their time; what a person set to a time stays there.
 * A retry that was written after the step has its time by the new clock already.
 */
async function moveWaits(tx: Tx, now: number, stepMs: number): Promise<void> {
  const before = now - stepMs;
  await tx.run(
    "UPDATE holders SET expires_at = greatest(1, expires_at + ?::bigint) WHERE gone = 0 AND expires_at > 0",
    stepMs,
  );
  const moved = await tx.get<{ count: number }>(
    `WITH found AS (
       SELECT i.ref, i.due_at AS old,
              CASE WHEN i.due_at > ?1::bigint THEN i.due_at + ?2::bigint ELSE ?3::bigint END AS new
         FROM items i
        WHERE i.state IN ('ready', 'held', 'leased')
          AND ((i.due_at > ?1::bigint AND i.attempts > 0
                AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.ref = i.ref AND a.number = i.attempts
                                   AND a.ended_at > ?1::bigint))
               OR (i.due_at <= ?1::bigint AND i.due_at > ?3::bigint))
          FOR UPDATE OF i),
     moved AS (
       UPDATE items i SET due_at = f.new FROM found f WHERE i.ref = f.ref
       RETURNING i.queue, i.priority, i.ref, f.old, f.new),
     placed AS (
       UPDATE ready_items l SET due_at = m.new FROM moved m
        WHERE l.queue = m.queue AND l.priority = m.priority AND l.due_at = m.old AND l.ref = m.ref)
     SELECT count(*) AS count FROM moved`,
    before,
    stepMs,
    now,
  );
  const gates = await tx.all<{ name: string; body: string }>(
    "SELECT name, body FROM documents WHERE starts_with(name, ?) FOR UPDATE",
    gateName(""),
  );
  for (const { name, body } of gates) {
    const gate = movedGate(parseJson(body), { before, stepMs });
    if (gate === null) continue;
    const sql = "UPDATE documents SET version = version + 1, body = ? WHERE name = ?";
    await tx.run(sql, stringifyJson(gate), name);
  }
  const data = { step_ms: stepMs, items_moved: moved?.count ?? 0 };
  await writeEvent(tx, now, { type: "clock_stepped", data }, {});
}
