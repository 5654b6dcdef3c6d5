/** Routes of jobs. */
import * as z from "zod";
import { job, next } from "./documents.ts";
import { limit, name } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "jobs";
const params = z.strictObject({ job: name });

export const jobRoutes = {
  "GET /jobs": {
    id: "listJobs",
    tag,
    summary: "List jobs, newest first.",
    role: "viewer",
    query: z.strictObject({
      limit,
      cursor: z
        .string()
        .max(64)
        .regex(/^\d{1,16}$/)
        .optional(),
    }),
    response: z.looseObject({ jobs: z.array(job), next }),
    errors: [],
  },
  "GET /jobs/{job}": {
    id: "showJob",
    tag,
    summary: "Show a job.",
    role: "viewer",
    params,
    response: job,
    errors: ["job_not_found"],
  },
} as const satisfies Routes;
