/** When only critical alerts are told, by the clock on the wall of a time zone. Pure. */
import type { QuietHours } from "./settings.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** Whether it is quiet at this time. Hours that end before they begin go over midnight. */
export function isQuiet({ from, to, timeZone }: QuietHours, at: number): boolean {
  const minute = minuteOfDay(at, timeZone);
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** In small steps, because on some days the clock is put forward or back on the way. */
const STEP_MINUTES = 15;

/** When it is quiet no longer. */
export function quietUntil(hours: QuietHours, at: number): number {
  let end = at;
  while (isQuiet(hours, end)) {
    const minutes = (hours.to - minuteOfDay(end, hours.timeZone) + DAY_MINUTES) % DAY_MINUTES;
    end = Math.floor(end / MINUTE_MS) * MINUTE_MS + Math.max(1, Math.min(minutes, STEP_MINUTES)) * MINUTE_MS;
  }
  return end;
}

/** `22:30` as minutes since midnight; undefined when it is no time. */
export function parseTimeOfDay(text: string): number | undefined {
  const match = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
  const [hours, minutes] = [Number(match?.[1]), Number(match?.[2])];
  return match && hours < 24 && minutes < 60 ? hours * 60 + minutes : undefined;
}

/** Whether there is a time zone of that name. */
export function isTimeZone(name: string): boolean {
  try {
    formatterOf(name);
    return true;
  } catch {
    return false; // a RangeError: it is not one
  }
}

function minuteOfDay(at: number, timeZone: string | undefined): number {
  const [hours = 0, minutes = 0] = formatterOf(timeZone).format(at).split(":").map(Number);
  return hours * 60 + minutes;
}

const formatters = new Map<string | undefined, Intl.DateTimeFormat>();

/** Making one costs far more than using it. */
function formatterOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known) return known;
  const options = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const made = new Intl.DateTimeFormat("en-GB", options);
  formatters.set(timeZone, made);
  return made;
}
