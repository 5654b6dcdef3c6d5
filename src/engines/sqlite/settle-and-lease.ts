/**
 * The runner's step on SQLite: settle finished attempts, pass the breaker, then lease due items. It runs in one write
 * transaction, so two runners never lease the same item, and a settlement is applied completely or not at all.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { failureToJson } from "../../item/failure.ts";
import type { DeathRecord, Lease, Settlement } from "../../item/item.ts";
import { assertSettlement } from "../../item/settlement.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { insertNotes } from "../sql/amendments.ts";
import type { Ledger, Unburied } from "../sql/bury.ts";
import { runNow } from "../sql/db.ts";
import { type Passage, passGate } from "../sql/documents.ts";
import { EventLog } from "../sql/events.ts";
import { type FoundRecord, GroupCache } from "../sql/group-cache.ts";
import { queueNo } from "../sql/jobs.ts";
import {
  countsAs,
  endLetters,
  groupDeaths,
  recordSettlement,
  type Settled,
  stateAfter,
} from "../sql/settle.ts";
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
  const step = new Step(session);
  const stale = settleAll(step, request.settle);
  step.keys.write(session);
  const { isOpen, gate } = pass(step, request);
  const leasing = request.lease ? leaseDue(step, holderId, request.lease, isOpen) : NOTHING;
  step.deltas.write(session);
  step.writeGroups();
  writeEvents(session, step.events);
  return { ...leasing, stale, gate, now: step.now };
}

function pass({ session, events }: Step, { gate: asked }: SettleAndLease): Passage {
  if (asked === undefined) return UNASKED;
  const queue = runOn(session, (db) => queueNo(db, asked.queue));
  const passage = runOn(session, (db) => passGate(db, asked));
  if (!passage.isWritten) return passage;
  session.notify(queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}

const UNASKED: Passage = { isOpen: true, isWritten: false, gate: null };

/**
 * The data that one step reads and collects. Most steps bury nothing, so the groups are created on first use.
 */
class Step implements Ledger {
  readonly session: Session;
  readonly now: number;
  readonly db: SqliteDb;
  readonly events: EventLog;
  readonly deltas = new CounterDeltas();
  readonly keys = new OrderingKeys();
  #groups: GroupCache | undefined;

  constructor(session: Session) {
    this.session = session;
    this.now = session.now;
    this.db = new SqliteDb(session);
    this.events = new EventLog(this.now);
  }

  get groups(): GroupCache {
    this.#groups ??= new GroupCache(this.db, this.events);
    return this.#groups;
  }

  writeGroups(): void {
    if (this.#groups !== undefined) runNow(this.#groups.write());
  }
}

type SettledRow = Settled["row"];

/** A settlement. `row` is undefined if the lease was no longer held; the item was then not changed. */
type Ended = Omit<Settled, "row"> & { readonly row: SettledRow | undefined };

function isHeld(ended: Ended): ended is Settled {
  return ended.row !== undefined;
}

/** Returns the leases that were no longer held. Writes attempts and items first, then the rest in the given order. */
function settleAll(step: Step, settlements: readonly Settlement[]): Lease[] {
  if (settlements.length === 0) return [];
  for (const settlement of settlements) assertSettlement(settlement);
  const takePlain = settlePlain(step.session, step.now, settlements);
  const ended = settlements.map((settlement): Ended => {
    const queue = takePlain(settlement);
    const row = queue === undefined ? settle(step, settlement) : plainRow(queue);
    return { settlement, row, to: stateAfter(settlement) };
  });
  const held = ended.filter(isHeld);
  const deaths = deathsOf(step, held);
  const letters = held.some(({ row }) => row.redrives > 0) ? runNow(endLetters(step, held)) : NO_LETTERS;
  const burials: Burial[] = [];
  const stale: Lease[] = [];
  for (const one of ended) {
    const { settlement } = one;
    if (!isHeld(one)) {
      stale.push(settlement.lease);
      keepLateResult(step, settlement);
      continue;
    }
    const death = deaths.get(settlement);
    const before = one.row.redrives > 0 ? letters.get(settlement.lease.ref) : undefined;
    const isCorrected = death !== undefined && death !== settlement.death;
    conclude(step, isCorrected ? { ...one, settlement: { ...settlement, death } } : one, before);
    if (!death) continue;
    const firstAt = before?.first_at ?? firstFailure(step, settlement.lease);
    burials.push({ ref: settlement.lease.ref, queue: one.row.queue, at: step.now, firstAt, death });
  }
  buryAll(step, burials);
  return stale;
}

const NO_LETTERS: ReadonlyMap<number, Unburied> = new Map();

function deathsOf(step: Step, held: readonly Settled[]): ReadonlyMap<Settlement, DeathRecord> {
  if (held.every(({ settlement }) => settlement.death === undefined)) return NO_DEATHS;
  return openGroups(step, held) ?? runNow(groupDeaths(step, held));
}

const NO_DEATHS: ReadonlyMap<Settlement, DeathRecord> = new Map();

/**
 * Returns the death records in the usual case: all groups are known and open, and there are no corrections.
 * Otherwise undefined.
 */
function openGroups(
  { session, groups }: Step,
  held: readonly Settled[],
): ReadonlyMap<Settlement, DeathRecord> | undefined {
  const find = (sql: string, signature: string) => session.get<FoundRecord>(sql, signature);
  const deaths = new Map<Settlement, DeathRecord>();
  for (const { settlement } of held) {
    if (settlement.death === undefined) continue;
    const open = groups.groupOpen(settlement.death, find);
    if (open === undefined) return undefined;
    deaths.set(settlement, open);
  }
  return deaths;
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
function conclude(step: Step, settled: Settled, before: Unburied | undefined): void {
  const { settlement, row, to } = settled;
  recordSettlement(step, settled, before);
  if (settlement.notes !== undefined) {
    const notes = settlement.notes.map((note) => ({ ...note, ref: settlement.lease.ref }));
    runNow(insertNotes(step.db, notes));
  }
  step.keys.moved(row.queue, row.ordering_key);
  if (to === "ready" || row.ordering_key !== null) step.session.notify(row.queue);
}

/** The time of the item's first failure. The last attempt is already recorded. */
function firstFailure({ session, now }: Step, { ref, attempt }: Lease): number {
  if (attempt === 1) return now;
  const sql = `SELECT min(ended_at) AS at FROM attempts WHERE ref = ? AND (outcome = 'failed' OR outcome = 'lost')`;
  return session.get<{ at: number | null }>(sql, ref)?.at ?? now;
}

/**
 * Records the end of the attempt. This is the fencing check: it succeeds only for the attempt that holds the
 * lease.
 */
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
  const { lease, verdict } = settlement;
  const delayMs = verdict.kind === "retry" || verdict.kind === "park" ? verdict.delayMs : null;
  const row = step.session.get<SettledRow>(
    `UPDATE items SET state = ?, due_at = coalesce(?, due_at), attempts_counted = attempts_counted + ?, lost_count = lost_count + ?, holder = NULL
      WHERE ref = ? RETURNING queue, operation, redrives, revision, ordering_key`,
    stateAfter(settlement),
    delayMs === null ? null : step.now + delayMs,
    countsAs(settlement, "failed") ? 1 : 0,
    countsAs(settlement, "lost") ? 1 : 0,
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
