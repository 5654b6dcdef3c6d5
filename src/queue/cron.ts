/**
 * Computes the runs of a cron pattern in a time zone. Pure; the `croner` library handles daylight saving
 * time.
 */
import { Cron } from "croner";
import { messageOf } from "../std/thrown.ts";

export interface CronPattern {
  readonly cron: string;
  readonly timezone: string;
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).format(0) !== "";
  } catch {
    return false;
  }
}

/** Returns why the pattern cannot be used, or undefined. */
export function patternProblem(cron: string, timezone: string): string | undefined {
  try {
    return patternOf({ cron, timezone }).cron.nextRun() === null ? "it has no next run" : undefined;
  } catch (error) {
    return messageOf(error).replace(/^CronPattern: /, "");
  }
}

/**
 * A parsed pattern with its cached next run, which is costly to compute. The cache is valid from `from` until
 * that run.
 */
interface Pattern {
  readonly cron: Cron;
  from: number;
  next: number;
}

const patterns = new Map<string, Pattern>();
const PATTERNS_MAX = 1000;

/** Returns the first run after the given time, or null. */
export function runAfter(schedule: CronPattern, after: number): number | null {
  const pattern = patternOf(schedule);
  if (pattern.from <= after && after < pattern.next) return pattern.next;
  const next = pattern.cron.nextRun(new Date(after))?.getTime() ?? null;
  if (next !== null) [pattern.from, pattern.next] = [after, next];
  return next;
}

function patternOf({ cron, timezone }: CronPattern): Pattern {
  const key = `${timezone} ${cron}`;
  const known = patterns.get(key);
  if (known !== undefined) return known;
  if (patterns.size >= PATTERNS_MAX) patterns.clear();
  const made = { cron: new Cron(cron, { timezone, paused: true, mode: "5-or-6-parts" }), from: 0, next: 0 };
  patterns.set(key, made);
  return made;
}
