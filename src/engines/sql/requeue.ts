/** Requeues letters as new: creates a ready item with the data of each letter, and discards the letter. */
import { rankOf } from "../../item/item.ts";
import type { Resolution } from "../../item/letter.ts";
import { type LetterStep, newIdOf, newNameOf, sentAnewAs } from "../../item/operation.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { nextPosition } from "./jobs.ts";
import { type Bulk, discardLetters } from "./resolved-letters.ts";

/** The item that replaces a letter. */
export interface Requeued {
  readonly ref: number;
  readonly itemId: string;
}

type Given = Pick<LetterStep, "data" | "priority">;

/** Returns the new items in the order of the letters; `given` overrides their data and priority. */
export function* requeueLetters(
  bulk: Bulk,
  given: readonly Given[],
  by: Pick<Resolution, "author" | "operationId">,
): Step<readonly Requeued[]> {
  const { db, deltas, queue, letters } = bulk;
  const origins = yield* readOrigins(
    db,
    letters.map(({ ref }) => ref),
  );
  const named = nameThem(origins, yield* takenIds(db, queue, origins));
  const refs = yield* db.takeRefs(named.length);
  const items = named.map((item, at) => ({ ...item, ref: refs[at] ?? 0, given: given[at] ?? {} }));
  yield* insertItems(db, queue, items);
  deltas.queue(queue, "ready", items.length);
  const reason = items.map(({ itemId }) => sentAnewAs(itemId));
  yield* discardLetters(bulk, { at: db.now, ...by, reason });
  return items;
}

/** A letter's item, with the fields that the new item takes over. */
interface Origin {
  readonly origin: number;
  readonly item_id: string;
  readonly priority: number;
  readonly ordering_key: string | null;
  readonly name: string | null;
  readonly data: string;
  readonly options: string | null;
}

function* readOrigins(db: Db, refs: readonly number[]): Step<readonly Origin[]> {
  const rows = yield* db.all<Origin>(
    `SELECT i.ref AS origin, i.item_id, i.priority, i.ordering_key, p.name, p.data, p.options
       FROM items i JOIN payloads p ON p.ref = i.ref WHERE ${db.sql.among("i.ref", "?")}`,
    refs,
  );
  const found = new Map(rows.map((row) => [row.origin, row]));
  return refs.map((ref) => {
    const row = found.get(ref);
    assert(row, "a letter that is requeued as new has no data");
    return row;
  });
}

/** Returns the ids in the queue that consist of one of these items' ids and a suffix that starts with `~`. */
function* takenIds(db: Db, queue: number, origins: readonly Origin[]): Step<Set<string>> {
  const ranges = db.sql.relation(
    "o",
    { low: "text", high: "text" },
    origins.map(({ item_id: id }) => [`${id}~`, `${id}\u007f`]),
  );
  const rows = yield* db.all<{ item_id: string }>(
    `SELECT i.item_id FROM ${ranges.sql}
       ${db.sql.joinInOrder} items i ON i.queue = ? AND i.item_id > o.low AND i.item_id < o.high`,
    ...ranges.values,
    queue,
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
  readonly given: Given;
}

function* insertItems(db: Db, queue: number, items: readonly NewRow[]): Step<void> {
  const next = yield* nextPosition(db, queue);
  const made = yield* db.insert(
    "items (ref, queue, item_id, position, state, due_at, priority, ordering_key, origin, attempts, attempts_counted, lost_count, revision, redrives, purged)",
    items.map(({ ref, itemId, priority, ordering_key, origin, given }, at) => [
      ...[ref, queue, itemId, next + at, "ready", db.now],
      ...[given.priority === undefined ? priority : rankOf(given.priority), ordering_key, origin],
      ...[0, 0, 0, 1, 0, 0],
    ]),
    "ON CONFLICT DO NOTHING",
  );
  if (made < items.length) throw db.lostRace("an item was added under the id of a letter that is requeued");
  yield* db.insert(
    "payloads (ref, data, name, options)",
    items.map(({ ref, given, data, name, item_id, options }) => [
      ref,
      given.data === undefined ? data : stringifyJson(given.data),
      newNameOf(name, item_id),
      options,
    ]),
  );
  yield* db.offer(items.map(({ ref }) => ref));
}
