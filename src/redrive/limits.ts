/**
 * How many letters a queue keeps, and how long: the rules, and what the number of letters asks for. Pure; what is too
 * many or too old is removed by enforce-limits.ts.
 */
import type { QueueCounts } from "../engine.ts";

/** The rules of one queue. Null is no limit. */
export interface LetterLimits {
  /** How many letters wait at most. */
  readonly itemsMax: number | null;
  /** How long a letter is kept at most: since its last failure, or since it was imported. */
  readonly retentionMs: number | null;
}

/** The limits as settings and programs give them. Null is no limit. */
export interface LimitSettings {
  /** How many waiting letters a queue keeps; at the limit the oldest are archived and deleted. Default 10,000. */
  readonly maxItems?: number | null;
  /** How many days a letter is kept before it is archived and deleted. Default 30. */
  readonly retentionDays?: number | null;
}

/** What holds where nothing is set. */
export const DEFAULT_LIMITS = { maxItems: 10_000, retentionDays: 30 } as const satisfies LimitSettings;

/** The limits as the code that keeps them reads them. */
export function limitsOf({
  maxItems = DEFAULT_LIMITS.maxItems,
  retentionDays = DEFAULT_LIMITS.retentionDays,
}: LimitSettings): LetterLimits {
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
