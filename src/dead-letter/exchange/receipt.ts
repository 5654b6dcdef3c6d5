/** Entries of a `receipts.json`: what could not be delivered, when it was given up and after how many attempts. */
import type { JsonObject } from "../../kit/json.ts";

/** True for an entry of such a file. */
export function isReceipt(json: JsonObject): boolean {
  return "receipt" in json && !("item_id" in json);
}

/** The job that receipts go to when nothing else is said. */
export const RECEIPTS_JOB = "receipts";

/**
 * The letter of an entry, in the form of a letter's JSON. It has no id: a lease may have several receipts, so they are
 * known by their content. Only the last of its failures is known, and only when it was.
 */
export function letterOfReceipt(entry: JsonObject): JsonObject {
  const attempts = entry.attempts ?? 1;
  return {
    item_data: entry.receipt ?? null,
    last_attempt: entry.failed_at ?? null,
    failure_count: attempts,
    failure_history: [
      {
        attempt_number: attempts,
        timestamp: entry.failed_at ?? null,
        error_type: "Unknown",
        error_message: "The receipt was not delivered.",
        step_failed: "send receipt",
        duration_ms: 0,
      },
    ],
    reason: `attempts spent (${String(attempts)})`,
    job_id: entry.job_id ?? RECEIPTS_JOB,
  };
}
