/**
 * Reads new events once for all clients and keeps the latest ones in memory. Each client has only a position:
 * it reads from memory while it keeps up, and from the store when it falls behind, so it never misses an
 * event.
 */
import type { Engine } from "../engine.ts";
import { type Event, eventToJson } from "../item/event.ts";
import { WakeSignal } from "../runner/poll-schedule.ts";
import type { Clock } from "../std/clock.ts";
import type { Json } from "../std/json.ts";
import { messageOf } from "../std/thrown.ts";
import { textOf } from "./event-stream.ts";
import type { RequestLog } from "./request-log.ts";

export interface EventFilter {
  readonly queue?: string;
  readonly types?: readonly string[];
  /** Masks an event for a role that may not see everything. */
  readonly mask?: (event: Json) => Json;
}

const POLL_MS = 200;
const PAGE_MAX = 1000;
const KEPT_MAX = 5000;

interface KeptEvent {
  readonly id: number;
  readonly event: Event;
  readonly text: string;
}

export class EventHub {
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #log: RequestLog | undefined;
  #kept: KeptEvent[] = [];
  /** All events up to this id were read. */
  #position = 0;
  /** Events after this id are in memory. */
  #floor = 0;
  #clients = 0;
  #polling: Promise<void> | undefined;
  readonly #waiting = new Set<WakeSignal>();

  constructor(engine: Engine, clock: Clock, log?: RequestLog) {
    this.#log = log;
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Yields the matching events after the id as serialized text, one or more events at a time. */
  async *follow(after: number, filter: EventFilter, stop: AbortSignal): AsyncGenerator<string> {
    const wake = new WakeSignal();
    const end = () => wake.notify();
    stop.addEventListener("abort", end, { once: true });
    this.#clients += 1;
    this.#waiting.add(wake);
    this.#start();
    try {
      for (let at = after; !stop.aborted; ) {
        const { text, last } = await this.#after(at, filter);
        if (text !== "") yield text;
        if (last === at) await wake.wait(IDLE_MS, this.#clock);
        at = last;
      }
    } finally {
      stop.removeEventListener("abort", end);
      this.#clients -= 1;
      this.#waiting.delete(wake);
    }
  }

  async #after(at: number, filter: EventFilter): Promise<{ readonly text: string; readonly last: number }> {
    if (at >= this.#floor && this.#position > 0) {
      const fresh = this.#kept.filter(({ id }) => id > at);
      const matching = fresh.filter(({ event }) => isWanted(event, filter));
      return {
        text: matching.map((one) => shownTo(filter, one)).join(""),
        last: Math.max(at, this.#position),
      };
    }
    const page = await this.#engine.listEvents({ after: at, limit: PAGE_MAX });
    const matching = page.filter((event) => isWanted(event, filter));
    return {
      text: matching.map((event) => shownTo(filter, keptOf(event))).join(""),
      last: page.at(-1)?.id ?? at,
    };
  }

  /** Polls while there are clients. Store errors are retried; clients keep their positions. */
  #start(): void {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
      this.#kept = [];
      this.#position = 0;
      this.#floor = 0;
    });
  }

  async #poll(): Promise<void> {
    while (this.#clients > 0) {
      await this.#readNew().catch((error: unknown) => {
        this.#log?.({ level: "error", event: "events_unreadable", why: messageOf(error) });
      });
      await this.#clock.sleep(POLL_MS);
    }
  }

  async #readNew(): Promise<void> {
    if (this.#position === 0) {
      this.#position = await this.#engine.newestEvent();
      this.#floor = this.#position;
    }
    for (;;) {
      const page = await this.#engine.listEvents({ after: this.#position, limit: PAGE_MAX });
      const last = page.at(-1);
      if (last === undefined) return;
      this.#kept.push(...page.map(keptOf));
      const dropped = this.#kept.splice(0, Math.max(0, this.#kept.length - KEPT_MAX)).at(-1);
      this.#floor = dropped?.id ?? this.#floor;
      this.#position = last.id;
      for (const wake of this.#waiting) wake.notify();
      if (page.length < PAGE_MAX) return;
    }
  }
}

/** A client that missed a notification checks again after this time. */
const IDLE_MS = 1000;

function keptOf(event: Event): KeptEvent {
  return { id: event.id, event, text: textOf({ id: String(event.id), data: eventToJson(event) }) };
}

function shownTo({ mask }: EventFilter, { id, event, text }: KeptEvent): string {
  return mask === undefined ? text : textOf({ id: String(id), data: mask(eventToJson(event)) });
}

function isWanted({ queue, type }: Event, filter: EventFilter): boolean {
  if (filter.queue !== undefined && filter.queue !== queue) return false;
  return filter.types === undefined || filter.types.includes(type);
}
