/**
 * Events in SQLite: appended in the transaction of the change that they describe, and read in order by
 * cursor. Equal events of many items in one step are stored as a run: one row with the number of its last
 * event.
 */

import type { EventQuery } from "../../engine.ts";
import type { Event } from "../../item/event.ts";
import { isCounted } from "../../item/settlement.ts";
import { stringifyJson } from "../../std/json.ts";
import { type EventLog, eventOf } from "../sql/events.ts";
import { countUp } from "./counter-deltas.ts";
import type { Session, Value } from "./session.ts";

/** Numbers the rows explicitly, because a run takes one number per event. */
export function writeEvents(session: Session, log: EventLog): void {
  const runs = log.take();
  if (runs.length === 0) return;
  let id = newestEvent(session);
  const [single, ofMany]: [Value[][], Value[][]] = [[], []];
  for (const { type, data, queue = null, attempt = null, refs } of runs) {
    const span = Math.max(refs.length, 1);
    id += span;
    const text = data === undefined ? null : stringifyJson(data);
    if (span === 1) single.push([id, log.at, type, queue, refs[0] ?? null, attempt, text]);
    else ofMany.push([id, log.at, type, queue, attempt, text, span, JSON.stringify(refs)]);
  }
  session.insert("events (id, at, type, queue, ref, attempt, data)", single);
  session.insert("events (id, at, type, queue, attempt, data, span, refs)", ofMany);
  for (const { type, queue, refs } of runs) {
    if (queue !== undefined && isCounted(type))
      countUp(session, queue, new Map([[type, Math.max(refs.length, 1)]]));
  }
}

/**
 * The index (queue, id) is used for one queue, the primary key for all queues; both start at the cursor. Only
 * those events of a run that follow the cursor and are within the limit are expanded: `passed` of them are
 * skipped, and `before` events precede the run. The first row from `through` on has that event.
 */
export function listEvents(session: Session, query: EventQuery): Event[] {
  const ofQueue =
    query.queue === undefined ? "?3 IS NULL" : "queue = (SELECT no FROM queues WHERE name = ?3)";
  const rows = session.all<object>(
    `WITH found AS (SELECT id, span, max(span - id + ?1, 0) AS passed FROM events
                     WHERE id > ?1 AND at >= ?2 AND ${ofQueue}
                       AND (?6 IS NULL OR id <= coalesce((SELECT min(id) FROM events WHERE id >= ?6), ?6))
                       AND (?4 IS NULL OR type IN (SELECT value FROM json_each(?4))) ORDER BY id LIMIT ?5),
          counted AS (SELECT id, passed, sum(span - passed) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - (span - passed) AS before
                        FROM found)
     SELECT e.id - e.span + 1 + coalesce(r.key, 0) AS id, e.at, e.type, q.name AS queue, i.item_id, e.attempt, e.data
       FROM counted c CROSS JOIN events e ON e.id = c.id LEFT JOIN json_each(e.refs) r LEFT JOIN queues q ON q.no = e.queue
            LEFT JOIN items i ON i.ref = coalesce(r.value, e.ref)
      WHERE c.before < ?5 AND coalesce(r.key, 0) >= c.passed AND c.before + coalesce(r.key, 0) - c.passed < ?5
      ORDER BY 1`,
    query.after,
    query.since ?? 0,
    query.queue ?? null,
    query.types === undefined ? null : JSON.stringify(query.types),
    query.limit,
    query.through ?? null,
  );
  const { through = Number.POSITIVE_INFINITY } = query;
  return rows.map(eventOf).filter(({ id }) => id <= through);
}

/** Reads the end of the primary key, without a scan. */
export function newestEvent(session: Session): number {
  return session.get<{ readonly id: number | null }>("SELECT max(id) AS id FROM events")?.id ?? 0;
}
