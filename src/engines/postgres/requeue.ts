/** Letters that are sent anew: for each another item with its data comes into the line, and the letter is discarded. */

import { rankOf } from "../../item/item.ts";
import type { Resolution } from "../../item/letter.ts";
import type { LetterStep } from "../../item/operation.ts";
import { newIdOf, newNameOf, sentAnewAs } from "../../item/operation.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { takeRefs } from "./import.ts";
import { joinLine } from "./ready-items.ts";
import { type Bulk, discardLetters } from "./resolved-letters.ts";
import type { Tx } from "./session.ts";
import { lostRace } from "./trouble.ts";

/** The item that took a letter's place. */
export interface Requeued {
  readonly ref: number;
  readonly itemId: string;
}

/** In the order of the letters; `given` has what each other item has instead of what the letter's has. */
export async function requeueLetters(
  bulk: Bulk,
  given: readonly Pick<LetterStep, "data" | "priority">[],
  by: Pick<Resolution, "author" | "operationId">,
): Promise<readonly Requeued[]> {
  const { tx, deltas, queue, letters } = bulk;
  const origins = await readOrigins(
    tx,
    letters.map(({ ref }) => ref),
  );
  const made = nameThem(origins, await takenIds(tx, queue, origins));
  const refs = await takeRefs(tx, made.length);
  const items = made.map((item, at) => ({ ...item, ref: refs[at] ?? 0, given: given[at] ?? {} }));
  await insertItems(tx, queue, items);
  deltas.queue(queue, "ready", items.length);
  const reason = items.map(({ itemId }) => sentAnewAs(itemId));
  await discardLetters(bulk, { at: tx.now, ...by, reason });
  return items;
}

/** A letter's item, and what another one takes over from it. */
interface Origin {
  readonly origin: number;
  readonly item_id: string;
  readonly priority: number;
  readonly lane: string | null;
  readonly name: string | null;
  readonly data: string;
}

async function readOrigins(tx: Tx, refs: readonly number[]): Promise<readonly Origin[]> {
  const rows = await tx.all<Origin>(
    `SELECT i.ref AS origin, i.item_id, i.priority, i.lane, p.name, p.data
       FROM unnest(?::bigint[]) WITH ORDINALITY AS r (ref, place) JOIN items i ON i.ref = r.ref JOIN payloads p ON p.ref = i.ref
      ORDER BY r.place`,
    refs,
  );
  assert(rows.length === refs.length, "a letter that is sent anew has no data");
  return rows;
}

/** The ids of the queue that begin as those of these items, with a `~` after it. */
async function takenIds(tx: Tx, queue: number, origins: readonly Origin[]): Promise<Set<string>> {
  const rows = await tx.all<{ item_id: string }>(
    `SELECT i.item_id FROM unnest(?2::text[]) AS o (item_id)
       JOIN items i ON i.queue = ?1 AND i.item_id > o.item_id || '~' AND i.item_id < o.item_id || chr(127)`,
    queue,
    origins.map(({ item_id }) => item_id),
  );
  return new Set(rows.map((row) => row.item_id));
}

function nameThem(
  origins: readonly Origin[],
  taken: Set<string>,
): readonly (Origin & { readonly itemId: string })[] {
  return origins.map((origin) => {
    const itemId = newIdOf(origin.item_id, (id) => taken.has(id));
    taken.add(itemId);
    return { ...origin, itemId };
  });
}

interface NewRow extends Origin, Requeued {
  readonly given: Pick<LetterStep, "data" | "priority">;
}

async function insertItems(tx: Tx, queue: number, items: readonly NewRow[]): Promise<void> {
  const place = await tx.get<{ next: number }>(
    "SELECT ready + leased + held + done + dead + skipped + discarded AS next FROM queue_totals WHERE no = ?",
    queue,
  );
  const made = await tx.insert(
    "items (ref, queue, item_id, place, state, due_at, priority, lane, origin, attempts, spent, losses, revision, redrives, purged)",
    items.map(({ ref, itemId, priority, lane, origin, given }, at) => [
      ...[ref, queue, itemId, (place?.next ?? 0) + at, "ready", tx.now],
      ...[given.priority === undefined ? priority : rankOf(given.priority), lane, origin],
      ...[0, 0, 0, 1, 0, 0],
    ]),
    "ON CONFLICT DO NOTHING",
  );
  if (made < items.length) throw lostRace("an item was added under the id of a letter that is sent anew");
  await tx.insert(
    "payloads (ref, data, name)",
    items.map(({ ref, given, data, name, item_id }) => [
      ref,
      given.data === undefined ? data : stringifyJson(given.data),
      newNameOf(name, item_id),
    ]),
  );
  await joinLine(
    tx,
    items.map(({ ref }) => ref),
  );
}
