/** Finds the events of one item by their times. */
import type { ItemEventQuery } from "../../engine.ts";
import type { Event } from "../../item/event.ts";
import { eventOf } from "../sql/events.ts";
import type { Session } from "./session.ts";

export function listItemEvents(session: Session, { queue, itemId, times }: ItemEventQuery): Event[] {
  const given = JSON.stringify([...new Set(times)]);
  return session.all<Row>(LIST, queue, itemId, given).flatMap((row) => {
    const { at, type, attempt, data } = row;
    const id = idIn(row);
    return id === undefined ? [] : [eventOf({ id, at, type, queue, item_id: itemId, attempt, data })];
  });
}

/** Returns the id of the item's event in the row; undefined if a run has other items only. */
function idIn({ id, span, ref, refs }: Row): number | undefined {
  if (refs === null) return id;
  const index = (JSON.parse(refs) as readonly number[]).indexOf(ref);
  return index === -1 ? undefined : id - span + 1 + index;
}

interface Row {
  /** The id of the last event of a run. */
  readonly id: number;
  readonly at: number;
  readonly type: string;
  /** The number of the item. */
  readonly ref: number;
  readonly attempt: number | null;
  readonly data: string | null;
  readonly span: number;
  /** The items of a run, as JSON; null if the row is of this item alone. */
  readonly refs: string | null;
}

/**
 * Two searches of the index for each time: for rows of this item alone, and for runs that may have it. SQLite takes longer
 * to parse the list of a run than JavaScript, so it only looks for the digits.
 */
const LIST = `
  WITH item AS MATERIALIZED (
    SELECT i.queue, i.ref FROM queues q JOIN items i ON i.queue = q.no AND i.item_id = ?2 WHERE q.name = ?1)
  SELECT e.id, e.at, e.type, i.ref, e.attempt, e.data, e.span, NULL AS refs
    FROM item i CROSS JOIN json_each(?3) t CROSS JOIN events e INDEXED BY events_of_items
      ON e.queue = i.queue AND e.at = t.value AND e.ref = i.ref
   UNION ALL
  SELECT e.id, e.at, e.type, i.ref, e.attempt, e.data, e.span, e.refs
    FROM item i CROSS JOIN json_each(?3) t CROSS JOIN events e INDEXED BY events_of_items
      ON e.queue = i.queue AND e.at = t.value AND e.ref IS NULL
   WHERE instr(e.refs, i.ref) > 0
   ORDER BY 1`;
