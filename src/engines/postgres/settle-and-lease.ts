/**
 * The runner's step in one transaction: settle attempts, check the breaker, lease due items. The letter lock
 * is taken only if letters change. Whether they do is known before any row is locked, because a leased item
 * does not change.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import type { Lease, Settlement } from "../../item/item.ts";
import { runAwaiting } from "../sql/db.ts";
import { type Passage, passGate } from "../sql/documents.ts";
import { EventLog } from "../sql/events.ts";
import { GroupCache } from "../sql/group-cache.ts";
import { queueNo } from "../sql/jobs.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { PostgresDb, runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { findLessee, type Lessee, leaseDue, NOTHING } from "./leasing.ts";
import { PlainLeases } from "./plain-leases.ts";
import type { Tx } from "./session.ts";
import { keepLate, type Step, settleAll } from "./settle.ts";
import { isPlainSuccess, settleSuccesses } from "./successes.ts";

/** May be called before BEGIN is answered. */
export async function settleAndLease(
  tx: Tx,
  holderId: string | null,
  request: SettleAndLease,
  plain = new PlainLeases(),
): Promise<SettleAndLeaseResult> {
  return isQuick(request, plain)
    ? settleAndLeaseQuickly(tx, holderId, request, plain)
    : settleAndLeaseAny(tx, holderId, request, plain);
}

export type QuickStep = SettleAndLease & { readonly lease: NonNullable<SettleAndLease["lease"]> };

/** The usual case: plain successes, leases, and a breaker that is only read. */
export function isQuick(request: SettleAndLease, plain: PlainLeases): request is QuickStep {
  const { settle, lease, gate } = request;
  if (lease === undefined || (gate !== undefined && (gate.queue !== lease.queue || gate.next !== undefined)))
    return false;
  return settle.every(isPlainSuccess) && plain.has(settle);
}

/** The result of a lease, with the state of the breaker and the queue. */
export function answerOf(
  { leased, nextDueAt }: Pick<SettleAndLeaseResult, "leased" | "nextDueAt">,
  as: {
    readonly asked: SettleAndLease["gate"];
    readonly found: Pick<Lessee, "gate" | "isPaused">;
    readonly now: number;
  },
): SettleAndLeaseResult {
  const { asked, found, now } = as;
  const gate = asked === undefined ? null : found.gate;
  const isOpen = asked === undefined || (gate?.version ?? 0) === asked.seen;
  const isPaused = found.isPaused && leased.length === 0;
  return { leased, nextDueAt: isOpen && !isPaused ? nextDueAt : null, isPaused, stale: [], gate, now };
}

/** Statements that are sent with BEGIN use only the numbers of the queue and the holder, which never change. */
async function settleAndLeaseQuickly(
  tx: Tx,
  holderId: string | null,
  { settle, lease, gate: asked }: QuickStep,
  plain: PlainLeases,
): Promise<SettleAndLeaseResult> {
  const finding = findLessee(tx, holderId, lease);
  const known = lease.rate === undefined ? plain.lesseeOf(holderId, lease.queue) : undefined;
  const lessee = known ?? (await Promise.all([finding, tx.begun()]))[0];
  const deltas = new CounterDeltas();
  // Successes make no item ready, so the next due time is already known unless there is a rate.
  const coming = lease.rate === undefined ? finding.then((found) => found.coming) : undefined;
  const expectsFew = settle.length < lease.max;
  // Statements are sent in the order of their events: ends of attempts before new attempts.
  const [found, stale, leasing] = await Promise.all([
    finding,
    settleSuccesses(tx, deltas, settle),
    leaseDue({ tx, deltas, plain, coming, expectsFew, seen: asked?.seen ?? null }, lessee, lease),
    tx.begun(),
  ]);
  plain.noteLessee(found, lease.queue);
  await Promise.all([keepLate(tx, stale), tx.number()]);
  tx.part(deltas.write(tx));
  return { ...answerOf(leasing, { asked, found, now: tx.now }), stale: stale.map(leaseOf) };
}

const leaseOf = ({ lease }: Settlement): Lease => lease;

async function settleAndLeaseAny(
  tx: Tx,
  holderId: string | null,
  request: SettleAndLease,
  plain: PlainLeases,
): Promise<SettleAndLeaseResult> {
  const { settle, lease } = request;
  const buries = settle.some(({ death }) => death !== undefined);
  const needsLetterLock = buries || (!plain.has(settle) && (await touchesLetters(tx, settle)));
  // The statement for the letter lock is sent first, so that no row is locked before it.
  const lock = needsLetterLock ? tx.lockLetters() : null;
  const [lessee] = await Promise.all([lease ? findLessee(tx, holderId, lease) : null, tx.begun(), lock]);
  const step = stepOf(tx);
  const stale = await settleAll(step, settle, lessee?.queue);
  const { isOpen, gate } = await pass(step, request, lessee);
  const mayLease = lease && lessee && (isOpen || lessee.isPaused);
  // Statements are sent in the order of their events: ends of attempts before new attempts.
  tx.part(writeEvents(tx, step.events));
  const [leasing] = await Promise.all([
    mayLease
      ? leaseDue({ ...step, plain, expectsFew: settle.length < lease.max, seen: null }, lessee, lease)
      : NOTHING,
    tx.number(),
  ]);
  await writeSums(step);
  return { ...leasing, stale, gate, now: tx.now };
}

/** Writes the counters first, because they show whether letters of a group are still waiting. */
async function writeSums({ tx, deltas, events, groups }: Step): Promise<void> {
  tx.part(deltas.write(tx));
  const { hasEnds } = groups;
  const written = runAwaiting(groups.write());
  if (!hasEnds) return tx.part(written);
  await written;
  await writeEvents(tx, events);
}

function stepOf(tx: Tx): Step {
  const events = new EventLog(tx.now);
  const db = new PostgresDb(tx);
  return { tx, db, deltas: new CounterDeltas(), events, groups: new GroupCache(db, events) };
}

/** Whether an item was redriven, so that settling it may change a letter. The query is sent together with BEGIN. */
async function touchesLetters(tx: Tx, settlements: readonly Settlement[]): Promise<boolean> {
  const [found] = await Promise.all([
    tx.get(
      "SELECT 1 FROM items WHERE ref = ANY (?::bigint[]) AND redrives > 0 LIMIT 1",
      settlements.map(({ lease }) => lease.ref),
    ),
    tx.begun(),
  ]);
  return found !== undefined;
}

/** If the breaker is only read, uses the version that was read together with the queue. */
async function pass(
  { tx, events }: Step,
  { gate: asked, lease }: SettleAndLease,
  lessee: Lessee | null,
): Promise<Passage> {
  if (asked === undefined) return runOn(tx, (db) => passGate(db, asked));
  if (lessee !== null && asked.next === undefined && asked.queue === lease?.queue) {
    return { isOpen: (lessee.gate?.version ?? 0) === asked.seen, isWritten: false, gate: lessee.gate };
  }
  const queue = await runOn(tx, (db) => queueNo(db, asked.queue));
  const passage = await runOn(tx, (db) => passGate(db, asked));
  if (!passage.isWritten) return passage;
  await tx.notify(asked.queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}
