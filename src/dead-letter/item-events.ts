/**
 * The events of one item, found without reading all that happened. An event is written in the step of the change it
 * tells of, with that step's time, and ids rise with time: so each moment of an item's life that is known leads to its
 * place among the events by bisection.
 */
import type { Engine } from "../engine.ts";
import type { Event } from "../item/event.ts";

/** How many events of one moment are looked at. A step of a busy runner tells of many items. */
const LOOK_AT_MAX = 4000;
/** The first page is small, for most steps are; where more was told of, each page is larger than the one before. */
const PAGE = 100;
const GROWTH = 4;
const MOMENTS_MAX = 32;

/** The events of the item at the latest of these moments, oldest first. */
export async function eventsAt(
  engine: Engine,
  { queue, itemId }: { readonly queue: string; readonly itemId: string },
  moments: readonly number[],
): Promise<readonly Event[]> {
  const latest = [...new Set(moments)].sort((a, b) => a - b).slice(-MOMENTS_MAX);
  if (engine.can.findItemEvents) return askedFor(engine, { queue, itemId }, latest);
  const newest = await engine.newestEvent();
  const found = new Map<number, Event>();
  let after = 0;
  for (const at of latest) {
    after = await lastBefore(engine, { queue, at, after, newest });
    for await (const event of eventsUpTo(engine, { queue, after, at })) {
      if (event.itemId === itemId) found.set(event.id, event);
    }
  }
  return [...found.values()].sort((a, b) => a.id - b.id);
}

/** The store finds them itself. */
async function askedFor(
  engine: Engine,
  item: { readonly queue: string; readonly itemId: string },
  moments: readonly number[],
): Promise<readonly Event[]> {
  const { queue, itemId } = item;
  const found = new Map<number, Event>();
  for (const at of moments) {
    const events = await engine.listEvents({ queue, itemId, since: at, until: at, after: 0, limit: PAGE });
    for (const event of events) found.set(event.id, event);
  }
  return [...found.values()].sort((a, b) => a.id - b.id);
}

async function* eventsUpTo(
  engine: Engine,
  { queue, after, at }: { queue: string; after: number; at: number },
): AsyncGenerator<Event> {
  let cursor = after;
  let limit = PAGE;
  for (let looked = 0; looked < LOOK_AT_MAX; looked += limit / GROWTH) {
    const page = await engine.listEvents({ queue, after: cursor, limit });
    for (const event of page) {
      if (event.at > at) return;
      yield event;
    }
    if (page.length < limit) return;
    limit *= GROWTH;
    cursor = page.at(-1)?.id ?? cursor;
  }
}

/** An id after which the queue's events are of that time or later. */
async function lastBefore(
  engine: Engine,
  { queue, at, after, newest }: { queue: string; at: number; after: number; newest: number },
): Promise<number> {
  let [low, high] = [after, newest];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [next] = await engine.listEvents({ queue, after: middle, limit: 1 });
    if (next === undefined || next.at >= at) high = middle;
    else low = next.id;
  }
  return low;
}
