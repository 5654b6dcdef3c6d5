/** Converts a job with its summary to the JSON that `redrive jobs` and the API return. */
import type { Job } from "../item/job.ts";
import { commandText, folderOf } from "../queue/find-job.ts";
import { type JobSummary, summaryToJson } from "../queue/job-summary.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import { isDismissed } from "./delete-job.ts";

export function jobToJson(job: Job, summary: JobSummary): JsonObject {
  return {
    ...summaryToJson(summary),
    kind: job.kind,
    command: commandText(job),
    cwd: folderOf(job) ?? null,
    started_at: toRfc3339(job.startedAt),
    dismissed: isDismissed(job),
  };
}
