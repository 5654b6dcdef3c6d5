/** The error log: the events of errors, with the failures of their attempts. */
import {
  ERROR_EVENTS,
  type ErrorEntry,
  type ErrorQuery,
  EVENTS_OF_ORIGIN,
  errorEntryOf,
} from "../../../src/item/error-log.ts";
import type { Event, EventType } from "../../../src/item/event.ts";
import type { Store } from "./store.ts";

/** Newest first. */
export function listErrors(store: Store, query: ErrorQuery): readonly ErrorEntry[] {
  const types: readonly EventType[] = query.origin ? EVENTS_OF_ORIGIN[query.origin] : ERROR_EVENTS;
  const isWanted = (event: Event) =>
    types.includes(event.type) &&
    event.id < (query.before ?? Number.POSITIVE_INFINITY) &&
    (query.queue === undefined || event.queue === query.queue) &&
    (query.itemId === undefined || event.itemId === query.itemId);
  return store.events
    .filter(isWanted)
    .reverse()
    .map((event) => errorEntryOf(event, recordOf(store, event)))
    .filter(({ at }) => at >= (query.since ?? Number.NEGATIVE_INFINITY))
    .slice(0, query.limit);
}

function recordOf({ queues }: Store, { queue = "", itemId = "", attempt = 0 }: Event) {
  return queues.get(queue)?.byId.get(itemId)?.attempts[attempt - 1] ?? {};
}
