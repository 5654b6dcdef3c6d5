/** Entries of a `receipts.json`: undelivered receipts with their last attempt and number of attempts. */
import type { Engine } from "../../engine.ts";
import { contentId } from "../../intake/identity.ts";
import type { Letter } from "../../item/letter.ts";
import { receiptKeyOf } from "../../item/receipt.ts";
import { toRfc3339 } from "../../std/clock.ts";
import type { JsonObject } from "../../std/json.ts";

export function isReceipt(json: JsonObject): boolean {
  return "receipt" in json && !("item_id" in json);
}

/** The job of receipts that name none, unless there is exactly one target. */
export const RECEIPTS_JOB = "receipts";

/** With exactly one target, receipts without a job go there, so that `receipts recover` sends them. */
export async function receiptsJobOf(engine: Engine): Promise<string> {
  const [target, ...others] = await engine.listJobs({ kinds: ["target"], limit: 2 });
  return target !== undefined && others.length === 0 ? target.id : RECEIPTS_JOB;
}

/** The key is included only if it is not derived from the receipt. */
export function receiptOfLetter(letter: Letter): JsonObject {
  const key = receiptKeyOf(letter);
  return {
    receipt: letter.itemData,
    failed_at: toRfc3339(letter.lastAttempt),
    attempts: attemptsOf(letter),
    ...(key !== contentId(letter.itemData) && { idempotency_key: key }),
  };
}

/** Of an imported receipt only the last failure is known; its number is the count. */
function attemptsOf({ failureCount, failureHistory }: Letter): number {
  return Math.max(failureCount, failureHistory.at(-1)?.attemptNumber ?? 0);
}

/** Without a key the id comes from the content. Only the last failure is known. */
export function letterOfReceipt(entry: JsonObject, job: string): JsonObject {
  const attempts = entry.attempts ?? 1;
  return {
    ...(entry.idempotency_key !== undefined && { item_id: entry.idempotency_key }),
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
    job_id: entry.job_id ?? job,
  };
}
