/** An item as both SQL stores write it down. */

import type { Item } from "../item/item.ts";
import { priorityOf } from "../item/item.ts";
import type { ItemState } from "../item/state.ts";
import { compact, type Json, parseJson } from "../std/json.ts";

export interface ItemRow {
  readonly ref: number;
  readonly queue: string;
  readonly item_id: string;
  readonly data: string | null;
  readonly name: string | null;
  readonly state: ItemState;
  readonly priority: number;
  readonly due_at: number;
  readonly expires_at: number | null;
  readonly lane: string | null;
  readonly attempts: number;
  readonly spent: number;
  readonly losses: number;
  readonly revision: number;
  readonly redrives: number;
  readonly requeued_from: string | null;
}

/** What was made of it anew is written down in different ways. */
export function itemOf(row: ItemRow, requeuedAs: readonly string[]): Item {
  return compact({
    ref: row.ref,
    queue: row.queue,
    itemId: row.item_id,
    data: row.data === null ? null : (parseJson(row.data) as Json),
    state: row.state,
    dueAt: row.due_at,
    attempts: row.attempts,
    spent: row.spent,
    losses: row.losses,
    revision: row.revision,
    redriveCount: row.redrives,
    name: row.name ?? undefined,
    priority: priorityOf(row.priority),
    expiresAt: row.expires_at ?? undefined,
    lane: row.lane ?? undefined,
    requeuedFrom: row.requeued_from ?? undefined,
    requeuedAs: requeuedAs.length > 0 ? requeuedAs : undefined,
  });
}
