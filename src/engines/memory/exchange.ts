/**
 * The heart of the runner: settles what has ended, then leases what is due, in one step. What is settled may be
 * leased again by the same step. Nothing is changed before everything that can be refused was looked at.
 */
import type { Exchange, Exchanged } from "../../engine.ts";
import type { LeasedItem } from "../../item/item.ts";
import { assertSettlement } from "../../item/settlement.ts";
import { assert } from "../../kit/assert.ts";
import { record } from "./events.ts";
import { leasedItem, requireHolder } from "./lease.ts";
import { resolveGroups } from "./marks.ts";
import { moveRow } from "./move.ts";
import { settle } from "./settle.ts";
import type { HolderRow, Row, Store } from "./store.ts";

/** Refuses the whole call when the holder is not known or a settlement contradicts itself. */
export function exchange(store: Store, holderId: string | null, asked: Exchange): Exchanged {
  const { now } = store;
  const holder = asked.lease && requireHolder(store, named(holderId));
  asked.settle.forEach(assertSettlement);
  const fates = asked.settle.map((settlement) => ({ settlement, isHeld: settle(store, settlement) }));
  const stale = fates.filter(({ isHeld }) => !isHeld).map(({ settlement }) => ({ ...settlement.lease }));
  const settled = fates.flatMap(({ settlement, isHeld }) => (isHeld ? [settlement.lease.ref] : []));
  const leasing = asked.lease && holder ? leaseDue(store, asked.lease, holder) : NOTHING;
  resolveGroups(
    store,
    settled.flatMap((ref) => succeededLetter(store, ref)),
  );
  return { ...leasing, stale, now };
}

const NOTHING = { leased: [], nextDueAt: null } as const;

/** The row of an item that has just been settled, if it was a letter and is done. */
function succeededLetter({ rows }: Store, ref: number): readonly Row[] {
  const row = rows[ref - 1];
  return row?.state === "done" && row.burial ? [row] : [];
}

function leaseDue(
  store: Store,
  asked: NonNullable<Exchange["lease"]>,
  holder: HolderRow,
): Pick<Exchanged, "leased" | "nextDueAt"> {
  const line = lineOf(store, asked);
  const due = line.filter((row) => row.dueAt <= store.now).slice(0, asked.max);
  const leased = due.map((row) => lease(store, row, holder));
  const isShort = leased.length < asked.max;
  return { leased, nextDueAt: isShort ? (line.find((row) => row.dueAt > store.now)?.dueAt ?? null) : null };
}

function named(holderId: string | null): string {
  assert(holderId !== null, "only a holder can lease");
  return holderId;
}

/** The ready items that may be leased, due or not, in order of (dueAt, ref). */
function lineOf(store: Store, { queue, operationId }: NonNullable<Exchange["lease"]>): readonly Row[] {
  const line = store.queues.get(queue)?.line ?? [];
  if (operationId === undefined) return [...line];
  if (store.operations.get(operationId)?.status !== "open") return [];
  return line.filter(({ operation }) => operation?.asked.id === operationId);
}

/** Starts an attempt: its record is there, and says `running`, before the worker knows of it. */
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
