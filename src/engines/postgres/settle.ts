/**
 * Settles attempts in batches. The attempt number is the fencing token: a settlement of an attempt that lost its lease
 * changes nothing. Letters are written and resolved under the letter lock, which the caller holds.
 */
import { failureToJson } from "../../item/failure.ts";
import type { Lease, Settlement } from "../../item/item.ts";
import { stringifyJson } from "../../std/json.ts";
import { insertNotes } from "../sql/amendments.ts";
import type { Ledger, Unburied } from "../sql/bury.ts";
import { runAwaiting } from "../sql/db.ts";
import { EventLog } from "../sql/events.ts";
import {
  countsAs,
  endLetters,
  groupDeaths,
  recordSettlement,
  type Settled,
  stateAfter,
} from "../sql/settle.ts";
import { type Burial, buryAll, failedAgain } from "./bury.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { writeEvents } from "./events.ts";
import { settleOrdered } from "./ordering-keys.ts";
import type { Tx } from "./session.ts";

export interface Step extends Ledger {
  readonly tx: Tx;
  readonly deltas: CounterDeltas;
}

/** A settlement with the row of its item. */
interface Moved extends Settled {
  readonly row: MovedRow;
}

type MovedRow = Settled["row"] & { readonly ref: number; readonly attempt: number };

/** Returns the settlements that lost their leases, in order. The caller writes the counters and events in `step`. */
export async function settleAll(
  step: Step,
  settlements: readonly Settlement[],
  queue: number | undefined,
): Promise<Lease[]> {
  if (settlements.length === 0) return [];
  const { tx } = step;
  const [moved] = await Promise.all([
    moveItems(tx, firstOfEach(settlements)),
    queue === undefined
      ? null
      : runAwaiting(
          step.groups.foresee(
            queue,
            settlements.flatMap(({ death }) => death ?? []),
          ),
        ),
  ]);
  const done = new Set<Settlement>();
  const settled: Moved[] = [];
  for (const settlement of settlements) {
    const row = moved.get(settlement.lease.ref);
    if (row === undefined || !isFor(settlement, row)) continue;
    moved.delete(settlement.lease.ref);
    done.add(settlement);
    settled.push({ settlement, row, to: stateAfter(settlement) });
  }
  const stale = settlements.filter((settlement) => !done.has(settlement));
  const late = await lateResults(tx, stale);
  const letters = await settleLetters(step, settled);
  recordAll(step, settlements, { letters, late });
  tx.part(keepLateResults(tx, late), keepNotes(step, settled));
  await settleOrderingKeys(tx, settled);
  return stale.map(({ lease }) => lease);
}

function isFor({ lease }: Settlement, row: MovedRow): boolean {
  return row.attempt === lease.attempt;
}

/** If one call settles a lease twice, the first settlement counts. */
function firstOfEach(settlements: readonly Settlement[]): Settlement[] {
  const first = new Map<string, Settlement>();
  for (const settlement of settlements) {
    const key = `${settlement.lease.ref}/${settlement.lease.attempt}`;
    if (!first.has(key)) first.set(key, settlement);
  }
  // All transactions lock rows in the same order, so that they cannot deadlock.
  return [...first.values()].sort((a, b) => a.lease.ref - b.lease.ref);
}

const SETTLE = `
  WITH given AS MATERIALIZED (
         SELECT * FROM unnest(?2::bigint[], ?3::integer[], ?4::text[], ?5::bigint[], ?6::integer[], ?7::integer[],
                              ?8::text[], ?9::text[], ?10::text[], ?11::text[])
                       AS g (ref, attempt, state, delay, attempts_counted, lost_count, outcome, failure, log, result)),
       moved AS (
         UPDATE items i SET state = g.state, due_at = coalesce(?1::bigint + g.delay, i.due_at), attempts_counted = i.attempts_counted + g.attempts_counted,
                lost_count = i.lost_count + g.lost_count
           FROM given g WHERE i.ref = g.ref AND i.attempts = g.attempt AND i.state = 'leased'
         RETURNING i.ref, i.attempts, i.queue, i.priority, i.due_at, i.operation, i.redrives, i.revision, i.ordering_key, i.state,
                   i.holder, i.started_at, g.outcome, g.failure, g.log, g.result),
       ended AS (
         INSERT INTO attempts (ref, number, holder, started_at, ended_at, outcome, failure, log, result)
         SELECT ref, attempts, holder, started_at, ?1::bigint, outcome, failure, log, result FROM moved),
       placed AS (
         INSERT INTO ready_items (queue, priority, due_at, ref, operation)
         SELECT queue, priority, due_at, ref, operation FROM moved WHERE state = 'ready' AND ordering_key IS NULL)
  SELECT ref, attempts AS attempt, queue, operation, redrives, revision, ordering_key FROM moved`;

async function moveItems(tx: Tx, settlements: readonly Settlement[]): Promise<Map<number, MovedRow>> {
  const column = <T>(of: (settlement: Settlement) => T) => settlements.map(of);
  const rows = await tx.all<MovedRow>(
    SETTLE,
    tx.now,
    column(({ lease }) => lease.ref),
    column(({ lease }) => lease.attempt),
    column(stateAfter),
    column(({ verdict }) => ("delayMs" in verdict ? verdict.delayMs : null)),
    column((settlement) => (countsAs(settlement, "failed") ? 1 : 0)),
    column((settlement) => (countsAs(settlement, "lost") ? 1 : 0)),
    column(({ outcome }) => outcome),
    column(({ failure }) => (failure === undefined ? null : stringifyJson(failureToJson(failure)))),
    column(({ log }) => log ?? null),
    column(({ result }) => (result === undefined ? null : stringifyJson(result))),
  );
  return new Map(rows.map((row) => [row.ref, row]));
}

/** A settlement as it was applied, with the group after corrections and the former letter of a redriven item. */
interface SettledLetter extends Moved {
  readonly before: Unburied | undefined;
}

/** Resolves letters whose items are done, and writes new ones. */
async function settleLetters(
  step: Step,
  settled: readonly Moved[],
): Promise<ReadonlyMap<Settlement, SettledLetter>> {
  const deaths = await runAwaiting(groupDeaths(step, settled));
  const letters = await runAwaiting(endLetters(step, settled));
  const settledLetters = new Map<Settlement, SettledLetter>();
  for (const { settlement: given, row, to } of settled) {
    const death = deaths.get(given);
    const settlement = death === undefined ? given : { ...given, death };
    settledLetters.set(given, { settlement, row, to, before: letters.get(row.ref) });
  }
  await buryAll(step, await burialsOf(step, [...settledLetters.values()]));
  await failedAgain(
    step.tx,
    settled.flatMap(({ settlement: { failure }, row, to }) =>
      to === "ready" && row.redrives > 0 && failure ? [{ ref: row.ref, message: failure.errorMessage }] : [],
    ),
  );
  return settledLetters;
}

/** A redriven letter keeps the time of its first failure; for other items the first failed attempt is looked up. */
async function burialsOf({ tx }: Step, settledLetters: readonly SettledLetter[]): Promise<readonly Burial[]> {
  const buried = settledLetters.flatMap(({ settlement: { death, failure, lease }, row, before }) =>
    death === undefined
      ? []
      : [{ row, before, death, attempt: lease.attempt, message: failure?.errorMessage ?? "" }],
  );
  const retried = buried.filter(({ before, attempt }) => attempt > 1 && before === undefined);
  const first = await firstFailures(
    tx,
    retried.map(({ row }) => row.ref),
  );
  return buried.map(({ row: { ref, queue }, before, death, message }) => {
    const firstAt = before?.first_at ?? first.get(ref) ?? tx.now;
    return { ref, queue, death, message, firstAt };
  });
}

async function firstFailures(tx: Tx, refs: readonly number[]): Promise<ReadonlyMap<number, number>> {
  if (refs.length === 0) return new Map();
  const rows = await tx.all<{ ref: number; at: number }>(
    `SELECT ref, min(ended_at) AS at FROM attempts
      WHERE ref = ANY (?::bigint[]) AND outcome IN ('failed', 'lost') GROUP BY ref`,
    refs,
  );
  return new Map(rows.map(({ ref, at }) => [ref, at]));
}

interface Late {
  readonly settlement: Settlement;
  readonly queue: number;
}

/** Records the events in the order of the settlements. */
function recordAll(
  step: Step,
  settlements: readonly Settlement[],
  {
    letters,
    late,
  }: { readonly letters: ReadonlyMap<Settlement, SettledLetter>; readonly late: readonly Late[] },
): void {
  const lateOnes = new Map(late.map((one) => [one.settlement, one]));
  for (const settlement of settlements) {
    const letter = letters.get(settlement);
    if (letter !== undefined) recordSettlement(step, letter, letter.before);
    const lateOne = lateOnes.get(settlement);
    if (lateOne !== undefined) recordLate(step.events, lateOne);
  }
}

function recordLate(events: EventLog, { settlement: { lease, outcome }, queue }: Late): void {
  events.add({ type: "late_result", data: { outcome } }, { queue, ref: lease.ref, attempt: lease.attempt });
}

/** Stores the outcomes of stale settlements as late results, with an event for each. */
export async function keepLate(tx: Tx, stale: readonly Settlement[]): Promise<void> {
  const late = await lateResults(tx, stale);
  const events = new EventLog(tx.now);
  for (const one of late) recordLate(events, one);
  await Promise.all([keepLateResults(tx, late), writeEvents(tx, events)]);
}

/** Only outcomes that a worker observed are kept: reapers may race, and a stopped runner may release leases late. */
async function lateResults(tx: Tx, stale: readonly Settlement[]): Promise<Late[]> {
  const worth = stale.filter(({ outcome }) => outcome === "succeeded" || outcome === "failed");
  if (worth.length === 0) return [];
  const rows = await tx.all<{ ref: number; queue: number }>(
    "SELECT ref, queue FROM items WHERE ref = ANY (?::bigint[])",
    worth.map(({ lease }) => lease.ref),
  );
  const queues = new Map(rows.map(({ ref, queue }) => [ref, queue]));
  return worth.flatMap((settlement) => {
    const queue = queues.get(settlement.lease.ref);
    return queue === undefined ? [] : [{ settlement, queue }];
  });
}

async function keepLateResults(tx: Tx, late: readonly Late[]): Promise<void> {
  await tx.insert(
    "late_results (ref, at, attempt, outcome, note)",
    late.map(({ settlement: { lease, outcome, failure } }) => [
      ...[lease.ref, tx.now, lease.attempt, outcome, failure?.errorMessage ?? ""],
    ]),
  );
}

function keepNotes({ db }: Step, settled: readonly Moved[]): Promise<number> {
  const notes = settled.flatMap(({ settlement, row }) =>
    (settlement.notes ?? []).map((note) => ({ ...note, ref: row.ref })),
  );
  return runAwaiting(insertNotes(db, notes));
}

/** Notifies workers when an ordering key is free again or an item is ready immediately. */
async function settleOrderingKeys(tx: Tx, settled: readonly Moved[]): Promise<void> {
  const ordered = settled.flatMap(({ row: { queue, ordering_key, ref }, to }) =>
    ordering_key === null ? [] : [{ queue, ordering_key, ref, isReady: to === "ready" }],
  );
  await settleOrdered(tx, ordered);
  const back = settled.filter(({ settlement }) => settlement.verdict.kind === "release");
  const notified = [...ordered.map(({ queue }) => queue), ...back.map(({ row }) => row.queue)];
  await tx.notifyAll([...new Set(notified)]);
}
