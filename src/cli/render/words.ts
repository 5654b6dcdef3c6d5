/** Formats numbers, times, durations and shell words. */
import { toRfc3339 } from "../../std/clock.ts";
import { formatDuration } from "../../std/duration.ts";

/** Formats a count: `1 item`, `3 items`, `2 copies of evidence`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${thousands(count)} ${count === 1 ? one : several}`;
}

/** Formats a count such as `3 refused`; empty for 0. */
export function some(count: number, word: string): string {
  return count === 0 ? "" : `${thousands(count)} ${word}`;
}

/** Joins the non-empty parts with commas. */
export function listed(parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(", ");
}

/** Returns the first lines, and a line with the number of omitted ones. */
export function capped(
  lines: readonly string[],
  max: number,
  more = (left: number) => `… and ${thousands(left)} more`,
): readonly string[] {
  return lines.length > max ? [...lines.slice(0, max), more(lines.length - max)] : lines;
}

export function lettersText(count: number): string {
  return counted(count, "letter");
}

/** Formats `once` or `3 times`. */
export function timesText(count: number): string {
  return count === 1 ? "once" : `${thousands(count)} times`;
}

/** Formats a rate in the shortest unit that gives at least one: `1,181/s`, `3.2/s`, `15/min`, `4/h`. */
export function rateText(perSecond: number): string {
  if (perSecond >= 1) return `${rounded(perSecond)}/s`;
  if (perSecond * 60 >= 1) return `${rounded(perSecond * 60)}/min`;
  return `${rounded(perSecond * 3600)}/h`;
}

function rounded(value: number): string {
  return value >= 9.95 ? thousands(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** Formats a number with thousands separators: `1,234`. */
export function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats an age: `34 s ago`, `3m 05s ago`. */
export function agoText(ms: number): string {
  return `${secondsText(ms)} ago`;
}

/** Formats whole seconds for live displays: `34 s`, `3m 05s`. */
export function secondsText(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

/** Formats a time to the second in UTC. */
export function secondText(at: number): string {
  return toRfc3339(at).slice(0, 19).replace("T", " ");
}

/** Formats a time to the minute in UTC. */
export function minuteText(at: number): string {
  return toRfc3339(at).slice(0, 16).replace("T", " ");
}

/** Formats a command to paste: `redrive dlq retry orders 'a b'`. Values are quoted if needed, options never. */
export function commandLine(words: readonly string[]): string {
  const quoted = (word: string) => shellWord(word) ?? `'${word.replaceAll("'", "'\\''")}'`;
  return ["redrive", ...words].map((word) => (word.startsWith("-") ? word : quoted(word))).join(" ");
}

/** Quotes text for a shell; null if it is not reasonable to type. */
export function shellWord(text: string): string | null {
  if (/^[\w./:@%+=,][\w./:@%+=,-]*$/.test(text)) return text;
  return /^[^-\p{C}][^\p{C}]*$/u.test(text) && text.length <= 80
    ? `'${text.replaceAll("'", "'\\''")}'`
    : null;
}
