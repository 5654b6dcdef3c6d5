/** The error log in PostgreSQL: the events that tell of errors, with what their attempts left. An index of their own finds them. */
import {
  ERROR_EVENTS,
  type ErrorEntry,
  type ErrorQuery,
  EVENTS_OF_ORIGIN,
  errorEntryOf,
} from "../../item/error-log.ts";
import { toRfc3339 } from "../../std/clock.ts";
import { readFailure } from "../attempt-row.ts";
import { type EventRow, eventOf } from "../event-row.ts";
import { ERRORS } from "./migrations/version-2.ts";
import type { Tx } from "./session.ts";

interface ErrorRow extends EventRow {
  readonly holder: string | null;
  readonly failure: string | null;
}

/** Newest first: the newest of each queue, which its part of the index has in order, and of those the newest. */
export async function listErrors(tx: Tx, query: ErrorQuery): Promise<ErrorEntry[]> {
  const rows = await tx.all<ErrorRow>(
    `SELECT e.id, e.at, e.type, q.name AS queue, i.item_id, e.attempt, e.data, h.id AS holder, a.failure
       FROM (SELECT e.* FROM queues q CROSS JOIN LATERAL
               (SELECT * FROM events WHERE queue = q.no AND ${ERRORS} AND id < ?2 AND type = ANY (?4::text[])
                   AND (?3::bigint IS NULL OR coalesce(data::json ->> 'failed_at' >= ?7 COLLATE "C", at >= ?3))
                   AND (?5::text IS NULL OR ref = (SELECT ref FROM items WHERE queue = q.no AND item_id = ?5))
                 ORDER BY id DESC LIMIT ?6) e
              WHERE ?1::text IS NULL OR q.name = ?1 ORDER BY e.id DESC LIMIT ?6) e
            JOIN queues q ON q.no = e.queue LEFT JOIN items i ON i.ref = e.ref
            LEFT JOIN attempts a ON a.ref = e.ref AND a.number = e.attempt LEFT JOIN holders h ON h.no = a.holder
      ORDER BY e.id DESC`,
    query.queue ?? null,
    query.before ?? Number.MAX_SAFE_INTEGER,
    query.since ?? null,
    query.origin === undefined ? ERROR_EVENTS : EVENTS_OF_ORIGIN[query.origin],
    query.itemId ?? null,
    query.limit,
    query.since === undefined ? null : toRfc3339(query.since),
  );
  return rows.map((row) =>
    errorEntryOf(eventOf(row), {
      holder: row.holder ?? undefined,
      failure: row.failure === null ? undefined : readFailure(row.failure),
    }),
  );
}
