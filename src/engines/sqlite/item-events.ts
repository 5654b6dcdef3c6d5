/**
 * Finds the events of one item between two times without reading all events. Ids increase with time, so
 * bisection finds the range; within it, SQLite skips the events of other items.
 */
import type { EventQuery } from "../../engine.ts";
import type { Event } from "../../item/event.ts";
import { eventOf } from "../sql/events.ts";
import { queueNo } from "../sql/jobs.ts";
import { runOn } from "./db.ts";
import { newestEvent } from "./events.ts";
import type { Session } from "./session.ts";

/** The maximum number of events of other items that are skipped. */
const PASSED_MAX = 100_000;

export function listItemEvents(
  session: Session,
  query: EventQuery & Required<Pick<EventQuery, "queue" | "itemId">>,
): Event[] {
  const { queue: name, itemId, after, since = 0, until, limit } = query;
  const queue = runOn(session, (db) => queueNo(db, name));
  const ref = session.get<{ ref: number }>(
    "SELECT ref FROM items WHERE queue = ? AND item_id = ?",
    queue,
    itemId,
  )?.ref;
  if (ref === undefined) return [];
  const start = lastBefore(session, queue, { after, since });
  const end =
    until === undefined ? start + PASSED_MAX : lastBefore(session, queue, { after: start, since: until + 1 });
  const rows = session.all<object>(
    `SELECT e.id, e.at, e.type, ?1 AS queue, ?2 AS item_id, e.attempt, e.data FROM events e
      WHERE e.ref = ?3 AND ${IN_REACH}
     UNION ALL
     SELECT e.id - e.span + 1 + r.key, e.at, e.type, ?1, ?2, e.attempt, e.data
       FROM events e CROSS JOIN json_each(e.refs) r ON r.value = ?3
      WHERE e.refs IS NOT NULL AND e.id - e.span + 1 + r.key > ?9 AND ${IN_REACH} ORDER BY 1 LIMIT ?10`,
    ...[name, itemId, ref, queue, start, Math.min(end, start + PASSED_MAX), since],
    query.types === undefined ? null : JSON.stringify(query.types),
    after,
    limit,
  );
  return rows.map(eventOf);
}

const IN_REACH = `e.queue = ?4 AND e.id > ?5 AND e.id <= ?6 AND e.at >= ?7
  AND (?8 IS NULL OR e.type IN (SELECT value FROM json_each(?8)))`;

/** Returns an event number such that all later events of the queue happened at this time or after it. */
function lastBefore(
  session: Session,
  queue: number,
  { after, since }: { readonly after: number; readonly since: number },
): number {
  let [low, high] = [after, newestEvent(session)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const next = session.get<{ id: number; at: number }>(
      "SELECT id, at FROM events WHERE queue = ? AND id > ? ORDER BY id LIMIT 1",
      queue,
      middle,
    );
    if (next === undefined || next.at >= since) high = middle;
    else low = next.id;
  }
  return low;
}
