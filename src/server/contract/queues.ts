/** Routes of queues and their items. */
import * as z from "zod";
import { queue } from "./documents.ts";
import { name } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "queues";
const params = z.strictObject({ queue: name });

export const queueRoutes = {
  "GET /queues": {
    id: "listQueues",
    tag,
    summary: "List queues: items by state, workers, breaker.",
    role: "viewer",
    response: z.looseObject({ queues: z.array(queue) }),
    errors: [],
  },
  "GET /queues/{queue}": {
    id: "showQueue",
    tag,
    summary: "Show a queue with its settings.",
    role: "viewer",
    params,
    response: queue,
    errors: ["job_not_found"],
  },
} as const satisfies Routes;
