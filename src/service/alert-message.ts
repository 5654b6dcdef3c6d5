/** Composes the message of one check for one channel, as text and as JSON. Pure. */
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";
import type { Notification } from "./alert-schedule.ts";
import { SEVERITIES, type Severity } from "./alert-settings.ts";

export interface Notice {
  readonly title: string;
  /** The highest severity among the raised alerts; `info` when all have recovered. */
  readonly severity: Severity;
  readonly at: number;
  readonly store: string;
  /** One line per raised alert; `over` has one line per recovered alert. */
  readonly wrong: readonly string[];
  readonly over: readonly string[];
  readonly notifications: readonly Notification[];
}

export function noticeOf(
  notifications: readonly Notification[],
  { at, store }: Pick<Notice, "at" | "store">,
): Notice {
  const wrong = notifications.filter(({ state }) => state === "raised" || state === "reminder");
  const over = notifications.filter(({ state }) => state === "recovered" || state === "passed");
  return {
    title: titleOf(wrong),
    severity: worstOf(wrong),
    at,
    store: withoutPassword(store),
    wrong: wrong.map(lineOf),
    over: over.map(lineOf),
    notifications,
  };
}

/** The title for waiting letters avoids Redrive's own terms, because these alerts are the most common. */
function titleOf(wrong: readonly Notification[]): string {
  if (wrong.length === 0) return "Back to normal";
  return wrong.some(({ alert }) => alert.kind === "depth") ? "Dead Letter Items Found" : "Redrive Alert";
}

function worstOf(wrong: readonly Notification[]): Severity {
  const ranks = wrong.map(({ alert }) => SEVERITIES.indexOf(alert.severity));
  return SEVERITIES[Math.max(0, ...ranks)] ?? "info";
}

function lineOf({ alert, state }: Notification): string {
  const { text, overText, raisedAt } = alert;
  const since = toRfc3339(raisedAt);
  const lines = {
    raised: text,
    reminder: `${text} (since ${since})`,
    recovered: overText,
    passed: `${overText} (before: ${text}, since ${since})`,
  };
  return lines[state];
}

const LINES_MAX = 40;

export function shownLines(lines: readonly string[]): readonly string[] {
  const shown = lines.slice(0, LINES_MAX).map(cut);
  return lines.length > LINES_MAX ? [...shown, `… and ${lines.length - LINES_MAX} more`] : shown;
}

const LINE_CHARS_MAX = 300;

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > LINE_CHARS_MAX ? `${line.slice(0, LINE_CHARS_MAX)}…` : line;
}

export const OVER_TITLE = "Recovered";
export const NEXT_STEP = "Check: redrive dlq list · redrive groups · redrive queue list";

export function noticeText(notice: Notice): string {
  const { title, wrong, over } = notice;
  const overTitle = wrong.length > 0 && over.length > 0 ? ["", OVER_TITLE] : [];
  const lines = [title, ...shownLines(wrong), ...overTitle, ...shownLines(over)];
  return [...lines, ...(wrong.length > 0 ? ["", NEXT_STEP] : [])].join("\n");
}

export function noticeToJson(notice: Notice): JsonObject {
  const { title, severity, at, store, notifications } = notice;
  const alerts = notifications.map(notificationToJson);
  return { title, severity, at: toRfc3339(at), store, text: noticeText(notice), alerts };
}

export function notificationToJson({ alert, state }: Notification): JsonObject {
  return compact({
    rule: alert.rule,
    condition: alert.kind,
    queue: alert.queue,
    state,
    severity: alert.severity,
    value: alert.value,
    limit: alert.limit,
    text: state === "recovered" || state === "passed" ? alert.overText : alert.text,
    raised_at: toRfc3339(alert.raisedAt),
    recovered_at: alert.recoveredAt === undefined ? undefined : toRfc3339(alert.recoveredAt),
  });
}

export function withoutPassword(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*):.*@(?=[^@]*$)/is, "$1@")
    .replace(/([?&](?:password|sslpassword)=)[^&#]*/gi, "$1***");
}
