/** Exit codes. The code compiles only if every error code has one. */
import type { ErrorCode } from "../errors.ts";
import type { JobSummary } from "../queue/job-summary.ts";

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  lettersLeft: 3,
  notFound: 4,
  refused: 5,
  storeUnavailable: 75,
  /** A temporary problem: nothing is lost, and the same command may succeed later. */
  notNow: 75,
  interrupted: 130,
} as const;

export const EXIT_CODE: Readonly<Record<ErrorCode, number>> = {
  usage: EXIT.usage,
  input_invalid: EXIT.usage,
  filter_invalid: EXIT.usage,
  command_not_found: EXIT.usage,
  ambiguous: EXIT.usage,
  git_unusable: EXIT.usage,
  job_not_found: EXIT.notFound,
  item_not_found: EXIT.notFound,
  log_not_found: EXIT.notFound,
  operation_not_found: EXIT.notFound,
  group_not_found: EXIT.notFound,
  phase_failed: EXIT.failed,
  job_running: EXIT.refused,
  job_changed: EXIT.refused,
  git_refused: EXIT.refused,
  copy_refused: EXIT.refused,
  copy_differs: EXIT.failed,
  lease_lost: EXIT.refused,
  illegal_move: EXIT.refused,
  receipt_conflict: EXIT.refused,
  target_unreachable: EXIT.notNow,
  interrupted: EXIT.interrupted,
  store_busy: EXIT.storeUnavailable,
  store_full: EXIT.storeUnavailable,
  store_readonly: EXIT.storeUnavailable,
  store_corrupt: EXIT.storeUnavailable,
  store_newer: EXIT.storeUnavailable,
  store_denied: EXIT.storeUnavailable,
  store_unavailable: EXIT.storeUnavailable,
};

/** The exit code for a job that has ended. */
export function exitCodeOf(summary: JobSummary): number {
  if (summary.status === "failed" || summary.status === "stopped") return EXIT.failed;
  return summary.dead > 0 ? EXIT.lettersLeft : EXIT.done;
}
