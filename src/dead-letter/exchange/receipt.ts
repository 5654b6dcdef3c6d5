/** Entries of a `receipts.json`: what could not be delivered, when it was given up and after how many attempts. */
import type { Engine } from "../../engine.ts";
import { contentId } from "../../intake/identity.ts";
import type { Letter } from "../../item/letter.ts";
import { receiptKeyOf } from "../../item/receipt-key.ts";
import { toRfc3339 } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";

/** True for an entry of such a file. */
export function isReceipt(json: JsonObject): boolean {
  return "receipt" in json && !("item_id" in json);
}

/** The job that receipts go to when they name none and there is not just one target. */
export const RECEIPTS_JOB = "receipts";

/** The only target, which receipts that name no job go to: from there `receipts recover` sends them. */
export async function receiptsJobOf(engine: Engine): Promise<string> {
  const [target, ...others] = await engine.listJobs({ kinds: ["target"], limit: 2 });
  return target !== undefined && others.length === 0 ? target.id : RECEIPTS_JOB;
}

/**
 * The entry of a letter: the receipt as it is now, when it died last, and how often it was tried in vain. Its key is named
 * only when it does not follow from the receipt: with it, the other side knows it again.
 */
export function receiptOfLetter(letter: Letter): JsonObject {
  const key = receiptKeyOf(letter);
  return {
    receipt: letter.itemData,
    failed_at: toRfc3339(letter.lastAttempt),
    attempts: attemptsOf(letter),
    ...(key !== contentId(letter.itemData) && { idempotency_key: key }),
  };
}

/** Of one that came from elsewhere only the last failure is known, and the number that it has. */
function attemptsOf({ failureCount, failureHistory }: Letter): number {
  return Math.max(failureCount, failureHistory.at(-1)?.attemptNumber ?? 0);
}

/**
 * The letter of an entry, in the form of a letter's JSON. Without a key it has no id: a lease may have several receipts, so
 * they are known by their content. Only the last of its failures is known, and only when it was.
 */
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
