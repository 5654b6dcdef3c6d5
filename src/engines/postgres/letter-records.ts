/** Reads one letter with its related records. */
import { ATTEMPT_TIMES_MAX, type LetterAddress, type LetterRecords } from "../../engine.ts";
import { attemptsOf } from "../sql/attempts.ts";
import { eventOf } from "../sql/events.ts";
import { type RecordsRow, recordColumns, recordsOf } from "../sql/letter-records.ts";
import type { LetterTable } from "../sql/letters.ts";
import { DIALECT } from "./dialect.ts";
import { eventsAtTimes } from "./item-events.ts";
import { letterFrom, lettersIn, type PageRow } from "./letters.ts";
import type { Session } from "./session.ts";

/** Reads a letter with its related records; null if the item does not exist or is not a letter. */
export async function readLetterRecords(
  session: Session,
  { queue, itemId }: LetterAddress,
): Promise<LetterRecords | null> {
  const rowOf = (table: LetterTable) =>
    session.readPipelined((tx) => tx.get<PageRow & RecordsRow & EventsColumn>(RECORDS[table], queue, itemId));
  // Most letters are waiting. One that is resolved in between is found in the second table.
  const row = (await rowOf("letters")) ?? (await rowOf("resolved_letters"));
  if (row === undefined) return null;
  const events = (JSON.parse(row.events ?? "[]") as readonly object[]).map(eventOf);
  return { ...recordsOf(letterFrom(row), row), events };
}

interface EventsColumn {
  readonly events: string | null;
}

const COLUMNS = recordColumns(DIALECT, { ref: "l.ref", queue: "l.queue", signature: "l.signature" });

const TIMES = `SELECT DISTINCT v.at FROM (${attemptsOf("l.ref")}) a CROSS JOIN LATERAL (VALUES (a.started_at), (a.ended_at)) v (at)
  WHERE v.at IS NOT NULL ORDER BY 1 DESC LIMIT ${ATTEMPT_TIMES_MAX}`;
const EVENTS = `SELECT json_agg(found)::text FROM items i JOIN queues q ON q.no = i.queue
  CROSS JOIN LATERAL (${eventsAtTimes(TIMES)}) found WHERE i.ref = l.ref`;

const RECORDS: Readonly<Record<LetterTable, string>> = {
  letters: recordsIn("letters"),
  resolved_letters: recordsIn("resolved_letters"),
};

function recordsIn(table: LetterTable): string {
  return `SELECT l.*, ${COLUMNS}, (${EVENTS}) AS events FROM (${lettersIn(table, numberIn(table))}) l`;
}

function numberIn(table: LetterTable): string {
  const ref =
    "SELECT i.ref FROM queues q JOIN items i ON i.queue = q.no AND i.item_id = ?2 WHERE q.name = ?1";
  return `(SELECT no FROM ${table} WHERE ref = (${ref}))`;
}
