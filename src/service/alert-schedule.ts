/** Decides what to send to a channel: new alerts, reminders, recoveries. Also handles the schedule and quiet hours. Pure. */
import { tryTo } from "../std/try-to.ts";
import type { AlertRule, QuietHours, WatchSettings } from "./alert-settings.ts";
import type { Alert, AlertState } from "./alert-state.ts";

/** Why an alert is sent. `passed`: the alert recovered before it could be sent. */
export type NotificationState = "raised" | "reminder" | "recovered" | "passed";

export type Notification = { readonly alert: Alert; readonly state: NotificationState };

/** The name under which the event log is a channel of every watcher. Configured channels cannot use this name. */
export const EVENT_LOG = "@events";

/** Returns the alerts to send, sorted by rule, then queue. In quiet hours, channels get only critical alerts. */
export function notificationsFor(
  channel: string,
  state: AlertState,
  settings: WatchSettings,
  at: number,
): readonly Notification[] {
  const quiet = channel !== EVENT_LOG && settings.quietHours && isQuiet(settings.quietHours, at);
  return settings.rules
    .filter((rule) => receives(channel, rule) && (!quiet || rule.severity === "critical"))
    .flatMap((rule) => ofRule(rule, channel, state, { at, recovery: settings.recovery }));
}

function receives(channel: string, { channels }: AlertRule): boolean {
  return channel === EVENT_LOG || channels === undefined || channels.includes(channel);
}

function ofRule(rule: AlertRule, channel: string, state: AlertState, now: { at: number; recovery: boolean }) {
  const manner = { ...now, ...mannerOf(rule, channel, now.recovery) };
  return Object.values(state.alerts)
    .filter((alert) => alert.rule === rule.name)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .flatMap((alert) => {
      const state =
        alert.recoveredAt === undefined ? stillWrong(alert, channel, manner) : over(alert, channel, manner);
      return state === null ? [] : [{ alert, state }];
    });
}

type Manner = { readonly coolDownMs: number; readonly recovery: boolean; readonly repeats: boolean };

/** The event log gets every alert once, and alerts for new groups are never repeated. */
function mannerOf({ coolDownMs, condition }: AlertRule, channel: string, recovery: boolean): Manner {
  if (channel === EVENT_LOG) return { coolDownMs: 0, recovery: true, repeats: false };
  return { coolDownMs, recovery, repeats: condition.kind !== "new_group" };
}

function stillWrong(
  { raisedAt, sent }: Alert,
  channel: string,
  { at, coolDownMs, repeats }: Manner & { at: number },
): NotificationState | null {
  const before = sent[channel];
  if (before === undefined) return "raised";
  const isCool = at - before.at >= coolDownMs;
  if (before.raisedAt !== raisedAt) return isCool ? "raised" : null;
  return isCool && repeats ? "reminder" : null;
}

/** Does not report an alert that came back within the cool-down and recovered again. */
function over({ raisedAt, sent }: Alert, channel: string, manner: Manner): NotificationState | null {
  const before = sent[channel];
  if (before?.raisedAt === raisedAt) return before.isOver || !manner.recovery ? null : "recovered";
  const isNews = before === undefined || raisedAt - before.at >= manner.coolDownMs;
  return isNews ? "passed" : null;
}

/** Drops recovered alerts that need no more messages. Alerts of unknown rules, e.g. of other watchers, stay for days. */
export function forgetOld(state: AlertState, settings: WatchSettings, at: number): AlertState {
  const rules = new Map(settings.rules.map((rule) => [rule.name, rule]));
  const names = [EVENT_LOG, ...settings.channels.map(({ name }) => name)];
  const isNeeded = (alert: Alert) => {
    const rule = rules.get(alert.rule);
    if (at - (alert.recoveredAt ?? (rule ? at : alert.raisedAt)) >= KEPT_MS_MAX) return false;
    if (rule === undefined || alert.recoveredAt === undefined) return true;
    return names.filter((name) => receives(name, rule)).some((name) => isOwed(alert, rule, name));
  };
  const isOwed = (alert: Alert, rule: AlertRule, name: string) => {
    const manner = mannerOf(rule, name, settings.recovery);
    return over(alert, name, manner) !== null || at - (alert.sent[name]?.at ?? 0) < manner.coolDownMs;
  };
  const kept = Object.entries(state.alerts).filter(([, alert]) => isNeeded(alert));
  return { ...state, alerts: Object.fromEntries(kept) };
}

/** Alerts that could not be sent for this long are dropped. */
const KEPT_MS_MAX = 7 * 86_400_000;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** Whether the time is within the quiet hours, which may span midnight. */
export function isQuiet({ from, to, timeZone }: QuietHours, at: number): boolean {
  const minute = minuteOfDay(at, timeZone);
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** `quietUntil` advances in small steps, because daylight saving time may change the offset. */
const STEP_MINUTES = 15;

export function quietUntil(hours: QuietHours, at: number): number {
  let end = at;
  while (isQuiet(hours, end)) {
    const minutes = (hours.to - minuteOfDay(end, hours.timeZone) + DAY_MINUTES) % DAY_MINUTES;
    end = Math.floor(end / MINUTE_MS) * MINUTE_MS + Math.max(1, Math.min(minutes, STEP_MINUTES)) * MINUTE_MS;
  }
  return end;
}

/** Parses `22:30` to minutes since midnight. Returns undefined for an invalid time. */
export function parseTimeOfDay(text: string): number | undefined {
  const match = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
  const [hours, minutes] = [Number(match?.[1]), Number(match?.[2])];
  return match && hours < 24 && minutes < 60 ? hours * 60 + minutes : undefined;
}

export const isTimeZone = (name: string) => tryTo(() => formatterOf(name)) !== undefined;

function minuteOfDay(at: number, timeZone: string | undefined): number {
  const [hours = 0, minutes = 0] = formatterOf(timeZone).format(at).split(":").map(Number);
  return hours * 60 + minutes;
}

const formatters = new Map<string | undefined, Intl.DateTimeFormat>();

/** Caches formatters, because creating one costs far more than using it. */
function formatterOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known) return known;
  const options = { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  const made = new Intl.DateTimeFormat("en-GB", options);
  formatters.set(timeZone, made);
  return made;
}

export async function nextCheckAt(
  { schedule, timeZone }: Pick<WatchSettings, "schedule" | "timeZone">,
  after: number,
) {
  const { Cron } = await import("croner");
  const cron = new Cron(schedule, { ...(timeZone && { timezone: timeZone }), paused: true });
  return cron.nextRun(new Date(after))?.getTime() ?? null;
}

export async function scheduleFault(schedule: string): Promise<string | null> {
  const { Cron } = await import("croner");
  try {
    const next = new Cron(schedule, { timezone: "UTC", paused: true }).nextRun();
    return next === null ? "it never matches a time" : null;
  } catch {
    // Replaces the library's message, which describes its internals.
    return "expected a cron pattern with five fields (minute, hour, day, month, weekday), such as */30 * * * *";
  }
}
