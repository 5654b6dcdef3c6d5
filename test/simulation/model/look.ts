/** Reads queues, items and attempts. Changes nothing. */
import type { ItemQuery, QueueCounts } from "../../../src/engine.ts";
import type { Attempt, Item } from "../../../src/item/item.ts";
import type { Amendment, LetterNote } from "../../../src/item/letter.ts";
import { compact } from "../../../src/std/json.ts";
import { type Row, requireQueue, type Store } from "./store.ts";

/** `job_not_found` for an unknown queue, which is not an empty one. */
export function count(store: Store, queueName: string): QueueCounts {
  const { counts, letters, resolved, purged, evicted, attempts } = requireQueue(store, queueName);
  const total = Object.values(counts).reduce((sum, each) => sum + each, 0);
  return { ...counts, total, letters, resolved, purged, evicted, attempts };
}

/** An item with exactly that id precedes those that only start with it; otherwise by age. */
export function findItems(
  store: Store,
  idOrPrefix: string,
  options: { readonly queue?: string; readonly limit: number },
): readonly Item[] {
  return store.rows
    .filter((row) => row.itemId.startsWith(idOrPrefix))
    .filter((row) => options.queue === undefined || row.queue.name === options.queue)
    .sort((a, b) => Number(b.itemId === idOrPrefix) - Number(a.itemId === idOrPrefix) || a.ref - b.ref)
    .slice(0, options.limit)
    .map(itemOf);
}

/** In order of their age. */
export function listItems(store: Store, query: ItemQuery): readonly Item[] {
  const { queue, states, itemIds, after = 0, limit } = query;
  const isNamed = itemIds === undefined ? () => true : ({ itemId }: Row) => itemIds.includes(itemId);
  return [...requireQueue(store, queue).byId.values()]
    .filter((row) => row.ref > after && (states === undefined || states.includes(row.state)) && isNamed(row))
    .slice(0, limit)
    .map(itemOf);
}

/** Oldest first. */
export function listNotes(store: Store, ref: number): readonly LetterNote[] {
  return [...(store.rows[ref - 1]?.notes ?? [])];
}

/** Oldest first. */
export function listAttempts(store: Store, ref: number): readonly Attempt[] {
  return (store.rows[ref - 1]?.attempts ?? []).map((attempt) => ({ ...attempt }));
}

/** Oldest first. */
export function listAmendments(store: Store, ref: number): readonly Amendment[] {
  return [...(store.rows[ref - 1]?.amendments ?? [])];
}

function itemOf(row: Row): Item {
  const { offspring } = row;
  return compact({
    ref: row.ref,
    queue: row.queue.name,
    itemId: row.itemId,
    data: row.data,
    state: row.state,
    dueAt: row.dueAt,
    attempts: row.started,
    attemptsCounted: row.attemptsCounted,
    lostCount: row.lostCount,
    revision: row.revision,
    redriveCount: row.redriveCount,
    name: row.name,
    priority: row.priority,
    expiresAt: row.expiresAt,
    orderingKey: row.orderingKey,
    requeuedFrom: row.origin?.itemId,
    requeuedAs: offspring.length > 0 ? offspring.map(({ itemId }) => itemId) : undefined,
  });
}
