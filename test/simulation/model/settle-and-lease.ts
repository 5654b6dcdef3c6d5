/**
 * The runner's step: settles ended attempts, then leases due items. A settled item may be leased again by the same
 * step. Nothing is changed before everything that can be refused was checked.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../../src/engine.ts";
import type { LeasedItem } from "../../../src/item/item.ts";
import { allow, spend } from "../../../src/item/rate.ts";
import { assertSettlement } from "../../../src/item/settlement.ts";
import { assert } from "../../../src/std/assert.ts";
import { passGate } from "./documents.ts";
import { record } from "./events.ts";
import { resolveGroups } from "./group-records.ts";
import { leasedItem, requireHolder } from "./lease.ts";
import { isBlocked } from "./line.ts";
import { moveRow } from "./move.ts";
import { settle } from "./settle.ts";
import { type HolderRow, type Queue, type Row, requireQueue, type Store } from "./store.ts";

/** Refuses the whole call if the holder is unknown or a settlement is inconsistent. */
export function settleAndLease(
  store: Store,
  holderId: string | null,
  asked: SettleAndLease,
): SettleAndLeaseResult {
  const { now } = store;
  const holder = asked.lease && requireHolder(store, named(holderId));
  if (asked.lease) requireQueue(store, asked.lease.queue);
  if (asked.gate) requireQueue(store, asked.gate.queue);
  asked.settle.forEach(assertSettlement);
  const fates = asked.settle.map((settlement) => ({ settlement, isHeld: settle(store, settlement) }));
  const stale = fates.filter(({ isHeld }) => !isHeld).map(({ settlement }) => ({ ...settlement.lease }));
  const settled = fates.flatMap(({ settlement, isHeld }) => (isHeld ? [settlement.lease.ref] : []));
  const { isOpen, gate } = passGate(store, asked.gate);
  const isPaused = asked.lease !== undefined && store.jobs.get(asked.lease.queue)?.pause !== undefined;
  const mayLease = isOpen && !isPaused;
  const leasing = asked.lease && holder && mayLease ? leaseDue(store, asked.lease, holder) : NOTHING;
  resolveGroups(
    store,
    settled.flatMap((ref) => succeededLetter(store, ref)),
  );
  return { ...leasing, stale, isPaused, gate, now };
}

const NOTHING = { leased: [], nextDueAt: null } as const;

/** The row of an item that was just settled, if it was a letter and is done. */
function succeededLetter({ rows }: Store, ref: number): readonly Row[] {
  const row = rows[ref - 1];
  return row?.state === "done" && row.burial ? [row] : [];
}

function leaseDue(
  store: Store,
  asked: NonNullable<SettleAndLease["lease"]>,
  holder: HolderRow,
): Pick<SettleAndLeaseResult, "leased" | "nextDueAt"> {
  const { now } = store;
  const queue = requireQueue(store, asked.queue);
  const line = lineOf(store, asked, queue);
  const { granted, nextAt } = allowance(queue, asked, now);
  const leased: LeasedItem[] = [];
  for (const row of line)
    if (leased.length < granted && isLeasable(row, now)) leased.push(lease(store, row, holder));
  if (asked.rate && leased.length > 0)
    queue.spentUntil = spend(queue.spentUntil, now, asked.rate, leased.length);
  if (leased.length === asked.max) return { leased, nextDueAt: null };
  const rest = line.filter((row) => row.state === "ready" && !isBlocked(row));
  const coming = rest.map(({ dueAt }) => (dueAt > now ? dueAt : nextAt)).filter((at) => at !== null);
  return { leased, nextDueAt: coming.length > 0 ? Math.min(...coming) : null };
}

function allowance({ spentUntil }: Queue, { max, rate }: NonNullable<SettleAndLease["lease"]>, now: number) {
  return rate ? allow(spentUntil, now, rate, max) : { granted: max, nextAt: null };
}

function isLeasable(row: Row, now: number): boolean {
  return row.dueAt <= now && !isBlocked(row);
}

function named(holderId: string | null): string {
  assert(holderId !== null, "only a holder can lease");
  return holderId;
}

/** The ready items that may be leased, due or not, in order of (priority, dueAt, ref). */
function lineOf(
  store: Store,
  { operationId }: NonNullable<SettleAndLease["lease"]>,
  { line }: Queue,
): readonly Row[] {
  if (operationId === undefined) return [...line];
  if (store.operations.get(operationId)?.status !== "open") return [];
  return line.filter(({ operation }) => operation?.asked.id === operationId);
}

/** Starts an attempt: its record exists, as `running`, before the worker gets it. */
function lease(store: Store, row: Row, holder: HolderRow): LeasedItem {
  moveRow(row, "lease");
  row.started += 1;
  const number = row.started;
  row.attempts.push({ number, outcome: "running", holder: holder.id, startedAt: store.now });
  row.queue.attempts += 1;
  holder.leases.add(row);
  record(store, { type: "attempt_started", queue: row.queue.name, itemId: row.itemId, attempt: number });
  return leasedItem(row);
}
