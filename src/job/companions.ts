/** Those that go along with a run, as one: told of settlements, stopped at the end. A fault of one of them becomes a notice. */
import type { LeasedItem, Settlement } from "../item/item.ts";
import type { Job } from "../item/job.ts";
import type { Companion, CompanionSurroundings, OpenCompanion } from "./companion.ts";

/** Opens all of them. Never throws, and neither does what it returns. */
export function openCompanions(
  openers: readonly OpenCompanion[],
  job: Job,
  surroundings: CompanionSurroundings,
): Required<Companion> {
  const tell = (fault: unknown) => surroundings.onNotice(noticeOf(fault));
  const companions = openers.flatMap((open) => {
    try {
      return [open(job, surroundings)];
    } catch (fault) {
      tell(fault);
      return [];
    }
  });
  return {
    settled: (item: LeasedItem, settlement: Settlement) => {
      for (const companion of companions) {
        try {
          companion.settled?.(item, settlement);
        } catch (fault) {
          tell(fault);
        }
      }
    },
    // One after the other, so that the last one sees what those before it have done to the letters.
    stop: async () => {
      for (const companion of companions) {
        try {
          await companion.stop();
        } catch (fault) {
          tell(fault);
        }
      }
    },
  };
}

function noticeOf(fault: unknown): string {
  const message = fault instanceof Error ? fault.message : String(fault);
  return `The work is not touched by it, but: ${message}`;
}
