/** Which items of a queue come first. Within a priority the due time decides, then the age. */

/** Every priority, first come first. */
export const PRIORITIES = ["high", "normal", "low"] as const;
/** One of `PRIORITIES`. */
export type Priority = (typeof PRIORITIES)[number];

/** The number by which stores order items: the lower, the sooner. */
export function rankOf(priority: Priority): number {
  return PRIORITIES.indexOf(priority);
}

/** The other way round. */
export function priorityOf(rank: number): Priority {
  return PRIORITIES[rank] ?? "normal";
}
