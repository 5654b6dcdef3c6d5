/** Collects the events of one step, in order, until they are written together. */
import {
  addToRuns,
  type Event,
  type EventDraft,
  type EventRun,
  type EventSubject,
} from "../../item/event.ts";
import type { Db, Step } from "./db.ts";
import { objectOf } from "./row.ts";

export class EventLog {
  readonly at: number;
  #runs: EventRun[] = [];

  constructor(at: number) {
    this.at = at;
  }

  add(draft: EventDraft, subject: EventSubject): void {
    addToRuns(this.#runs, draft, subject);
  }

  /** Returns and removes the events collected so far. */
  take(): readonly EventRun[] {
    const runs = this.#runs;
    this.#runs = [];
    return runs;
  }
}

/** Writes a single event. */
export function* writeEvent(
  db: Db,
  draft: EventDraft,
  subject: EventSubject,
  at: number = db.now,
): Step<void> {
  const events = new EventLog(at);
  events.add(draft, subject);
  yield* db.writeEvents(events);
}

export function eventOf(row: object): Event {
  return objectOf<Event>(row, { json: ["data"] });
}
