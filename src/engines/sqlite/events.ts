/** Events in SQLite: appended in the transaction of the change they tell of, read in order by cursor. */
import type { EventQuery } from "../../engine.ts";
import type { Event, EventDraft, EventType } from "../../item/event.ts";
import { compact } from "../../item/failure.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { Session, Value } from "./session.ts";

export interface EventPlace {
  readonly queue?: number;
  readonly ref?: number;
  readonly attempt?: number;
}

/** For a step that tells of one thing. */
export function writeEvent(session: Session, at: number, draft: EventDraft, place: EventPlace): void {
  const log = new EventLog(at);
  log.add(draft, place);
  log.write(session);
}

/** The events of one step, written together at its end. */
export class EventLog {
  readonly #at: number;
  readonly #rows: Value[][] = [];

  constructor(at: number) {
    this.#at = at;
  }

  add({ type, data }: EventDraft, { queue, ref, attempt }: EventPlace): void {
    const json = data === undefined ? null : JSON.stringify(data);
    this.#rows.push([this.#at, type, queue ?? null, ref ?? null, attempt ?? null, json]);
  }

  write(session: Session): void {
    session.insert("events (at, type, queue, ref, attempt, data)", this.#rows);
  }
}

interface EventRow {
  readonly id: number;
  readonly at: number;
  readonly type: EventType;
  readonly queue: string | null;
  readonly item_id: string | null;
  readonly attempt: number | null;
  readonly data: string | null;
}

/** The index (queue, id) serves one job, the primary key all of them; each is read from the cursor on. */
export function listEvents(session: Session, query: EventQuery): Event[] {
  const rows = session.all<EventRow>(
    `SELECT e.id, e.at, e.type, q.name AS queue, i.item_id, e.attempt, e.data
       FROM events e LEFT JOIN queues q ON q.no = e.queue LEFT JOIN items i ON i.ref = e.ref
      WHERE e.id > ? AND e.at >= ?
        ${query.queue === undefined ? "AND ? IS NULL" : "AND e.queue = (SELECT no FROM queues WHERE name = ?)"}
        AND (? IS NULL OR e.type IN (SELECT value FROM json_each(?)))
      ORDER BY e.id LIMIT ?`,
    query.after,
    query.since ?? 0,
    query.queue ?? null,
    query.types === undefined ? null : JSON.stringify(query.types),
    JSON.stringify(query.types ?? []),
    query.limit,
  );
  return rows.map(eventOf);
}

/** The end of the primary key: no scan. */
export function newestEvent(session: Session): number {
  return session.get<{ readonly id: number | null }>("SELECT max(id) AS id FROM events")?.id ?? 0;
}

function eventOf(row: EventRow): Event {
  return compact({
    id: row.id,
    at: row.at,
    type: row.type,
    queue: row.queue ?? undefined,
    itemId: row.item_id ?? undefined,
    attempt: row.attempt ?? undefined,
    data: row.data === null ? undefined : (JSON.parse(row.data) as JsonObject),
  });
}
