/**
 * The runner's one step in PostgreSQL: settle what has ended, pass the gate, then lease what is due, in one transaction. The
 * lock of letters is taken only when a letter is made or ends, which is known before anything is locked: what a leased item is does
 * not change under its lease.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import type { Lease, Settlement } from "../../item/item.ts";
import { assertSettlement } from "../../item/settlement.ts";
import { assert } from "../../std/assert.ts";
import { type Passage, passGate } from "../sql/documents.ts";
import { EventLog } from "../sql/event-log.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { GroupCache } from "./group-cache.ts";
import { queueNo } from "./jobs.ts";
import { findLessee, type Lessee, leaseAutocommit, leaseDue, NOTHING } from "./leasing.ts";
import { type KnownLessee, PlainLeases } from "./plain-leases.ts";
import type { Tx } from "./session.ts";
import { keepLate, type Step, settleAll } from "./settle.ts";
import { isPlainSuccess, settleSuccesses } from "./successes.ts";

/** The transaction need not have begun. */
export async function settleAndLease(
  tx: Tx,
  holderId: string | null,
  request: SettleAndLease,
  plain = new PlainLeases(),
): Promise<SettleAndLeaseResult> {
  for (const settlement of request.settle) assertSettlement(settlement);
  return isQuick(request, plain)
    ? settleAndLeaseQuickly(tx, holderId, request, plain)
    : settleAndLeaseAny(tx, holderId, request, plain);
}

type QuickStep = SettleAndLease & { readonly lease: NonNullable<SettleAndLease["lease"]> };

/** The usual case: successes that nothing follows from, leases, and a gate that is only looked at. */
function isQuick(request: SettleAndLease, plain: PlainLeases): request is QuickStep {
  const { settle, lease, gate } = request;
  if (lease === undefined || (gate !== undefined && (gate.queue !== lease.queue || gate.next !== undefined)))
    return false;
  return settle.every(isPlainSuccess) && plain.has(settle);
}

/** Who leases, when nothing else is wanted and all that it takes is known: then it can be done at once. */
export function lesseeAutocommit(
  holderId: string | null,
  request: SettleAndLease,
  plain: PlainLeases,
): KnownLessee | undefined {
  const { settle, lease } = request;
  if (settle.length > 0 || !isQuick(request, plain) || lease?.rate !== undefined) return undefined;
  const lessee = plain.lesseeOf(holderId, request.lease.queue);
  return lessee !== undefined && plain.isTimeToGather(lessee.holder) ? undefined : lessee;
}

/** For `Session.writeAutocommit`. The number tells it apart from the holder's others. */
export async function settleAndLeaseAutocommit(
  tx: Tx,
  lessee: KnownLessee,
  asked: { readonly request: SettleAndLease; readonly plain: PlainLeases; readonly turn: number },
): Promise<SettleAndLeaseResult> {
  const { request, plain, turn } = asked;
  assert(request.lease !== undefined, "nothing is to be leased");
  const { lease, gate } = request;
  const leasing = { tx, plain, seen: gate?.seen ?? null };
  const { lessee: found, ...leased } = await leaseAutocommit(leasing, lessee, { request: lease, turn });
  return answer(leased, { asked: gate, found, now: found.now });
}

/** What is told of leases, as the gate and the queue are. */
function answer(
  { leased, nextDueAt }: Pick<SettleAndLeaseResult, "leased" | "nextDueAt">,
  as: { readonly asked: SettleAndLease["gate"]; readonly found: Lessee; readonly now: number },
): SettleAndLeaseResult {
  const { asked, found, now } = as;
  const gate = asked === undefined ? null : found.gate;
  const isOpen = asked === undefined || (gate?.version ?? 0) === asked.seen;
  const isPaused = found.isPaused && leased.length === 0;
  return { leased, nextDueAt: isOpen && !isPaused ? nextDueAt : null, isPaused, stale: [], gate, now };
}

/** What is sent before the beginning is answered needs no more than the numbers of queue and holder, which stay. */
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
  // Successes bring nothing into the line: what comes next is known without looking again, unless there is a rate.
  const coming = lease.rate === undefined ? finding.then((found) => found.coming) : undefined;
  const expectsFew = settle.length < lease.max;
  // What is sent first is told first: the ends of attempts before the new ones.
  const [found, stale, leasing] = await Promise.all([
    finding,
    settleSuccesses(tx, deltas, settle),
    leaseDue({ tx, deltas, plain, coming, expectsFew, seen: asked?.seen ?? null }, lessee, lease),
    tx.begun(),
  ]);
  plain.noteLessee(found, lease.queue);
  await Promise.all([keepLate(tx, stale), tx.number()]);
  tx.part(deltas.write(tx));
  return { ...answer(leasing, { asked, found, now: tx.now }), stale: stale.map(leaseOf) };
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
  // Sent in this order: nothing is locked before the lock of letters.
  const lock = needsLetterLock ? tx.lockLetters() : null;
  const [lessee] = await Promise.all([lease ? findLessee(tx, holderId, lease) : null, tx.begun(), lock]);
  const step = stepOf(tx);
  const stale = await settleAll(step, settle, lessee?.queue);
  const { isOpen, gate } = await pass(step, request, lessee);
  const mayLease = lease && lessee && (isOpen || lessee.isPaused);
  // What is sent first is told first: the ends of attempts before the new ones.
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

/** The counters first, by which it is told whether letters of a group still wait. */
async function writeSums({ tx, deltas, events, groups }: Step): Promise<void> {
  tx.part(deltas.write(tx));
  if (!groups.hasEnds) return tx.part(groups.write());
  await groups.write();
  await writeEvents(tx, events);
}

function stepOf(tx: Tx): Step {
  const events = new EventLog(tx.now);
  return { tx, deltas: new CounterDeltas(), events, groups: new GroupCache(tx, tx.now, events) };
}
/** Asked with the beginning of the transaction. */
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

/** A gate that is only looked at was read with its queue. */
async function pass(
  { tx, events }: Step,
  { gate: asked, lease }: SettleAndLease,
  lessee: Lessee | null,
): Promise<Passage> {
  if (asked === undefined) return runOn(tx, (db) => passGate(db, asked));
  if (lessee !== null && asked.next === undefined && asked.queue === lease?.queue) {
    return { isOpen: (lessee.gate?.version ?? 0) === asked.seen, isWritten: false, gate: lessee.gate };
  }
  const queue = await queueNo(tx, asked.queue);
  const passage = await runOn(tx, (db) => passGate(db, asked));
  if (!passage.isWritten) return passage;
  await tx.notify(asked.queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}
