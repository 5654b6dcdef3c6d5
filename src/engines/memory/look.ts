/** Looks at queues, items and attempts. Changes nothing. */
import type { ItemQuery, ItemResult, QueueCounts, StoreInfo } from "../../engine.ts";
import { compact } from "../../item/failure.ts";
import type { Attempt, Item } from "../../item/item.ts";
import type { Amendment, LetterNote } from "../../item/letter.ts";
import { type Row, requireQueue, type Store } from "./store.ts";

/** `job_not_found` for a queue that is not there, which is something else than an empty one. */
export function count(store: Store, queueName: string): QueueCounts {
  const { counts, letters, resolved, purged, evicted, attempts } = requireQueue(store, queueName);
  const total = Object.values(counts).reduce((sum, each) => sum + each, 0);
  return { ...counts, total, letters, resolved, purged, evicted, attempts };
}

/** An item with exactly that id comes before those that only start with it; otherwise by age. */
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

/** Of the done items, in order of their age. */
export function listResults(
  store: Store,
  queue: string,
  page: { readonly after: number; readonly limit: number },
): readonly ItemResult[] {
  return store.rows
    .filter((row) => row.queue.name === queue && row.state === "done" && row.ref > page.after)
    .slice(0, page.limit)
    .map((row) => ({ ref: row.ref, itemId: row.itemId, result: row.attempts.at(-1)?.result ?? null }));
}

/** Oldest first. */
export function listAttempts(store: Store, ref: number): readonly Attempt[] {
  return (store.rows[ref - 1]?.attempts ?? []).map((attempt) => ({ ...attempt }));
}

/** Oldest first. */
export function listAmendments(store: Store, ref: number): readonly Amendment[] {
  return [...(store.rows[ref - 1]?.amendments ?? [])];
}

/** What is in the store. Its letters are those that wait. */
export function info(store: Store): StoreInfo {
  const queues = [...store.queues.values()];
  return {
    engine: "memory",
    location: store.url,
    schemaVersion: 1,
    foundVersion: 0,
    bytes: 0,
    jobs: store.jobs.size,
    items: store.rows.filter(() => true).length, // without the places of deleted ones
    letters: queues.reduce((sum, { letters }) => sum + letters, 0),
    attempts: store.rows.reduce((sum, row) => sum + row.attempts.length, 0),
    events: store.events.filter(() => true).length,
  };
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
    spent: row.spent,
    losses: row.losses,
    revision: row.revision,
    redriveCount: row.redriveCount,
    name: row.name,
    priority: row.priority,
    expiresAt: row.expiresAt,
    lane: row.lane,
    requeuedFrom: row.origin?.itemId,
    requeuedAs: offspring.length > 0 ? offspring.map(({ itemId }) => itemId) : undefined,
  });
}
