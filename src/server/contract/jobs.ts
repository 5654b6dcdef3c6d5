/** Routes of jobs. */
import * as z from "zod";
import { count, data, job, next, time, usage } from "./documents.ts";
import { limit, name, rowCursor } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "jobs";
const params = z.strictObject({ job: name });

const deletion = z.looseObject({
  job_id: z.string(),
  items: count,
  letters: count,
  waiting: count,
  needs_force: z.array(z.string()),
  archive: z.string().nullable(),
});

export const jobRoutes = {
  "GET /jobs": {
    id: "listJobs",
    tag,
    summary: "List jobs, newest first.",
    role: "viewer",
    isShared: true,
    query: z.strictObject({
      limit,
      cursor: rowCursor,
    }),
    response: z.looseObject({ jobs: z.array(job), next }),
    errors: [],
  },
  "GET /jobs/{job}": {
    id: "showJob",
    tag,
    summary: "Show a job.",
    role: "viewer",
    isShared: true,
    params,
    response: job,
    errors: ["job_not_found"],
  },
  "GET /jobs/{job}/running": {
    id: "listRunningItems",
    tag,
    summary: "List the running items of a job or queue: step, start, last output, usage of their agents.",
    description: "Steps and output are available only on the machine of the runner.",
    role: "viewer",
    params,
    query: z.strictObject({ limit }),
    response: z.looseObject({
      running: z.array(
        z.looseObject({
          item_id: z.string(),
          data,
          attempt: count,
          started_at: time,
          worker: z.string(),
          name: z.string().optional(),
          step: z.string().optional(),
          last_line: z.string().optional(),
          usage: usage.optional(),
          open_command: z
            .string()
            .optional()
            .meta({ description: "opens the session of the agent by hand, in its folder" }),
        }),
      ),
    }),
    errors: ["job_not_found"],
  },
  "GET /jobs/{job}/report": {
    id: "reportJob",
    tag,
    summary: "Report what a job has done: items, changes, failures by cause, cost.",
    role: "viewer",
    params,
    query: z.strictObject({
      format: z.enum(["md", "html", "json"]).optional().meta({ description: "default: md" }),
    }),
    response: {
      contentType: "text/markdown; charset=utf-8",
      description: "The report in the requested format.",
    },
    errors: ["job_not_found", "usage"],
  },
  "POST /jobs/{job}/dismiss": {
    id: "dismissJob",
    tag,
    summary: "Dismiss a job that should not be resumed.",
    role: "operator",
    params,
    response: job,
    errors: ["job_not_found", "job_running", "usage"],
    isRepeatable: true,
  },
  "GET /jobs/{job}/deletion": {
    id: "previewJobDeletion",
    tag,
    summary: "Show what deleting the job would remove.",
    role: "admin",
    params,
    response: deletion,
    errors: ["job_not_found", "job_running", "usage"],
  },
  "DELETE /jobs/{job}": {
    id: "deleteJob",
    tag,
    summary: "Delete a job with its items and logs; letters are archived first.",
    description:
      "`items` and `letters` are the numbers from the preview; if they have changed, the answer is 409.",
    role: "admin",
    params,
    query: z.strictObject({ items: count, letters: count, force: z.boolean().optional() }),
    response: deletion,
    errors: ["job_not_found", "job_running", "illegal_move", "usage", "selection_changed"],
  },
} as const satisfies Routes;
