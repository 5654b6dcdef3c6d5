/** Events: written by the step that makes the change, read by cursor. */
import type { EventQuery } from "../../../src/engine.ts";
import type { Event } from "../../../src/item/event.ts";
import { isCounted } from "../../../src/item/settlement.ts";
import { countUp } from "./counters.ts";
import { frozenCopy, type Store } from "./store.ts";

/** Writes an event with the current time and the next id. */
export function record(store: Store, event: Omit<Event, "id" | "at">): void {
  store.events.push(frozenCopy({ id: store.events.length + 1, at: store.now, ...event }));
  const queue = isCounted(event.type) ? store.queues.get(event.queue ?? "") : undefined;
  if (queue) countUp(queue, [event.type]);
}

/** Oldest first. All conditions must match; `since` is inclusive, `after` is not. */
export function listEvents(store: Store, query: EventQuery): readonly Event[] {
  const since = query.since ?? Number.NEGATIVE_INFINITY;
  const wanted = (event: Event) =>
    event.id > query.after &&
    event.at >= since &&
    (query.queue === undefined || event.queue === query.queue) &&
    (query.types === undefined || query.types.includes(event.type));
  return store.events.filter(wanted).slice(0, query.limit);
}
