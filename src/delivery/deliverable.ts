/** Whether any process can deliver the receipts of a target, or only the service that has its function. Pure. */
import { WorkError } from "../errors.ts";
import type { Job } from "../item/job.ts";
import { targetSpecOf } from "./spec.ts";

export function isDeliverable(job: Job): boolean {
  return job.kind === "target" && targetSpecOf(job).delivery.protocol !== "function";
}

/** A `usage` error when only the service itself can deliver. */
export function requireDeliverable(target: Job): void {
  if (isDeliverable(target)) return;
  throw new WorkError(
    "usage",
    `The receipts of ${target.id} are delivered by a function of the service that made it.`,
    {
      hint: `Start that service: it goes on by itself. \`redrive dlq retry ${target.id}\` puts letters in line for it.`,
    },
  );
}
