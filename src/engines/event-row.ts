/** An event as both SQL stores write it down. */
import type { Event, EventType } from "../item/event.ts";
import { compact, type JsonObject, parseJson } from "../std/json.ts";

export interface EventRow {
  readonly id: number;
  readonly at: number;
  readonly type: EventType;
  readonly queue: string | null;
  readonly item_id: string | null;
  readonly attempt: number | null;
  readonly data: string | null;
}

export function eventOf(row: EventRow): Event {
  return compact({
    id: row.id,
    at: row.at,
    type: row.type,
    queue: row.queue ?? undefined,
    itemId: row.item_id ?? undefined,
    attempt: row.attempt ?? undefined,
    data: row.data === null ? undefined : (parseJson(row.data) as JsonObject),
  });
}
