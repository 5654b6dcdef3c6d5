/** Reads one letter with its related records. */
import { attemptTimes, type LetterAddress, type LetterRecords } from "../../engine.ts";
import { assert } from "../../std/assert.ts";
import { type RecordsRow, recordColumns, recordsOf } from "../sql/letter-records.ts";
import { DIALECT } from "./dialect.ts";
import { listItemEvents } from "./item-events.ts";
import { readLetter } from "./letters.ts";
import type { Session } from "./session.ts";

/** Reads a letter with its related records; null if the item does not exist or is not a letter. */
export function readLetterRecords(session: Session, { queue, itemId }: LetterAddress): LetterRecords | null {
  const item = session.get<{ ref: number }>(
    "SELECT i.ref FROM queues q JOIN items i ON i.queue = q.no AND i.item_id = ?2 WHERE q.name = ?1",
    ...[queue, itemId],
  );
  const letter = item === undefined ? null : readLetter(session, item.ref);
  if (letter === null) return null;
  const row = session.get<RecordsRow>(RECORDS, letter.ref, queue, letter.errorSignature);
  assert(row, "a SELECT without FROM returns a row");
  const { attempts, ...records } = recordsOf(letter, row);
  const times = attemptTimes(attempts);
  return { ...records, attempts, events: listItemEvents(session, { queue, itemId, times }) };
}

const RECORDS = `SELECT ${recordColumns(DIALECT, { ref: "?1", queue: "?2", signature: "?3" })}`;
