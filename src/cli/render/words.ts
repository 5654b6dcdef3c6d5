/** Numbers, times, durations and shell words as people read and type them. */
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";

/** `1 item`, `3 items`, `2 copies of evidence`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : several}`;
}

export function lettersText(count: number): string {
  return counted(count, "letter");
}

/** `once`, `3 times`. */
export function timesText(count: number): string {
  return count === 1 ? "once" : `${thousands(count)} times`;
}

/** `1,181/s`, `3.2/s`, `15/min`, `4/h`: in the unit in which it is at least one. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${rounded(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${rounded(perSecond * 60)}/min`;
  return `${rounded(perSecond * 3600)}/h`;
}

function rounded(value: number): string {
  return value >= 9.95 ? thousands(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** A whole number as people read it: 1,234. */
export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `34 s ago`, `3m 05s ago`. */
export function agoText(ms: number): string {
  return `${secondsText(ms)} ago`;
}

/** Whole seconds, as a display wants it that changes all the time: `34 s`, `3m 05s`. */
export function secondsText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

/** To the second, in UTC. */
export function secondText(at: number): string {
  return toRfc3339(at).slice(0, 19).replace("T", " ");
}

/** To the minute, in UTC. */
export function minuteText(at: number): string {
  return toRfc3339(at).slice(0, 16).replace("T", " ");
}

/** The text quoted for a shell; null when it cannot sensibly be typed. */
export function shellWord(text: string): string | null {
  if (/^[\w./:@%+=,][\w./:@%+=,-]*$/.test(text)) return text;
  return /^[^-\p{C}][^\p{C}]*$/u.test(text) && text.length <= 80
    ? `'${text.replaceAll("'", "'\\''")}'`
    : null;
}
