/** The limits of a dead letter queue: how many letters it keeps and for how long. */
import type { Engine, QueueCounts } from "../engine.ts";

/** The limits of one queue. Null means no limit. */
export interface LetterLimits {
  readonly itemsMax: number | null;
  /** How long a letter is kept after its last failure or its import. */
  readonly retentionMs: number | null;
}

/** The limits as settings and library callers give them. Null means no limit. */
export interface LimitSettings {
  /**
   * How many waiting letters a queue keeps. If there are more, the oldest are archived and deleted. Default
   * 10,000.
   */
  readonly maxItems?: number | null;
  /** How many days a letter is kept before it is archived and deleted. Default 30. */
  readonly retentionDays?: number | null;
}

export const DEFAULT_LIMITS = { maxItems: 10_000, retentionDays: 30 } as const satisfies LimitSettings;

export function limitsOf({
  maxItems = DEFAULT_LIMITS.maxItems,
  retentionDays = DEFAULT_LIMITS.retentionDays,
}: LimitSettings): LetterLimits {
  return { itemsMax: maxItems, retentionMs: retentionDays === null ? null : retentionDays * DAY_MS };
}

const DAY_MS = 86_400_000;

export const NEARLY_FULL = 0.8;

/** All waiting letters count, but only dead ones can be evicted: the others are being retried. Pure. */
export function fullnessOf(
  { letters, dead }: Pick<QueueCounts, "letters" | "dead">,
  { itemsMax }: Pick<LetterLimits, "itemsMax">,
) {
  if (itemsMax === null) return { evict: 0, isNearlyFull: false };
  return {
    evict: Math.min(dead, Math.max(0, letters - itemsMax)),
    isNearlyFull: letters >= itemsMax * NEARLY_FULL,
  };
}

/**
 * Returns a function that writes the event and returns a warning when the queue becomes nearly full, and null
 * otherwise. If the event already exists at the first check, the warning was already given before a restart.
 */
export function fullnessWarning(engine: Engine, queue: string) {
  let isGiven: boolean | null = null;
  const wasGiven = async () => {
    const query = { queue, types: ["dlq_nearly_full"], after: 0, limit: 1 } as const;
    return (await engine.listEvents(query)).length > 0;
  };
  return async (counts: QueueCounts, limits: LetterLimits): Promise<string | null> => {
    const { itemsMax } = limits;
    if (itemsMax === null || !fullnessOf(counts, limits).isNearlyFull) {
      isGiven = false;
      return null;
    }
    isGiven ??= await wasGiven();
    if (isGiven) return null;
    isGiven = true;
    const { letters } = counts;
    const event = { type: "dlq_nearly_full", data: { letters, max_items: itemsMax } } as const;
    await engine.changeJob(queue, { event });
    const how = letters < itemsMax ? "nearly full" : letters === itemsMax ? "full" : "over its limit";
    return `The dead letter queue of ${queue} is ${how}: ${letters} letters, limit ${itemsMax}. When the limit is exceeded, the oldest letters are archived and deleted. Run \`redrive dlq analyze ${queue}\` to see why they failed.`;
  };
}
