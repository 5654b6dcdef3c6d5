/** What a channel is to be told now: what is raised and it has not heard, what is still wrong after the cool-down, what is over. Pure. */
import type { Alert, AlertBook } from "./alert-book.ts";
import { isQuiet } from "./quiet-hours.ts";
import type { AlertRule, WatchSettings } from "./settings.ts";

/** How an alert is told. `passed`: it is over before it could be told that it was there. */
export type TellingState = "raised" | "reminder" | "recovered" | "passed";

/** One alert for one channel. */
export interface Telling {
  readonly alert: Alert;
  readonly state: TellingState;
}

/** Where alerts are written into the event log: every watcher has it, and nobody can call a channel of theirs so. */
export const EVENT_LOG = "@events";

/** By rule, then queue. Nothing but what is critical in quiet hours; the event log is never told anything twice. */
export function tellingsFor(
  channel: string,
  book: AlertBook,
  settings: WatchSettings,
  at: number,
): readonly Telling[] {
  const quiet = channel !== EVENT_LOG && settings.quietHours && isQuiet(settings.quietHours, at);
  return settings.rules
    .filter((rule) => hears(channel, rule) && (!quiet || rule.severity === "critical"))
    .flatMap((rule) => ofRule(rule, channel, book, { at, recovery: settings.recovery }));
}

function hears(channel: string, { channels }: AlertRule): boolean {
  return channel === EVENT_LOG || channels === undefined || channels.includes(channel);
}

function ofRule(
  rule: AlertRule,
  channel: string,
  book: AlertBook,
  now: { readonly at: number; readonly recovery: boolean },
): readonly Telling[] {
  const manner = { ...now, ...mannerOf(rule, channel, now.recovery) };
  return Object.values(book.alerts)
    .filter((alert) => alert.rule === rule.name)
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .flatMap((alert) => {
      const state =
        alert.recoveredAt === undefined ? stillWrong(alert, channel, manner) : over(alert, channel, manner);
      return state === null ? [] : [{ alert, state }];
    });
}

interface Manner {
  readonly coolDownMs: number;
  /** Whether it is told that it is over. */
  readonly recovery: boolean;
  /** Whether it is told again when the cool-down is over. */
  readonly repeats: boolean;
}

/** The log has everything once. A new group is news only once. */
function mannerOf({ coolDownMs, condition }: AlertRule, channel: string, recovery: boolean): Manner {
  if (channel === EVENT_LOG) return { coolDownMs: 0, recovery: true, repeats: false };
  return { coolDownMs, recovery, repeats: condition.kind !== "new_group" };
}

function stillWrong(
  { raisedAt, told }: Alert,
  channel: string,
  { at, coolDownMs, repeats }: Manner & { readonly at: number },
): TellingState | null {
  const before = told[channel];
  if (before === undefined) return "raised";
  const isCool = at - before.at >= coolDownMs;
  if (before.raisedAt !== raisedAt) return isCool ? "raised" : null;
  return isCool && repeats ? "reminder" : null;
}

/** What came back within the cool-down, and is over again, is not told at all. */
function over({ raisedAt, told }: Alert, channel: string, manner: Manner): TellingState | null {
  const before = told[channel];
  if (before?.raisedAt === raisedAt) return before.isOver || !manner.recovery ? null : "recovered";
  const isNews = before === undefined || raisedAt - before.at >= manner.coolDownMs;
  return isNews ? "passed" : null;
}

/**
 * Forgets what is over, once it is owed to no channel and would be told anew if it came back. Alerts of rules that this
 * watcher does not have may be those of another one: they stay for some days.
 */
export function forgetOld(book: AlertBook, settings: WatchSettings, at: number): AlertBook {
  const rules = new Map(settings.rules.map((rule) => [rule.name, rule]));
  const names = [EVENT_LOG, ...settings.channels.map(({ name }) => name)];
  const isNeeded = (alert: Alert) => {
    const rule = rules.get(alert.rule);
    if (at - (alert.recoveredAt ?? (rule ? at : alert.raisedAt)) >= KEPT_MS_MAX) return false;
    if (rule === undefined || alert.recoveredAt === undefined) return true;
    return names.filter((name) => hears(name, rule)).some((name) => isOwed(alert, rule, name));
  };
  const isOwed = (alert: Alert, rule: AlertRule, name: string) => {
    const manner = mannerOf(rule, name, settings.recovery);
    return over(alert, name, manner) !== null || at - (alert.told[name]?.at ?? 0) < manner.coolDownMs;
  };
  const kept = Object.entries(book.alerts).filter(([, alert]) => isNeeded(alert));
  return { ...book, alerts: Object.fromEntries(kept) };
}

/** Whatever nobody could be told of in this time is forgotten. */
const KEPT_MS_MAX = 7 * 86_400_000;
