/** Which counters of its queue go up with what happens. Every engine counts just these, in the step that is the reason. */
import type { EventType } from "./event.ts";
import type { Settlement } from "./item.ts";

/** Most settlements count nothing else. */
const OUTCOME_ALONE = {
  succeeded: ["attempts.succeeded"],
  failed: ["attempts.failed"],
  released: ["attempts.released"],
  lost: ["attempts.lost"],
} as const satisfies Record<Settlement["outcome"], readonly string[]>;

/** The names that one settlement counts, each by one; a name that is there twice counts twice. */
export function countersOf(settlement: Settlement, wasLetter: boolean): readonly string[] {
  const { outcome, verdict, grave, counts } = settlement;
  if (verdict.kind === "done" && !wasLetter && counts === undefined) return OUTCOME_ALONE[outcome];
  const names: string[] = [...OUTCOME_ALONE[outcome]];
  if (verdict.kind === "retry") names.push("retries");
  if (verdict.kind === "park") names.push("parks");
  if (grave) names.push(`dead.${grave.errorType}`);
  if (wasLetter && hasEnded(verdict.kind))
    names.push(verdict.kind === "done" ? "redrives.succeeded" : "redrives.failed");
  return counts === undefined ? names : [...names, ...counts];
}

function hasEnded(verdict: Settlement["verdict"]["kind"]): boolean {
  return verdict === "done" || verdict === "skip" || verdict === "bury" || verdict === "stop";
}

/** The events that are counted under their own names, whoever writes them. */
const COUNTED_EVENTS: ReadonlySet<EventType> = new Set(["store_write_failed"]);

export function isCounted(type: EventType): boolean {
  return COUNTED_EVENTS.has(type);
}
