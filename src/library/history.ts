/** The events and the error log of a store, as async iterables. */
import * as z from "zod";
import { ERROR_ORIGINS, type ErrorOrigin } from "../item/error-log.ts";
import { EVENT_TYPES, type EventType, type Event as StoredEvent } from "../item/event.ts";
import { followErrors, readErrors } from "../queue/error-log.ts";
import * as t from "../std/check-input.ts";
import { compact, type JsonObject } from "../std/json.ts";
import type { Context } from "./context.ts";
import { type LetterFailure, letterFailure } from "./letter.ts";
import { oneOrMany, type Shape, signal, type Time, time } from "./values.ts";

/** One recorded change of an item, a letter, a group, a queue or a job. */
export interface Event {
  /** Rises with every event of the store, so it is also the cursor. */
  readonly id: number;
  readonly at: Date;
  readonly type: EventType;
  readonly queue?: string;
  /** The id of the item. */
  readonly item?: string;
  readonly attempt?: number;
  readonly data?: JsonObject;
}

/** Selects events. */
export interface EventQuery {
  readonly queue?: string;
  readonly types?: EventType | readonly EventType[];
  /** The id of an item. */
  readonly item?: string;
  readonly since?: Time;
  /** Only events with a higher id. With `follow`, default: the newest event; otherwise 0. */
  readonly after?: number;
  /** Waits for new events until the signal is aborted or the loop ends. Default false. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

const eventQuery = z.strictObject({
  queue: t.name.optional(),
  types: oneOrMany(EVENT_TYPES).optional(),
  item: t.name.optional(),
  since: time.optional(),
  after: t.count.optional(),
  follow: t.flag.optional(),
  signal: signal.optional(),
} satisfies Shape<EventQuery>);

const PAGE_MAX = 500;
const POLL_MS = 200;

/** Yields the events that match, oldest first. */
export function readEvents(context: Context, query: EventQuery): AsyncIterable<Event> {
  return pagesOfEvents(context, t.parseInput(eventQuery, query, { caller: "redrive.events", name: "query" }));
}

async function* pagesOfEvents(
  { engine, clock, closing }: Context,
  query: z.output<typeof eventQuery>,
): AsyncGenerator<Event> {
  const { queue, types, item, since, follow = false } = query;
  const stop = stopOf(closing, query.signal);
  let after = query.after ?? (follow && since === undefined ? await engine.newestEvent() : 0);
  while (!stop.aborted) {
    const page = await engine.listEvents({ after, limit: PAGE_MAX, ...compact({ queue, types, since }) });
    for (const event of page) if (item === undefined || event.itemId === item) yield eventOf(event);
    after = page.at(-1)?.id ?? after;
    if (page.length === PAGE_MAX) continue;
    if (!follow) return;
    await clock.sleep(POLL_MS, stop);
  }
}

/** Following ends when the store is closed, too. */
function stopOf(closing: AbortSignal, given: unknown): AbortSignal {
  return given === undefined ? closing : AbortSignal.any([closing, given as AbortSignal]);
}

function eventOf({ id, at, type, queue, itemId, attempt, data }: StoredEvent): Event {
  return { id, at: new Date(at), type, ...compact({ queue, item: itemId, attempt, data }) };
}

/** One failed attempt, or one error of a runner. */
export interface ErrorEntry {
  readonly id: number;
  readonly at: Date;
  readonly message: string;
  /** The event that recorded it, for example `attempt_failed`. */
  readonly event: EventType;
  readonly queue?: string;
  /** The id of the item. */
  readonly item?: string;
  readonly attempt?: number;
  /** Absent for errors of a runner and for purged items. */
  readonly failure?: LetterFailure;
}

/** Selects entries of the error log. */
export interface ErrorQuery {
  /** A queue or a job, or several. Default: all. */
  readonly queue?: string | readonly string[];
  /** The id of an item. */
  readonly item?: string;
  /** `work`: failures of handlers and commands; `runner`: errors of runners. Default: both. */
  readonly origin?: ErrorOrigin;
  readonly since?: Time;
  /**
   * Yields the newest page, oldest first, and then new entries until the signal is aborted. Default false.
   */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

const errorQuery = z.strictObject({
  queue: t.name
    .transform((queue) => [queue])
    .or(t.texts)
    .optional(),
  item: t.name.optional(),
  origin: t.oneOf(ERROR_ORIGINS).optional(),
  since: time.optional(),
  follow: t.flag.optional(),
  signal: signal.optional(),
} satisfies Shape<ErrorQuery>);

/** Yields the error log, newest first. */
export function readErrorLog(context: Context, query: ErrorQuery): AsyncIterable<ErrorEntry> {
  return pagesOfErrors(context, t.parseInput(errorQuery, query, { caller: "redrive.errors", name: "query" }));
}

async function* pagesOfErrors(
  { engine, clock, closing }: Context,
  query: z.output<typeof errorQuery>,
): AsyncGenerator<ErrorEntry> {
  const { queue: queues, item: itemId, origin, since, follow } = query;
  const stop = stopOf(closing, query.signal);
  const wanted = { limit: PAGE_MAX, ...compact({ queues, itemId, origin, since }) };
  if (follow) {
    for await (const entry of followErrors(engine, wanted, { stop, clock })) yield entryOf(entry);
    return;
  }
  for (let before: number | null | undefined; before !== null && !stop.aborted; ) {
    const page: Awaited<ReturnType<typeof readErrors>> = await readErrors(engine, {
      ...wanted,
      ...compact({ before }),
    });
    for (const entry of page.errors) yield entryOf(entry);
    before = page.next;
  }
}

function entryOf(entry: Awaited<ReturnType<typeof readErrors>>["errors"][number]): ErrorEntry {
  const { id, at, message, type: event, queue, itemId: item, attempt, failure } = entry;
  return {
    ...{ id, at: new Date(at), message, event },
    ...compact({ queue, item, attempt, failure: failure && letterFailure(failure) }),
  };
}
