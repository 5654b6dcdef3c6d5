/**
 * How many letters a queue keeps, and how long: the rules, and what the number of letters asks for. Pure; what is too
 * many or too old is removed by enforce-limits.ts.
 */
import type { QueueCounts } from "../engine.ts";

/** The rules of one queue. Null is no limit. */
export interface LetterLimits {
  /** How many letters wait at most. */
  readonly itemsMax: number | null;
  /** How long ago a letter was buried at most. */
  readonly retentionMs: number | null;
}

/** The limits as settings have them. */
export function limitsOf(settings: {
  readonly maxItems: number | null;
  readonly retentionDays: number | null;
}): LetterLimits {
  const { maxItems, retentionDays } = settings;
  return { itemsMax: maxItems, retentionMs: retentionDays === null ? null : retentionDays * DAY_MS };
}

const DAY_MS = 86_400_000;

/** From this share of the limit on, a person should know. */
export const NEARLY_FULL = 0.8;

/** What the number of letters asks for. */
export interface Fullness {
  /** How many of the oldest dead ones have to go. */
  readonly evict: number;
  readonly isNearlyFull: boolean;
}

/** Pure. Letters that wait count, but only dead ones can go: the others are at work. */
export function fullnessOf(
  { letters, dead }: Pick<QueueCounts, "letters" | "dead">,
  { itemsMax }: Pick<LetterLimits, "itemsMax">,
): Fullness {
  if (itemsMax === null) return { evict: 0, isNearlyFull: false };
  return {
    evict: Math.min(dead, Math.max(0, letters - itemsMax)),
    isNearlyFull: letters >= itemsMax * NEARLY_FULL,
  };
}
