/** Converts letters to and from entries of `receipts.json`: undelivered receipts with their last attempt. */
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

/** Returns the only target's job, so that `receipts recover` delivers imported receipts; otherwise `RECEIPTS_JOB`. */
export async function receiptsJobOf(engine: Engine): Promise<string> {
  const [target, ...others] = await engine.listJobs({ kinds: ["target"], limit: 2 });
  return target !== undefined && others.length === 0 ? target.id : RECEIPTS_JOB;
}

/** Includes the idempotency key only if it differs from the hash of the receipt. */
export function receiptOfLetter(letter: Letter): JsonObject {
  const key = receiptKeyOf(letter);
  return {
    receipt: letter.itemData,
    failed_at: toRfc3339(letter.lastAttempt),
    attempts: attemptsOf(letter),
    ...(key !== contentId(letter.itemData) && { idempotency_key: key }),
  };
}

/** An imported receipt has only its last failure, whose attempt number is then the count. */
function attemptsOf({ failureCount, failureHistory }: Letter): number {
  return Math.max(failureCount, failureHistory.at(-1)?.attemptNumber ?? 0);
}

/** Without a key, the import derives the id from the content. A receipt contains only its last failure. */
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
