/** Holders and what they hold, as both SQL stores write them down. */

import type { LeasedItem } from "../item/item.ts";
import type { Holder } from "../item/settle-and-lease.ts";
import { type Json, parseJson } from "../std/json.ts";

export interface HolderRow {
  readonly id: string;
  readonly queue: string;
  readonly host: string;
  readonly pid: number;
  readonly process_start: string;
  readonly ttl_ms: number;
  readonly expires_at: number;
}

export function holderOf(row: HolderRow, now: number): Holder {
  return {
    id: row.id,
    queue: row.queue,
    host: row.host,
    pid: row.pid,
    processStart: row.process_start,
    ttlMs: row.ttl_ms,
    expiresAt: row.expires_at,
    expired: row.expires_at <= now,
  };
}

export interface LeasedRow {
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string;
  readonly name: string | null;
  readonly attempts: number;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
  readonly redrives: number;
  readonly place: number;
  readonly expires_at: number | null;
  readonly started_at: number;
}

export function leasedItemOf(row: LeasedRow): LeasedItem {
  return {
    ref: row.ref,
    attempt: row.attempts,
    queue: row.queue,
    itemId: row.item_id,
    data: parseJson(row.data) as Json,
    spent: row.spent,
    losses: row.losses,
    revision: row.revision,
    redriveCount: row.redrives,
    index: row.place,
    startedAt: row.started_at,
    ...(row.name !== null && { name: row.name }),
    ...(row.expires_at !== null && { expiresAt: row.expires_at }),
  };
}
