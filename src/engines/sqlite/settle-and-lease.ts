/**
 * The runner's step on SQLite: settle finished attempts, pass the breaker, then lease due items. It runs in one write
 * transaction, so two runners never lease the same item, and a settlement is applied completely or not at all.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { eventsOf } from "../../item/event.ts";
import { failureToJson } from "../../item/failure.ts";
import type { DeathRecord, Lease, Settlement } from "../../item/item.ts";
import { assertSettlement, countersOf, MOVE_OF } from "../../item/settlement.ts";
import { assertMove, type ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { insertNotes } from "../sql/amendments.ts";
import { type Ledger, type Unburied, unburyAll } from "../sql/bury.ts";
import { runNow } from "../sql/db.ts";
import { type Passage, passGate } from "../sql/documents.ts";
import { EventLog } from "../sql/events.ts";
import { GroupCache } from "../sql/group-cache.ts";
import { queueNo } from "../sql/jobs.ts";
import { resolveLetters } from "../sql/resolved-letters.ts";
import { type Burial, buryAll } from "./bury.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn, SqliteDb } from "./db.ts";
import { writeEvents } from "./events.ts";
import { leaseDue, NOTHING } from "./leasing.ts";
import { OrderingKeys } from "./ordering-keys.ts";
import type { Session } from "./session.ts";
import { settlePlain } from "./settle-plain.ts";

export function settleAndLease(
  session: Session,
  holderId: string | null,
  request: SettleAndLease,
): SettleAndLeaseResult {
  const now = session.now;
  const events = new EventLog(now);
  const db = new SqliteDb(session);
  const step: Step = {
    ...{ session, db, now, events },
    ...{ deltas: new CounterDeltas(), groups: new GroupCache(db, events), keys: new OrderingKeys() },
  };
  const stale = settleAll(step, request.settle);
  step.keys.write(session);
  const { isOpen, gate } = pass(step, request);
  const leasing = request.lease ? leaseDue(step, holderId, request.lease, isOpen) : NOTHING;
  step.deltas.write(session);
  runNow(step.groups.write());
  writeEvents(session, step.events);
  return { ...leasing, stale, gate, now: step.now };
}

function pass({ session, events }: Step, { gate: asked }: SettleAndLease): Passage {
  if (asked === undefined) return runOn(session, (db) => passGate(db, asked));
  const queue = runOn(session, (db) => queueNo(db, asked.queue));
  const passage = runOn(session, (db) => passGate(db, asked));
  if (!passage.isWritten) return passage;
  session.notify(queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}

interface Step extends Ledger {
  readonly session: Session;
  readonly now: number;
  readonly deltas: CounterDeltas;
  readonly keys: OrderingKeys;
}

/** A settlement. `row` is undefined if the lease was no longer held; then the item was not changed. */
interface Settled {
  readonly settlement: Settlement;
  readonly row: SettledRow | undefined;
  readonly to: ItemState;
}

/** Returns the leases that were no longer held. Writes attempts and items first, then the rest in the given order. */
function settleAll(step: Step, settlements: readonly Settlement[]): Lease[] {
  if (settlements.length === 0) return [];
  for (const settlement of settlements) assertSettlement(settlement);
  const takePlain = settlePlain(step.session, step.now, settlements);
  const settled = settlements.map((settlement): Settled => {
    const queue = takePlain(settlement);
    const row = queue === undefined ? settle(step, settlement) : plainRow(queue);
    return { settlement, row, to: stateAfter(settlement) };
  });
  const deaths = groupDeaths(step, settled);
  const letters = endLetters(step, settled);
  const burials: Burial[] = [];
  for (const { settlement, row, to } of settled) {
    if (row === undefined) {
      keepLateResult(step, settlement);
      continue;
    }
    const death = deaths.get(settlement);
    const before = row.redrives > 0 ? letters.get(settlement.lease.ref) : undefined;
    const isCorrected = death !== undefined && death !== settlement.death;
    conclude(step, { settlement: isCorrected ? { ...settlement, death } : settlement, row, to, before });
    if (!death) continue;
    const firstAt = before?.first_at ?? firstFailure(step, settlement.lease);
    burials.push({ ref: settlement.lease.ref, queue: row.queue, at: step.now, firstAt, death });
  }
  buryAll(step, burials);
  return settled.filter(({ row }) => row === undefined).map(({ settlement }) => settlement.lease);
}

/** The death records after people's corrections of the grouping. */
function groupDeaths({ groups }: Step, settled: readonly Settled[]): ReadonlyMap<Settlement, DeathRecord> {
  const buried = settled.flatMap(({ settlement, row }) =>
    row === undefined || settlement.death === undefined ? [] : [{ settlement, death: settlement.death }],
  );
  if (buried.length === 0) return new Map();
  const found = runNow(
    groups.groupAll(
      buried.map(({ settlement, death }) => ({
        group: death,
        message: settlement.failure?.errorMessage ?? "",
      })),
    ),
  );
  return new Map(buried.map(({ settlement, death }, at) => [settlement, found[at] ?? death]));
}

/** Removes the letters of redriven items, resolving those of done items. Returns them by item. */
function endLetters(step: Step, settled: readonly Settled[]): ReadonlyMap<number, Unburied> {
  const ended = settled.flatMap(({ settlement, row, to }) =>
    row !== undefined && row.redrives > 0 && to !== "ready"
      ? [{ ...row, ref: settlement.lease.ref, to }]
      : [],
  );
  if (ended.length === 0) return new Map();
  const letters = runNow(unburyAll(step.db, step.deltas, ended));
  for (const { grp } of letters.values()) step.deltas.group(grp, "in_retry", -1);
  const resolved = ended.flatMap(({ to, ...row }) => {
    const letter = letters.get(row.ref);
    return to === "done" && letter !== undefined ? [{ ...row, letter }] : [];
  });
  runNow(resolveLetters(step, resolved));
  return letters;
}

interface SettledRow {
  readonly queue: number;
  readonly operation: number | null;
  readonly redrives: number;
  readonly revision: number;
  readonly ordering_key: string | null;
}

/** The row of an item that has no letter, ordering key or operation. */
function plainRow(queue: number): SettledRow {
  return { queue, operation: null, redrives: 0, revision: 1, ordering_key: null };
}

/** Returns undefined and changes nothing if the lease is no longer held. */
function settle(step: Step, settlement: Settlement): SettledRow | undefined {
  return endAttempt(step, settlement) ? moveItem(step, settlement) : undefined;
}

/** Writes everything else that follows from a settlement, after the attempt and the item. */
function conclude(
  step: Step,
  {
    settlement,
    row,
    to,
    before,
  }: Settled & { readonly row: SettledRow; readonly before: Unburied | undefined },
): void {
  const { deltas, events } = step;
  const { lease, death, notes } = settlement;
  deltas.move(row.queue, "leased", to);
  const wasLetter = row.redrives > 0; // only letters are redriven, and a letter stays until its item is done
  const subject = { queue: row.queue, ref: lease.ref, attempt: lease.attempt };
  for (const event of eventsOf(settlement, wasLetter)) events.add(event, subject);
  for (const name of countersOf(settlement, wasLetter)) deltas.counter(row.queue, name);
  if (notes !== undefined)
    runNow(
      insertNotes(
        step.db,
        notes.map((note) => ({ ...note, ref: lease.ref })),
      ),
    );
  step.keys.moved(row.queue, row.ordering_key);
  if (to === "ready" || row.ordering_key !== null) step.session.notify(row.queue);
  if (to === "ready") return;
  if (death) step.groups.buried(death, { queue: row.queue, ref: lease.ref });
  if (row.operation === null) return;
  deltas.operation(row.operation, to === "done" ? "succeeded" : "failed");
  if (death && death.signature === before?.signature) deltas.operation(row.operation, "returned");
}

function stateAfter({ verdict }: Settlement): ItemState {
  return assertMove(MOVE_OF[verdict.kind], "leased");
}

/** The time of the item's first failure. The last attempt is already recorded. */
function firstFailure({ session, now }: Step, { ref, attempt }: Lease): number {
  if (attempt === 1) return now;
  const sql = `SELECT min(ended_at) AS at FROM attempts WHERE ref = ? AND (outcome = 'failed' OR outcome = 'lost')`;
  return session.get<{ at: number | null }>(sql, ref)?.at ?? now;
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
    `UPDATE items SET state = ?, due_at = coalesce(?, due_at), attempts_counted = attempts_counted + ?, lost_count = lost_count + ?, holder = NULL
      WHERE ref = ? RETURNING queue, operation, redrives, revision, ordering_key`,
    stateAfter(settlement),
    delayMs === null ? null : step.now + delayMs,
    counts && outcome === "failed" ? 1 : 0,
    counts && outcome === "lost" ? 1 : 0,
    lease.ref,
  );
  assert(row, `item ${lease.ref} is leased and not there`);
  return row;
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
  const target = { queue: item.queue, ref: lease.ref, attempt: lease.attempt };
  events.add({ type: "late_result", data: { outcome } }, target);
}
