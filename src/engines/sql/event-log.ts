/** The events of one step, in their order, until they are written together. */
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

  /** The events since the last call, for who writes them. */
  take(): readonly EventRun[] {
    const runs = this.#runs;
    this.#runs = [];
    return runs;
  }
}

/** For a step that has one event. */
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

/** An event from its row. */
export function eventOf(row: object): Event {
  return objectOf<Event>(row, { json: ["data"] });
}
