/** Collects the events of a transaction until they are written together, and lists the error log. */

import {
  ERROR_EVENTS,
  type ErrorEntry,
  type ErrorQuery,
  EVENTS_OF_ORIGIN,
  errorEntryOf,
} from "../../item/error-log.ts";
import {
  addToRuns,
  type Event,
  type EventDraft,
  type EventRun,
  type EventSubject,
} from "../../item/event.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { readFailure } from "./attempts.ts";
import type { Db, Step } from "./db.ts";
import { objectOf } from "./rows.ts";

export class EventLog {
  readonly at: number;
  #runs: EventRun[] = [];

  constructor(at: number) {
    this.at = at;
  }

  add(draft: EventDraft, subject: EventSubject): void {
    addToRuns(this.#runs, draft, subject);
  }

  /** Returns and removes the events collected so far. */
  take(): readonly EventRun[] {
    const runs = this.#runs;
    this.#runs = [];
    return runs;
  }
}

/** Writes a single event. */
export function* writeEvent(
  db: Db,
  draft: EventDraft,
  subject: EventSubject,
  at: number = db.now,
): Step<void> {
  const events = new EventLog(at);
  events.add(draft, subject);
  yield* db.writeEvents(events);
}

export function eventOf(row: object): Event {
  return objectOf<Event>(row, { json: ["data"] });
}

/** Lists errors, newest first: reads the newest errors of each queue in index order, then the newest of these. */
export function* listErrors(db: Db, query: ErrorQuery): Step<ErrorEntry[]> {
  const { typed, among, amongSelected, jsonText, indexedBy, joinInOrder, errors } = db.sql;
  const newestOfQueue = `
    SELECT id FROM events ${indexedBy("events_of_errors")}
     WHERE queue = q.no AND ${errors} AND id < ?2 AND ${among("type", "?4", "text")}
       AND (${typed("?3", "bigint")} IS NULL OR coalesce(${jsonText("data", "failed_at")} >= ?7, at >= ?3))
       AND (${typed("?5", "text")} IS NULL OR ref = (SELECT ref FROM items WHERE queue = q.no AND item_id = ?5))
     ORDER BY id DESC LIMIT ?6`;
  const rows = yield* db.all<{ holder: string | null; failure: string | null }>(
    `SELECT e.id, e.at, e.type, q.name AS queue, i.item_id, e.attempt, e.data, h.id AS holder, a.failure
       FROM queues q ${joinInOrder} events e ON e.queue = q.no AND ${amongSelected("e.id", newestOfQueue)}
            LEFT JOIN items i ON i.ref = e.ref
            LEFT JOIN attempts a ON a.ref = e.ref AND a.number = e.attempt LEFT JOIN holders h ON h.no = a.holder
      WHERE ${typed("?1", "text")} IS NULL OR q.name = ?1 ORDER BY e.id DESC LIMIT ?6`,
    query.queue ?? null,
    query.before ?? Number.MAX_SAFE_INTEGER,
    query.since ?? null,
    query.origin === undefined ? ERROR_EVENTS : EVENTS_OF_ORIGIN[query.origin],
    query.itemId ?? null,
    query.limit,
    query.since === undefined ? null : toRfc3339(Math.max(0, query.since)), // a date has no year before -271821
  );
  return rows.map(({ holder, failure, ...row }) =>
    errorEntryOf(eventOf(row), {
      holder: holder ?? undefined,
      failure: failure === null ? undefined : readFailure(failure),
    }),
  );
}
