/** Finds the events of one item by their times. */
import type { ItemEventQuery } from "../../engine.ts";
import type { Event } from "../../item/event.ts";
import { eventOf } from "../sql/events.ts";
import type { Tx } from "./tx.ts";

export async function listItemEvents(tx: Tx, { queue, itemId, times }: ItemEventQuery): Promise<Event[]> {
  const rows = await tx.all<object>(LIST, queue, itemId, [...new Set(times)]);
  return rows.map(eventOf);
}

/**
 * Selects the events of the item `i` at the times of a relation. Two searches of the index for each time: for rows of this
 * item alone, and for rows that it shares with others.
 */
export function eventsAtTimes(times: string): string {
  return `
    SELECT e.id - e.span + coalesce(array_position(e.refs, i.ref), 1) AS id, e.at, e.type, q.name AS queue, i.item_id,
           e.attempt, e.data
      FROM (${times}) AS t (at) CROSS JOIN LATERAL
           (SELECT * FROM events e WHERE e.queue = i.queue AND e.at = t.at AND e.ref = i.ref
            UNION ALL
            SELECT * FROM events e WHERE e.queue = i.queue AND e.at = t.at AND e.ref IS NULL AND e.refs @> ARRAY[i.ref]) e
     ORDER BY 1`;
}

const LIST = `
  SELECT found.* FROM queues q JOIN items i ON i.queue = q.no AND i.item_id = ?2
         CROSS JOIN LATERAL (${eventsAtTimes("SELECT unnest(?3::bigint[])")}) found
   WHERE q.name = ?1
   ORDER BY 1`;
