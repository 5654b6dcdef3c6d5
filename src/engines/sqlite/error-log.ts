/** The error log in SQLite: the events that tell of errors, with what their attempts left. An index of their own finds them. */
import {
  ERROR_EVENTS,
  type ErrorEntry,
  type ErrorQuery,
  EVENTS_OF_ORIGIN,
  errorEntryOf,
} from "../../item/error-log.ts";
import { failureFromJson } from "../../item/failure.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { type JsonObject, parseJson } from "../../std/json.ts";
import { type EventRow, eventOf } from "../event-row.ts";
import { ERRORS } from "./migrations/version-3.ts";
import type { Session } from "./session.ts";

/** Newest first: the newest of each queue, which its part of the index has in order, and of those the newest. */
export function listErrors(session: Session, query: ErrorQuery): ErrorEntry[] {
  return queuesOf(session, query)
    .flatMap((queue) => newestOf(session, queue, query))
    .sort((a, b) => b - a)
    .slice(0, query.limit)
    .map((id) => readEntry(session, id));
}

function queuesOf(session: Session, { queue }: ErrorQuery): number[] {
  const sql = "SELECT no FROM queues WHERE ?1 IS NULL OR name = ?1";
  return session.all<{ no: number }>(sql, queue ?? null).map(({ no }) => no);
}

function newestOf(session: Session, queue: number, query: ErrorQuery): number[] {
  const types = query.origin === undefined ? ERROR_EVENTS : EVENTS_OF_ORIGIN[query.origin];
  const rows = session.all<{ id: number }>(
    `SELECT id FROM events INDEXED BY events_of_errors
      WHERE queue = ?1 AND ${ERRORS} AND id < ?2 AND type IN (SELECT value FROM json_each(?4))
        AND (?3 IS NULL OR coalesce(data ->> 'failed_at' >= ?7, at >= ?3))
        AND (?5 IS NULL OR ref = (SELECT ref FROM items i WHERE i.queue = ?1 AND i.item_id = ?5))
      ORDER BY id DESC LIMIT ?6`,
    queue,
    query.before ?? Number.MAX_SAFE_INTEGER,
    query.since ?? null,
    JSON.stringify(types),
    query.itemId ?? null,
    query.limit,
    query.since === undefined ? null : toRfc3339(query.since),
  );
  return rows.map(({ id }) => id);
}

interface ErrorRow extends EventRow {
  readonly holder: string | null;
  readonly failure: string | null;
}

function readEntry(session: Session, id: number): ErrorEntry {
  const row = session.get<ErrorRow>(
    `SELECT e.id, e.at, e.type, q.name AS queue, i.item_id, e.attempt, e.data, h.id AS holder, a.failure
       FROM events e LEFT JOIN queues q ON q.no = e.queue LEFT JOIN items i ON i.ref = e.ref
            LEFT JOIN attempts a ON a.ref = e.ref AND a.number = e.attempt LEFT JOIN holders h ON h.no = a.holder
      WHERE e.id = ?`,
    id,
  ) as ErrorRow;
  return errorEntryOf(eventOf(row), {
    holder: row.holder ?? undefined,
    failure: row.failure === null ? undefined : failureFromJson(parseJson(row.failure) as JsonObject),
  });
}
