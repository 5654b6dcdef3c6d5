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
import { moveRow } from "./move.ts";
import { settle } from "./settle.ts";
import type { HolderRow, Row, Store } from "./store.ts";

/** Refuses the whole call when the holder is not known or a settlement contradicts itself. */
export function exchange(store: Store, holderId: string | null, asked: Exchange): Exchanged {
  const { now } = store;
  const holder = asked.lease && requireHolder(store, named(holderId));
  asked.settle.forEach(assertSettlement);
  const stale = asked.settle
    .filter((settlement) => !settle(store, settlement))
    .map(({ lease }) => ({ ...lease }));
  if (!asked.lease || !holder) return { leased: [], stale, nextDueAt: null, now };
  const line = lineOf(store, asked.lease);
  const due = line.filter((row) => row.dueAt <= now).slice(0, asked.lease.max);
  const leased = due.map((row) => lease(store, row, holder));
  const isShort = leased.length < asked.lease.max;
  const nextDueAt = isShort ? (line.find((row) => row.dueAt > now)?.dueAt ?? null) : null;
  return { leased, stale, nextDueAt, now };
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
