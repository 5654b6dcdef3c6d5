/** The alert service: checks on a schedule, after quiet hours and after relevant events. One message covers a burst. */
import type { Engine } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import { type Clock, systemClock } from "../std/clock.ts";
import { isQuiet, nextCheckAt, quietUntil } from "./alert-schedule.ts";
import type { WatchSettings } from "./alert-settings.ts";
import type { CheckReport, Watcher, WatcherOptions } from "./alert-watcher.ts";

type WatchingOptions = Pick<WatcherOptions, "settings" | "clock"> & {
  readonly stop: AbortSignal;
  readonly onChecked?: (report: CheckReport) => void;
};

export async function keepWatching(watcher: Watcher, options: WatchingOptions): Promise<void> {
  const { settings, stop, clock = systemClock, onChecked } = options;
  const arrivals = new Arrivals(watcher);
  while (!stop.aborted) {
    const report = await watcher.check();
    onChecked?.(report);
    arrivals.seen(report);
    const dueAt = await nextDueAt(settings, clock.now());
    await untilDue(dueAt, { settings, stop, clock, arrivals });
  }
}

async function nextDueAt(settings: WatchSettings, now: number): Promise<number> {
  const { quietHours } = settings;
  const scheduled = (await nextCheckAt(settings, now)) ?? Number.POSITIVE_INFINITY;
  const quietEnd = quietHours && isQuiet(quietHours, now) ? quietUntil(quietHours, now) : scheduled;
  return Math.min(scheduled, quietEnd);
}

const LOOK_MS = 1000;

type Waiting = { settings: WatchSettings; stop: AbortSignal; clock: Clock; arrivals: Arrivals };

async function untilDue(dueAt: number, { settings, stop, clock, arrivals }: Waiting): Promise<void> {
  while (!stop.aborted && clock.now() < dueAt) {
    const leftMs = Math.min(dueAt - clock.now(), TIMER_MS_MAX);
    if (!settings.onArrival) await clock.sleep(leftMs, stop);
    else {
      await clock.sleep(Math.min(LOOK_MS, leftMs), stop);
      if (stop.aborted || !(await arrivals.hasCome())) continue;
      return clock.sleep(settings.gatherMs, stop);
    }
  }
}

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Event types that can change the result of a rule. */
const TELLING_EVENTS: readonly EventType[] = [
  "dlq_item_added",
  "dlq_item_removed",
  "group_opened",
  "group_reopened",
  "group_resolved",
  "group_changed",
  "breaker_opened",
  "breaker_closed",
  "store_write_failed",
];

class Arrivals {
  readonly #watcher: Watcher;
  #after = 0;
  #isDown = false;

  constructor(watcher: Watcher) {
    this.#watcher = watcher;
  }

  seen({ trouble }: CheckReport): void {
    this.#after = this.#watcher.eventsSeen;
    this.#isDown = trouble !== undefined;
  }

  /** Whether a relevant event has arrived, or the store became available or unavailable. */
  async hasCome(): Promise<boolean> {
    try {
      const engine = await this.#watcher.engine();
      return (await this.#hasEvent(engine)) || this.#isDown;
    } catch (error) {
      if (!isStoreTrouble(error)) throw error;
      return !this.#isDown;
    }
  }

  /** Remembers the newest event, so that irrelevant events are not read again. */
  async #hasEvent(engine: Engine): Promise<boolean> {
    const newest = await engine.newestEvent();
    if (newest <= this.#after) return false;
    const [first] = await engine.listEvents({ types: TELLING_EVENTS, after: this.#after, limit: 1 });
    if (first === undefined) this.#after = newest;
    return first !== undefined;
  }
}
