/**
 * The runner's step on SQLite: settle finished attempts, pass the breaker, then lease due items. It runs in one write
 * transaction, so two runners never lease the same item, and a settlement is applied completely or not at all.
 */

import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { eventsOf } from "../../item/event.ts";
import { failureToJson } from "../../item/failure.ts";
import type { Lease, Settlement } from "../../item/item.ts";
import { assertSettlement, countersOf, MOVE_OF } from "../../item/settlement.ts";
import { assertMove, type ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { type Passage, passGate } from "../sql/documents.ts";
import { EventLog } from "../sql/event-log.ts";
import { Burials, type Ledger, type Unburied, unbury } from "./bury.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import { queueNo } from "./jobs.ts";
import { Lanes } from "./lanes.ts";
import { leaseDue, NOTHING } from "./leasing.ts";
import { resolveLetter } from "./resolved-letters.ts";
import type { Session } from "./session.ts";
import { settlePlain } from "./settle-plain.ts";

export function settleAndLease(
  session: Session,
  holderId: string | null,
  request: SettleAndLease,
): SettleAndLeaseResult {
  const now = session.clock.now();
  const events = new EventLog(now);
  const step: Step = {
    session,
    now,
    deltas: new CounterDeltas(),
    events,
    groups: new GroupCache(session, now, events),
    lanes: new Lanes(),
    burials: new Burials(),
  };
  const stale: Lease[] = [];
  for (const settlement of request.settle) assertSettlement(settlement);
  const takePlain = settlePlain(session, now, request.settle);
  for (const settlement of request.settle) {
    const queue = takePlain(settlement);
    if (queue !== undefined) conclude(step, settlement, plainRow(queue));
    else if (!settle(step, settlement)) stale.push(settlement.lease);
  }
  step.burials.write(step);
  step.lanes.write(session);
  const { isOpen, gate } = pass(step, request);
  const leasing = request.lease ? leaseDue(step, holderId, request.lease, isOpen) : NOTHING;
  step.deltas.write(session);
  step.groups.write();
  writeEvents(session, step.events);
  return { ...leasing, stale, gate, now: step.now };
}

function pass({ session, events }: Step, { gate: asked }: SettleAndLease): Passage {
  if (asked === undefined) return runOn(session, (db) => passGate(db, asked));
  const queue = queueNo(session, asked.queue);
  const passage = runOn(session, (db) => passGate(db, asked));
  if (!passage.isWritten) return passage;
  session.notify(queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}

interface Step extends Ledger {
  readonly now: number;
  readonly events: EventLog;
  readonly lanes: Lanes;
  readonly burials: Burials;
}

interface SettledRow {
  readonly queue: number;
  readonly operation: number | null;
  readonly redrives: number;
  readonly revision: number;
  readonly lane: string | null;
}

/** The row of an item that is no letter and has no ordering key and no operation. */
function plainRow(queue: number): SettledRow {
  return { queue, operation: null, redrives: 0, revision: 1, lane: null };
}

/** Returns false if the lease was lost: then nothing changes, and the outcome is kept as a late result. */
function settle(step: Step, settlement: Settlement): boolean {
  if (!endAttempt(step, settlement)) {
    keepLateResult(step, settlement);
    return false;
  }
  conclude(step, settlement, moveItem(step, settlement));
  return true;
}

/** Writes everything else that follows from a settlement, after the attempt and the item. */
function conclude(step: Step, given: Settlement, row: SettledRow): void {
  const { now, deltas, events } = step;
  const { lease } = given;
  const to = stateAfter(given);
  const settlement = underItsGroup(step, given);
  deltas.move(row.queue, "leased", to);
  const wasLetter = row.redrives > 0; // an item is redriven only as a letter, and leaves as one only when done
  const place = { queue: row.queue, ref: lease.ref, attempt: lease.attempt };
  for (const event of eventsOf(settlement, wasLetter)) events.add(event, place);
  for (const name of countersOf(settlement, wasLetter)) deltas.counter(row.queue, name);
  if (settlement.notes !== undefined) keepNotes(step, lease.ref, settlement.notes);
  step.lanes.moved(row.queue, row.lane);
  if (to === "ready" || row.lane !== null) step.session.notify(row.queue);
  if (to === "ready") return;
  const { death } = settlement;
  const before = wasLetter ? takeLetter(step, settlement, row) : undefined;
  if (death) {
    const firstAt = before?.first_at ?? firstFailure(step, lease);
    step.burials.bury(step, { ref: lease.ref, queue: row.queue, at: now, firstAt, death });
  }
  if (row.operation !== null) {
    deltas.operation(row.operation, to === "done" ? "succeeded" : "failed");
    if (death && death.signature === before?.signature) deltas.operation(row.operation, "returned");
  }
}

function stateAfter({ verdict }: Settlement): ItemState {
  return assertMove(MOVE_OF[verdict.kind], "leased");
}

/** Applies the corrections of groups to the death record. */
function underItsGroup({ groups }: Step, settlement: Settlement): Settlement {
  const { death, failure } = settlement;
  if (death === undefined) return settlement;
  const found = groups.groupFor(death, () => failure?.errorMessage ?? "");
  return found === death ? settlement : { ...settlement, death: found };
}

/** The time of the item's first failure. The last attempt is already recorded. */
function firstFailure({ session, now }: Step, { ref, attempt }: Lease): number {
  if (attempt === 1) return now;
  const sql = `SELECT min(ended_at) AS at FROM attempts WHERE ref = ? AND (outcome = 'failed' OR outcome = 'lost')`;
  return session.get<{ at: number | null }>(sql, ref)?.at ?? now;
}

/** Resolves the letter of a redriven item if the item is done. */
function takeLetter(step: Step, { lease, verdict }: Settlement, row: SettledRow): Unburied {
  const { session, now, deltas } = step;
  const letter = unbury(session, deltas, { ref: lease.ref, queue: row.queue });
  deltas.group(letter.grp, "away", -1);
  if (verdict.kind === "done") resolveLetter(step, { ...row, letter, at: now });
  return letter;
}

/** Records the end of the attempt. This is the fence: it succeeds only for the attempt that holds the lease. */
function endAttempt({ session, now }: Step, { lease, outcome, failure, log, result }: Settlement): boolean {
  const { changes } = session.run(
    `INSERT INTO attempts (ref, number, holder, started_at, outcome, ended_at, failure, log, result)
     SELECT ref, attempts, holder, started_at, ?, ?, ?, ?, ? FROM items WHERE ref = ? AND attempts = ? AND state = 'leased'`,
    outcome,
    now,
    failure === undefined ? null : stringifyJson(failureToJson(failure)),
    log ?? null,
    result === undefined ? null : stringifyJson(result),
    lease.ref,
    lease.attempt,
  );
  return changes > 0;
}

function moveItem(step: Step, settlement: Settlement): SettledRow {
  const { lease, verdict, outcome } = settlement;
  const delayMs = verdict.kind === "retry" || verdict.kind === "park" ? verdict.delayMs : null;
  const counts = verdict.kind !== "park" && verdict.kind !== "release";
  const row = step.session.get<SettledRow>(
    `UPDATE items SET state = ?, due_at = coalesce(?, due_at), spent = spent + ?, losses = losses + ?, holder = NULL
      WHERE ref = ? RETURNING queue, operation, redrives, revision, lane`,
    stateAfter(settlement),
    delayMs === null ? null : step.now + delayMs,
    counts && outcome === "failed" ? 1 : 0,
    counts && outcome === "lost" ? 1 : 0,
    lease.ref,
  );
  assert(row, `item ${lease.ref} is leased and not there`);
  return row;
}

function keepNotes({ session, now }: Step, ref: number, notes: NonNullable<Settlement["notes"]>): void {
  session.insert(
    "notes (ref, at, author, text)",
    notes.map(({ author, text }) => [ref, now, author, text]),
  );
}

/** Only outcomes that a worker observed are kept: reapers may race, and a stopped runner may release leases late. */
function keepLateResult({ session, now, events }: Step, { lease, outcome, failure }: Settlement): void {
  if (outcome !== "succeeded" && outcome !== "failed") return;
  const item = session.get<{ queue: number }>("SELECT queue FROM items WHERE ref = ?", lease.ref);
  if (item === undefined) return;
  session.run(
    "INSERT INTO late_results (ref, at, attempt, outcome, note) VALUES (?, ?, ?, ?, ?)",
    lease.ref,
    now,
    lease.attempt,
    outcome,
    failure?.errorMessage ?? "",
  );
  const place = { queue: item.queue, ref: lease.ref, attempt: lease.attempt };
  events.add({ type: "late_result", data: { outcome } }, place);
}
