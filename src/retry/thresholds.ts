/** When a job is to stop because too much of it died. Pure; the runner asks after every settlement. */
import type { Policy } from "./policy.ts";

/** How a run stands: items that came to an end (done, dead or skipped), and those of them that died. */
export interface Tally {
  readonly finished: number;
  readonly dead: number;
}

/** A rate over fewer finished items than this says nothing. */
const FINISHED_MIN = 10;

/** Why the job has to stop, as a sentence for its user; null while it may go on. */
export function shouldStop(policy: Policy, { finished, dead }: Tally): string | null {
  if (dead < 1) return null;
  if (!policy.continueOnFailure)
    return "an item died, and the job stops at the first (--fail-fast, continue_on_failure)";
  const { maxFailures, failureThreshold } = policy;
  if (maxFailures !== undefined && dead >= maxFailures) {
    return `${count(dead)} died, and max_failures is ${maxFailures}`;
  }
  if (failureThreshold !== undefined && finished >= FINISHED_MIN && dead / finished > failureThreshold) {
    return `${dead} of ${finished} finished items died, and failure_threshold is ${failureThreshold}`;
  }
  return null;
}

function count(items: number): string {
  return items === 1 ? "1 item" : `${items} items`;
}
