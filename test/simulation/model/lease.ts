/**
 * Holders of leases: they register, send heartbeats and unregister. Expiry is only shown here; a reaper settles the
 * leases of an expired holder. A late heartbeat before that continues as if nothing had happened.
 */
import type { Holder, NewHolder } from "../../../src/engine.ts";
import { RedriveError } from "../../../src/errors.ts";
import type { LeasedItem } from "../../../src/item/item.ts";
import { assert } from "../../../src/std/assert.ts";
import { compact } from "../../../src/std/json.ts";
import { type HolderRow, type Row, requireQueue, type Store } from "./store.ts";

/** Registers a holder, which expires `ttlMs` from now. */
export function registerHolder(store: Store, holder: NewHolder): Holder {
  assert(!store.holders.has(holder.id), `holder ${holder.id} entered twice`);
  requireQueue(store, holder.queue);
  const { now } = store;
  const row: HolderRow = { ...holder, expiresAt: now + holder.ttlMs, leases: new Set() };
  store.holders.set(holder.id, row);
  return holderOf(row, now);
}

/** Extends the expiry, even if it has passed. False for an unknown or revoked holder. */
export function heartbeat(store: Store, holderId: string): boolean {
  const holder = store.holders.get(holderId);
  if (holder === undefined || holder.expiresAt === 0) return false;
  holder.expiresAt = store.now + holder.ttlMs;
  return true;
}

/** A revoked holder expired at time 0, which no heartbeat changes. */
export function revoke(
  store: Store,
  holderId: string,
  { isProcessDead }: { readonly isProcessDead: boolean },
): boolean {
  const holder = store.holders.get(holderId);
  if (holder === undefined || (!isProcessDead && holder.expiresAt > store.now)) return false;
  holder.expiresAt = 0;
  return true;
}

/** Unregistering twice is allowed: two reapers may have found the same dead holder. */
export function unregisterHolder(store: Store, holderId: string): boolean {
  const leases = store.holders.get(holderId)?.leases.size ?? 0;
  if (leases > 0) return false;
  store.holders.delete(holderId);
  return true;
}

/** In the order of their registration. */
export function listHolders(store: Store, { queue }: { queue?: string } = {}): readonly Holder[] {
  const now = store.now;
  const all = [...store.holders.values()].map((holder) => holderOf(holder, now));
  return all.filter((holder) => queue === undefined || holder.queue === queue);
}

/** By age of the item. Empty for an unknown holder. */
export function listLeases(store: Store, holderId: string): readonly LeasedItem[] {
  const leases = store.holders.get(holderId)?.leases ?? [];
  return [...leases].sort((a, b) => a.ref - b.ref).map(leasedItem);
}

/** The holder, or `lease_lost` if it was removed. */
export function requireHolder(store: Store, holderId: string): HolderRow {
  const holder = store.holders.get(holderId);
  if (holder && holder.expiresAt > 0) return holder;
  throw new RedriveError(
    "lease_lost",
    `The holder ${holderId} is no longer registered; nothing was changed.`,
    {
      hint: "It missed its heartbeats and was considered dead. Register a new holder.",
    },
  );
}

/** The item as a worker gets it. It must be leased. */
export function leasedItem(row: Row): LeasedItem {
  const attempt = row.attempts.at(-1);
  assert(row.state === "leased" && attempt, `item ${row.ref} is not leased`);
  return compact({
    ref: row.ref,
    attempt: attempt.number,
    queue: row.queue.name,
    itemId: row.itemId,
    data: row.data,
    attemptsCounted: row.attemptsCounted,
    lostCount: row.lostCount,
    revision: row.revision,
    redriveCount: row.redriveCount,
    index: row.index,
    startedAt: attempt.startedAt,
    name: row.name,
    expiresAt: row.expiresAt,
  });
}

function holderOf({ leases: _, ...holder }: HolderRow, now: number): Holder {
  return { ...holder, expired: holder.expiresAt <= now };
}
