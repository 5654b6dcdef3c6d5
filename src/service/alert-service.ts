/** The alert service: checks on a schedule, after quiet hours and after relevant events. One message covers a burst. */
import type { Engine } from "../engine.ts";
import { isStoreTrouble } from "../errors.ts";
import type { EventType } from "../item/event.ts";
import { systemClock } from "../std/clock.ts";
import { isQuiet, nextCheckAt, quietUntil } from "./alert-schedule.ts";
import type { WatchSettings } from "./alert-settings.ts";
import type { CheckReport, Watcher, WatcherOptions } from "./alert-watcher.ts";

type WatchingOptions = Pick<WatcherOptions, "settings" | "clock"> & {
  readonly stop: AbortSignal;
  readonly onChecked?: (report: CheckReport) => void;
};

export async function keepWatching(watcher: Watcher, options: WatchingOptions): Promise<void> {
  const { settings, stop, clock = systemClock, onChecked } = options;
  while (!stop.aborted) {
    const report = await watcher.check();
    onChecked?.(report);
    const hasArrival = arrivalsAfter(report, watcher);
    await untilDue(await nextDueAt(settings, clock.now()), { settings, stop, clock, hasArrival });
  }
}

async function nextDueAt(settings: WatchSettings, now: number): Promise<number> {
  const { quietHours } = settings;
  const scheduled = (await nextCheckAt(settings, now)) ?? Number.POSITIVE_INFINITY;
  const quietEnd = quietHours && isQuiet(quietHours, now) ? quietUntil(quietHours, now) : scheduled;
  return Math.min(scheduled, quietEnd);
}

const POLL_MS = 1000;

async function untilDue(
  dueAt: number,
  {
    settings,
    stop,
    clock,
    hasArrival,
  }: Required<Pick<WatchingOptions, "settings" | "stop" | "clock">> & {
    hasArrival: () => Promise<boolean>;
  },
): Promise<void> {
  while (!stop.aborted && clock.now() < dueAt) {
    const leftMs = Math.min(dueAt - clock.now(), TIMER_MS_MAX);
    if (!settings.onArrival) await clock.sleep(leftMs, stop);
    else {
      await clock.sleep(Math.min(POLL_MS, leftMs), stop);
      if (stop.aborted || !(await hasArrival())) continue;
      return clock.sleep(settings.gatherMs, stop);
    }
  }
}

const TIMER_MS_MAX = 2 ** 31 - 1;

/** Event types that can change the result of a rule. */
const RELEVANT_EVENTS: readonly EventType[] = [
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

/** Returns whether a relevant event arrived since the check, or the store became available or unavailable. */
function arrivalsAfter({ trouble }: CheckReport, watcher: Watcher): () => Promise<boolean> {
  const wasDown = trouble !== undefined;
  let after = watcher.eventsSeen;
  const hasEvent = async (engine: Engine) => {
    const newest = await engine.newestEvent();
    if (newest <= after) return false;
    const [first] = await engine.listEvents({ types: RELEVANT_EVENTS, after, limit: 1 });
    if (first === undefined) after = newest; // irrelevant events are not read again
    return first !== undefined;
  };
  return async () => {
    try {
      return (await hasEvent(await watcher.engine())) || wasDown;
    } catch (error) {
      if (!isStoreTrouble(error)) throw error;
      return !wasDown;
    }
  };
}
