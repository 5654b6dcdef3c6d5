/**
 * Times: relative in lists and exact in the tooltip, in the viewer's time zone or UTC, as chosen for the
 * whole console.
 */
import { useSyncExternalStore } from "react";

const TICK_MS = 5000;
let now = Date.now();
const listeners = new Set<() => void>();
setInterval(() => {
  now = Date.now();
  for (const listener of listeners) listener();
}, TICK_MS);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;

export function relativeText(at: number, from: number): string {
  const distance = Math.abs(from - at);
  const [unit, ms] = UNITS.find(([, size]) => distance >= size) ?? ["s", 1000];
  const amount = `${Math.max(0, Math.floor(distance / ms))} ${unit}`;
  // The page's clock is updated only once per tick, so a recent event may seem to be in the future.
  return at > from + TICK_MS + 1000 ? `in ${amount}` : at > from ? "now" : `${amount} ago`;
}

/** Formats a duration: `850 ms`, `1.4 s`, `3 min 20 s`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const [large, small] =
    ms < 3_600_000 ? [60_000, 1000] : ms < 86_400_000 ? [3_600_000, 60_000] : [86_400_000, 3_600_000];
  const [first, second] = ms < 3_600_000 ? ["min", "s"] : ms < 86_400_000 ? ["h", "min"] : ["d", "h"];
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${first}${rest > 0 ? ` ${rest} ${second}` : ""}`;
}

const ZONE_KEY = "redrive.zone";

export type Zone = "local" | "utc";
let zone: Zone = localStorage.getItem(ZONE_KEY) === "utc" ? "utc" : "local";

export function useZone(): readonly [Zone, (next: Zone) => void] {
  const current = useSyncExternalStore(subscribe, () => zone);
  return [current, setZone];
}

function setZone(next: Zone): void {
  zone = next;
  localStorage.setItem(ZONE_KEY, next);
  for (const listener of listeners) listener();
}

export function exactText(at: number, inZone: Zone): string {
  const format = new Intl.DateTimeFormat("en-GB", {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(inZone === "utc" && { timeZone: "UTC" }),
  });
  const name = inZone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
  return `${format.format(at)} ${name}`;
}

/** The time of day in milliseconds, with the date unless it is `today`. */
export function clockText(at: number, inZone: Zone, today: number): string {
  const zoneOption = inZone === "utc" && { timeZone: "UTC" };
  const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...zoneOption });
  const clock = new Intl.DateTimeFormat("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    ...zoneOption,
  });
  const date = day.format(at) === day.format(today) ? "" : `${day.format(at)} `;
  return `${date}${clock.format(at)}`;
}

const DAY_MS = 86_400_000;

function formatIn(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-GB", { ...options, ...(zone === "utc" && { timeZone: "UTC" }) });
}

/** A time below an axis: the time of day within a day or two, otherwise the date. */
export function tickText(at: number, spanMs: number, inZone: Zone): string {
  const isShort = spanMs <= 2 * DAY_MS;
  return formatIn(
    inZone,
    isShort ? { hour: "2-digit", minute: "2-digit" } : { day: "numeric", month: "short" },
  ).format(at);
}

/** From when to when an interval lasted, e.g. `19 Nov, 14:00 – 15:00`. */
export function intervalText(from: number, to: number, inZone: Zone): string {
  const day = formatIn(inZone, { day: "numeric", month: "short" });
  if (to - from >= DAY_MS) return day.format(from);
  const seconds = to - from < 60_000 && ({ second: "2-digit" } as const);
  const clock = formatIn(inZone, { hour: "2-digit", minute: "2-digit", ...seconds });
  return `${day.format(from)}, ${clock.format(from)} – ${clock.format(to)}`;
}

interface TimeProps {
  readonly at: string | number | null | undefined;
  /** Shows the exact time instead of the relative one. */
  readonly exact?: boolean;
  /** Shows the time of day, for events in quick succession. */
  readonly clock?: boolean;
}

export function Time({ at, exact = false, clock = false }: TimeProps) {
  const current = useNow();
  const [inZone] = useZone();
  const ms = typeof at === "string" ? Date.parse(at) : at;
  if (ms === null || ms === undefined || Number.isNaN(ms)) return <span className="text-muted">–</span>;
  const precise = exactText(ms, inZone);
  const relative = relativeText(ms, current);
  return (
    <time
      dateTime={new Date(ms).toISOString()}
      title={exact ? relative : clock ? `${precise}, ${relative}` : precise}
      className="whitespace-nowrap"
    >
      {exact ? precise : clock ? clockText(ms, inZone, current) : relative}
    </time>
  );
}
