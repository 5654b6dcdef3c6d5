/** A letter that is sent anew as another item in SQLite: the two name each other, and the letter is discarded. */

import { type Priority, priorityOf } from "../../item/item.ts";
import { newIdOf, newNameOf, sentAnewAs } from "../../item/operation.ts";
import { assert } from "../../std/assert.ts";
import { compact, type Json, parseJson } from "../../std/json.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { type Intake, insertItem } from "./intake.ts";
import { type BulkLetter, discardLetters } from "./resolved-letters.ts";

interface Requeue {
  readonly letter: BulkLetter;
  readonly deltas: CounterDeltas;
  readonly operationId: string;
  readonly author: string;
  /** Instead of the letter's. */
  readonly data?: Json;
  readonly priority?: Priority;
}

interface Sent {
  readonly item_id: string;
  readonly priority: number;
  readonly lane: string | null;
  readonly data: string;
  readonly name: string | null;
}

/** The id of the other item. The event of the letter is the caller's. */
export function requeueLetter(intake: Intake, requeue: Requeue): string {
  const { letter, deltas, operationId, author, data, priority } = requeue;
  const { session, queue, now } = intake;
  const { ref } = letter;
  const row = session.get<Sent>(
    `SELECT i.item_id, i.priority, i.lane, p.data, p.name FROM items i JOIN payloads p ON p.ref = i.ref WHERE i.ref = ?`,
    ref,
  );
  assert(row, `letter ${letter.no} has no data`);
  const itemId = newIdOf(row.item_id, (id) => isTaken(intake, id));
  const item = compact({
    itemId,
    data: data ?? (parseJson(row.data) as Json),
    name: newNameOf(row.name, row.item_id),
    priority: priority ?? priorityOf(row.priority),
    lane: row.lane ?? undefined,
  });
  insertItem(intake, item, countItems(intake), ref);
  deltas.queue(queue, "ready", 1);
  const by = { at: now, author, reason: sentAnewAs(itemId), operationId };
  discardLetters({ session, deltas, queue, letters: [letter] }, by);
  return itemId;
}

function isTaken({ session, queue }: Intake, itemId: string): boolean {
  return session.get("SELECT ref FROM items WHERE queue = ? AND item_id = ?", queue, itemId) !== undefined;
}

/** Its place among the items of its queue: one more than the last, which the counters do not know yet. */
function countItems({ session, queue }: Intake): number {
  const sql = "SELECT max(place) + 1 AS place FROM items WHERE queue = ?";
  return session.get<{ place: number | null }>(sql, queue)?.place ?? 0;
}
