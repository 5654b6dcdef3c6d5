/**
 * The runner's one step in PostgreSQL: settle what has ended, pass the gate, then lease what is due, in one transaction. The
 * book is taken only when a letter is made or ends, which is known before anything is locked: what a leased item is does
 * not change under its lease.
 */
import type { Exchange, Exchanged } from "../../engine.ts";
import type { Lease, Settlement } from "../../item/item.ts";
import { assertSettlement } from "../../item/settlement.ts";
import { assert } from "../../kit/assert.ts";
import { type Passage, passGate } from "./documents.ts";
import { EventLog } from "./events.ts";
import { GroupBook } from "./group-book.ts";
import { queueNo } from "./jobs.ts";
import { findLessee, type Lessee, leaseAtOnce, leaseDue, NOTHING } from "./leasing.ts";
import { type KnownLessee, PlainLeases } from "./plain-leases.ts";
import type { Tx } from "./session.ts";
import { keepLate, type Step, settleAll } from "./settle.ts";
import { isPlainSuccess, settleSuccesses } from "./successes.ts";
import { Tally } from "./tally.ts";

/** The transaction need not have begun. */
export async function exchange(
  tx: Tx,
  holderId: string | null,
  request: Exchange,
  plain = new PlainLeases(),
): Promise<Exchanged> {
  for (const settlement of request.settle) assertSettlement(settlement);
  return isQuick(request, plain)
    ? exchangeQuickly(tx, holderId, request, plain)
    : exchangeAny(tx, holderId, request, plain);
}

type QuickExchange = Exchange & { readonly lease: NonNullable<Exchange["lease"]> };

/** The usual case: successes that nothing follows from, leases, and a gate that is only looked at. */
function isQuick(request: Exchange, plain: PlainLeases): request is QuickExchange {
  const { settle, lease, gate } = request;
  if (lease === undefined || (gate !== undefined && (gate.queue !== lease.queue || gate.next !== undefined)))
    return false;
  return settle.every(isPlainSuccess) && plain.has(settle);
}

/** Who leases, when nothing else is wanted and all that it takes is known: then it can be done at once. */
export function lesseeAtOnce(
  holderId: string | null,
  request: Exchange,
  plain: PlainLeases,
): KnownLessee | undefined {
  const { settle, lease } = request;
  if (settle.length > 0 || !isQuick(request, plain) || lease?.rate !== undefined) return undefined;
  const lessee = plain.lesseeOf(holderId, request.lease.queue);
  return lessee !== undefined && plain.isTimeToGather(lessee.holder) ? undefined : lessee;
}

/** For `Session.writeAtOnce`. The number tells it apart from the holder's others. */
export async function exchangeAtOnce(
  tx: Tx,
  lessee: KnownLessee,
  asked: { readonly request: Exchange; readonly plain: PlainLeases; readonly turn: number },
): Promise<Exchanged> {
  const { request, plain, turn } = asked;
  assert(request.lease !== undefined, "nothing is to be leased");
  const { lease, gate } = request;
  const leasing = { tx, plain, seen: gate?.seen ?? null };
  const { lessee: found, ...leased } = await leaseAtOnce(leasing, lessee, { request: lease, turn });
  return exchanged(leased, { asked: gate, found, now: found.now });
}

/** What is told of leases, as the gate and the queue are. */
function exchanged(
  { leased, nextDueAt }: Pick<Exchanged, "leased" | "nextDueAt">,
  as: { readonly asked: Exchange["gate"]; readonly found: Lessee; readonly now: number },
): Exchanged {
  const { asked, found, now } = as;
  const gate = asked === undefined ? null : found.gate;
  const isOpen = asked === undefined || (gate?.version ?? 0) === asked.seen;
  const isPaused = found.isPaused && leased.length === 0;
  return { leased, nextDueAt: isOpen && !isPaused ? nextDueAt : null, isPaused, stale: [], gate, now };
}

/** What is sent before the beginning is answered needs no more than the numbers of queue and holder, which stay. */
async function exchangeQuickly(
  tx: Tx,
  holderId: string | null,
  { settle, lease, gate: asked }: QuickExchange,
  plain: PlainLeases,
): Promise<Exchanged> {
  const finding = findLessee(tx, holderId, lease);
  const known = lease.rate === undefined ? plain.lesseeOf(holderId, lease.queue) : undefined;
  const lessee = known ?? (await Promise.all([finding, tx.begun()]))[0];
  const tally = new Tally();
  // Successes bring nothing into the line: what comes next is known without looking again, unless there is a rate.
  const coming = lease.rate === undefined ? finding.then((found) => found.coming) : undefined;
  const expectsFew = settle.length < lease.max;
  // What is sent first is told first: the ends of attempts before the new ones.
  const [found, stale, leasing] = await Promise.all([
    finding,
    settleSuccesses(tx, tally, settle),
    leaseDue({ tx, tally, plain, coming, expectsFew, seen: asked?.seen ?? null }, lessee, lease),
    tx.begun(),
  ]);
  plain.noteLessee(found, lease.queue);
  await Promise.all([keepLate(tx, stale), tx.number()]);
  tx.part(tally.write(tx));
  return { ...exchanged(leasing, { asked, found, now: tx.now }), stale: stale.map(leaseOf) };
}

const leaseOf = ({ lease }: Settlement): Lease => lease;

async function exchangeAny(
  tx: Tx,
  holderId: string | null,
  request: Exchange,
  plain: PlainLeases,
): Promise<Exchanged> {
  const { settle, lease } = request;
  const buries = settle.some(({ grave }) => grave !== undefined);
  const needsBook = buries || (!plain.has(settle) && (await touchesLetters(tx, settle)));
  // Sent in this order: nothing is locked before the book.
  const book = needsBook ? tx.takeBook() : null;
  const [lessee] = await Promise.all([lease ? findLessee(tx, holderId, lease) : null, tx.begun(), book]);
  const step = stepOf(tx);
  const stale = await settleAll(step, settle, lessee?.queue);
  const { isOpen, gate } = await pass(step, request, lessee);
  const mayLease = lease && lessee && (isOpen || lessee.isPaused);
  // What is sent first is told first: the ends of attempts before the new ones.
  tx.part(step.events.write(tx));
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
async function writeSums({ tx, tally, events, groups }: Step): Promise<void> {
  tx.part(tally.write(tx));
  if (!groups.hasEnds) return tx.part(groups.write());
  await groups.write();
  await events.write(tx);
}

function stepOf(tx: Tx): Step {
  const events = new EventLog(tx.now);
  return { tx, tally: new Tally(), events, groups: new GroupBook(tx, tx.now, events) };
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
  { gate: asked, lease }: Exchange,
  lessee: Lessee | null,
): Promise<Passage> {
  if (asked === undefined) return passGate(tx, asked);
  if (lessee !== null && asked.next === undefined && asked.queue === lease?.queue) {
    return { isOpen: (lessee.gate?.version ?? 0) === asked.seen, isWritten: false, gate: lessee.gate };
  }
  const queue = await queueNo(tx, asked.queue);
  const passage = await passGate(tx, asked);
  if (!passage.isWritten) return passage;
  await tx.ring(asked.queue);
  if (asked.event) events.add(asked.event, { queue });
  return passage;
}
