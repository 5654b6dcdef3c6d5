/**
 * The runner's one step in SQLite: settle what has ended, then lease what is due. It runs inside one write
 * transaction, so two runners never get the same item, and a settlement is there or it is not.
 */
import type { Exchange, Exchanged } from "../../engine.ts";
import { eventsOf } from "../../item/event.ts";
import { failureToJson } from "../../item/failure.ts";
import type { Lease, LeasedItem, Settlement } from "../../item/item.ts";
import { assertSettlement, MOVE_OF } from "../../item/settlement.ts";
import { assertMove, type ItemState } from "../../item/state.ts";
import { assert } from "../../kit/assert.ts";
import { resolveLetter } from "./closed.ts";
import { EventLog } from "./events.ts";
import { bury, type Ledger, unbury } from "./graves.ts";
import { GroupBook } from "./group-book.ts";
import { queueNo } from "./jobs.ts";
import { holderNo, type LeasedRow, leasedItemOf } from "./lease.ts";
import type { Session } from "./session.ts";
import { Tally } from "./tally.ts";

export function exchange(session: Session, holderId: string | null, request: Exchange): Exchanged {
  const now = session.clock.now();
  const events = new EventLog(now);
  const step: Step = {
    session,
    now,
    tally: new Tally(),
    events,
    groups: new GroupBook(session, now, events),
  };
  const stale: Lease[] = [];
  for (const settlement of request.settle) assertSettlement(settlement);
  for (const settlement of request.settle) {
    if (!settle(step, settlement)) stale.push(settlement.lease);
  }
  const leased = request.lease ? leaseDue(step, holderId, request.lease) : [];
  const nextDueAt = request.lease && leased.length < request.lease.max ? nextDue(step, request.lease) : null;
  step.tally.write(session);
  step.groups.write();
  step.events.write(session);
  return { leased, stale, nextDueAt, now: step.now };
}

interface Step extends Ledger {
  readonly now: number;
  readonly events: EventLog;
}

interface SettledRow {
  readonly queue: number;
  readonly operation: number | null;
  readonly redrives: number;
  readonly revision: number;
}

/** False when the lease is not held any more: then nothing is changed, and what was said is kept as evidence. */
function settle(step: Step, given: Settlement): boolean {
  const { now, tally, events } = step;
  const { lease, verdict } = given;
  const to = assertMove(MOVE_OF[verdict.kind], "leased");
  const row = moveItem(step, given, to);
  if (row === undefined) {
    keepEvidence(step, given);
    return false;
  }
  const settlement = underItsGroup(step, given);
  endAttempt(step, settlement);
  tally.move(row.queue, "leased", to);
  const wasLetter = row.redrives > 0; // an item is redriven only as a letter, and leaves as one only when done
  const place = { queue: row.queue, ref: lease.ref, attempt: lease.attempt };
  for (const event of eventsOf(settlement, wasLetter)) events.add(event, place);
  if (to === "ready") return true;
  const returned = wasLetter && takeLetter(step, settlement, row);
  if (settlement.grave) bury(step, { ref: lease.ref, queue: row.queue, at: now, grave: settlement.grave });
  if (row.operation !== null) {
    tally.operation(row.operation, to === "done" ? "succeeded" : "failed");
    if (returned) tally.operation(row.operation, "returned");
  }
  return true;
}

/** With the gravestone of the group that people want such failures in. */
function underItsGroup({ groups }: Step, settlement: Settlement): Settlement {
  const { grave, failure } = settlement;
  if (grave === undefined) return settlement;
  const found = groups.groupFor(grave, () => failure?.errorMessage ?? "");
  return found === grave ? settlement : { ...settlement, grave: found };
}

/**
 * Takes the letter of a redriven item out of the line: closed when the item is done. True when the item died anew of
 * the failure that it had died of before.
 */
function takeLetter(step: Step, { lease, verdict, grave }: Settlement, row: SettledRow) {
  const { session, now, tally } = step;
  const letter = unbury(session, tally, { ref: lease.ref, queue: row.queue });
  tally.group(letter.grp, "away", -1);
  if (verdict.kind === "done") resolveLetter(step, { ...row, letter, at: now });
  return grave !== undefined && grave.signature === letter.signature;
}

/** The fence: only the attempt that the item is leased for may move it. */
function moveItem(
  step: Step,
  { lease, verdict, outcome }: Settlement,
  to: ItemState,
): SettledRow | undefined {
  const delayMs = verdict.kind === "retry" || verdict.kind === "park" ? verdict.delayMs : null;
  const counts = verdict.kind !== "park" && verdict.kind !== "release";
  return step.session.get<SettledRow>(
    `UPDATE items SET state = ?, due_at = coalesce(?, due_at), spent = spent + ?, losses = losses + ?, holder = NULL
      WHERE ref = ? AND attempts = ? AND state = 'leased' RETURNING queue, operation, redrives, revision`,
    to,
    delayMs === null ? null : step.now + delayMs,
    counts && outcome === "failed" ? 1 : 0,
    counts && outcome === "lost" ? 1 : 0,
    lease.ref,
    lease.attempt,
  );
}

function endAttempt({ session, now }: Step, { lease, outcome, failure, log, result }: Settlement): void {
  session.run(
    "UPDATE attempts SET outcome = ?, ended_at = ?, failure = ?, log = ?, result = ? WHERE ref = ? AND number = ?",
    outcome,
    now,
    failure === undefined ? null : JSON.stringify(failureToJson(failure)),
    log ?? null,
    result === undefined ? null : JSON.stringify(result),
    lease.ref,
    lease.attempt,
  );
}

/** Two reapers may race, and a stopped runner may be late: only what a worker found out is worth keeping. */
function keepEvidence({ session, now, events }: Step, { lease, outcome, failure }: Settlement): void {
  if (outcome !== "succeeded" && outcome !== "failed") return;
  const item = session.get<{ queue: number }>("SELECT queue FROM items WHERE ref = ?", lease.ref);
  if (item === undefined) return;
  session.run(
    "INSERT INTO evidence (ref, at, attempt, outcome, note) VALUES (?, ?, ?, ?, ?)",
    lease.ref,
    now,
    lease.attempt,
    outcome,
    failure?.errorMessage ?? "",
  );
  const place = { queue: item.queue, ref: lease.ref, attempt: lease.attempt };
  events.add({ type: "late_result", data: { outcome } }, place);
}

type LeaseRequest = NonNullable<Exchange["lease"]>;

function leaseDue(step: Step, holderId: string | null, request: LeaseRequest): LeasedItem[] {
  assert(holderId !== null, "a lease needs a holder");
  const { session, now, tally, events } = step;
  const holder = holderNo(session, holderId);
  const queue = queueNo(session, request.queue);
  const leased = findDue(step, queue, request).map((row) =>
    leasedItemOf({ ...row, queue: request.queue, attempts: row.attempts + 1, started_at: now }),
  );
  if (leased.length === 0) return leased;
  session.run(
    `UPDATE items SET state = 'leased', holder = ?, attempts = attempts + 1
      WHERE ref IN (${leased.map(() => "?").join(", ")})`,
    holder,
    ...leased.map((item) => item.ref),
  );
  session.insert(
    "attempts (ref, number, outcome, holder, started_at)",
    leased.map((item) => [item.ref, item.attempt, "running", holder, now]),
  );
  for (const { ref, attempt } of leased) events.add({ type: "attempt_started" }, { queue, ref, attempt });
  tally.queue(queue, "ready", -leased.length);
  tally.queue(queue, "leased", leased.length);
  tally.queue(queue, "attempts", leased.length);
  return leased;
}

/** While it is paused or its letters are still searched for, nothing of an operation is leased. */
const OPEN_OPERATION = "(SELECT no FROM operations WHERE id = ? AND status = 'open')";

/** Due items, the longest due first. Served by the partial indexes on ready items. */
function findDue({ session, now }: Step, queue: number, request: LeaseRequest): LeasedRow[] {
  const columns = "i.ref, i.item_id, p.data, i.attempts, i.spent, i.losses, i.revision, i.redrives, i.place";
  if (request.operationId === undefined) {
    return session.all<LeasedRow>(
      `SELECT ${columns} FROM items i JOIN payloads p ON p.ref = i.ref
        WHERE i.queue = ? AND i.state = 'ready' AND i.due_at <= ? ORDER BY i.due_at, i.ref LIMIT ?`,
      queue,
      now,
      request.max,
    );
  }
  return session.all<LeasedRow>(
    `SELECT ${columns} FROM items i JOIN payloads p ON p.ref = i.ref
      WHERE i.operation = ${OPEN_OPERATION} AND i.queue = ? AND i.state = 'ready'
        AND i.due_at <= ? ORDER BY i.due_at, i.ref LIMIT ?`,
    request.operationId,
    queue,
    now,
    request.max,
  );
}

function nextDue({ session, now }: Step, request: LeaseRequest): number | null {
  const queue = queueNo(session, request.queue);
  const row =
    request.operationId === undefined
      ? session.get<{ due: number | null }>(
          "SELECT min(due_at) AS due FROM items WHERE queue = ? AND state = 'ready' AND due_at > ?",
          queue,
          now,
        )
      : session.get<{ due: number | null }>(
          `SELECT min(due_at) AS due FROM items WHERE operation = ${OPEN_OPERATION}
              AND queue = ? AND state = 'ready' AND due_at > ?`,
          request.operationId,
          queue,
          now,
        );
  return row?.due ?? null;
}
