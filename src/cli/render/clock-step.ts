/** The line that reports a step of the store's clock. */
import { formatDuration } from "../../std/duration.ts";

export function clockStepText(stepMs: number): string {
  const direction = stepMs < 0 ? "back" : "forward";
  return `redrive: the clock of the store was set ${direction} by ${formatDuration(Math.abs(stepMs))}; retries and leases keep their time`;
}
