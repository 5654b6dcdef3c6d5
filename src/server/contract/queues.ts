/** Routes of queues, their items and their workers. */
import * as z from "zod";
import { PRIORITIES } from "../../item/item.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { UNIQUE_RULES } from "../../queue/queue-spec.ts";
import { attempt, count, data, item, itemDetails, next, queue, time } from "./documents.ts";
import { duration, itemId, limit, name, pauseReason, rowCursor, sentence } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "queues";
const params = z.strictObject({ queue: name });
const address = z.strictObject({ queue: name, item_id: itemId });
const found = ["job_not_found", "item_not_found"] as const;
/** Common properties of the routes with which operators change a queue. */
const change = { params, role: "operator", errors: ["job_not_found"], isRepeatable: true } as const;

/** The settings of a queue, named like the command line options. */
export const queueSettings = z.strictObject({
  retries: z.number().int().min(0).max(9999).optional(),
  backoff: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ examples: ["exponential:1s:x2:30s", "fixed:5s"] }),
  on_failure: z.enum(["dlq", "retry", "skip", "stop"]).optional(),
  on_outage: z.enum(["retry", "wait"]).optional(),
  max_outage: duration.nullable().optional(),
  max_losses: z.number().int().min(1).max(1000).optional(),
  lease: duration.optional(),
  priority: z.enum(PRIORITIES).optional(),
  unique: z.enum(UNIQUE_RULES).optional(),
  expires_after: duration.nullable().optional(),
  breaker: z
    .strictObject({
      failure_threshold: z.number().int().min(1).max(1000).optional(),
      timeout: duration.optional(),
    })
    .nullable()
    .optional(),
  rate: z.string().max(32).nullable().optional().meta({ description: "5/s, 100/m, 1000/h" }),
  schema: z
    .unknown()
    .optional()
    .meta({ description: "a JSON Schema for the data of items; null removes it" }),
  description: z.string().max(1000).optional(),
});

const newItem = z.strictObject({
  data,
  key: itemId.optional().meta({ description: "its id in the queue; default: a random one" }),
  name: z.string().max(512).optional(),
  priority: z.enum(PRIORITIES).optional(),
  due: z.string().max(64).optional().meta({ description: "a time, or a duration from now" }),
  expires: z.string().max(64).optional(),
  ordering_key: z.string().min(1).max(512).optional(),
});

const moved = z.looseObject({
  queue: z.string(),
  moved: count,
  refused: z.array(z.looseObject({ item_id: z.string(), state: z.string().nullable() })),
});

const moving = z.strictObject({ ids: z.array(itemId).min(1).max(1000), reason: sentence.optional() });

export const queueRoutes = {
  "GET /queues": {
    id: "listQueues",
    tag,
    summary: "List queues: items by state, workers, breaker.",
    role: "viewer",
    isShared: true,
    response: z.looseObject({ queues: z.array(queue) }),
    errors: [],
  },
  "POST /queues": {
    id: "createQueue",
    tag,
    summary: "Create a queue. Creating it again with the same settings changes nothing.",
    role: "admin",
    body: queueSettings.extend({ name }),
    response: queue,
    status: 201,
    errors: ["job_changed", "usage"],
    isRepeatable: true,
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
  "PATCH /queues/{queue}": {
    id: "changeQueue",
    tag,
    summary: "Change settings of a queue; other settings stay unchanged.",
    role: "admin",
    params,
    body: queueSettings,
    response: queue,
    errors: ["job_not_found", "job_changed", "usage"],
  },
  "POST /queues/{queue}/pause": {
    id: "pauseQueue",
    tag,
    summary: "Pause a queue: workers get no more items; running attempts finish.",
    ...change,
    body: pauseReason,
    response: queue,
  },
  "POST /queues/{queue}/resume": {
    id: "resumeQueue",
    tag,
    summary: "Resume a paused queue.",
    ...change,
    response: queue,
  },
  "POST /queues/{queue}/items": {
    id: "addItems",
    tag: "items",
    summary: "Add items and return a result for each.",
    role: "operator",
    params,
    body: z.strictObject({ items: z.array(newItem).min(1).max(1000) }),
    response: z.looseObject({
      results: z.array(
        z.looseObject({
          outcome: z.enum(["added", "existing", "replaced", "refused"]),
          item_id: z.string().nullable(),
          reason: z.string().nullable(),
        }),
      ),
    }),
    errors: ["job_not_found", "job_changed", "usage"],
  },
  "POST /queues/{queue}/import": {
    id: "importItems",
    tag: "items",
    summary: "Add items from JSON Lines or CSV.",
    role: "operator",
    params,
    query: z.strictObject({
      format: z.enum(["jsonl", "csv"]).optional().meta({ description: "default: jsonl" }),
      key_field: name.optional().meta({ description: "the field with the item's key" }),
      envelope: z.boolean().optional(),
      dry_run: z.boolean().optional(),
    }),
    bodyType: "application/octet-stream",
    response: z.looseObject({ read: count, added: count, existing: count, replaced: count, refused: count }),
    errors: ["job_not_found", "input_invalid", "usage"],
  },
  "POST /queues/{queue}/hold": {
    id: "holdItems",
    tag: "items",
    summary: "Hold items: workers skip them until they are released.",
    ...change,
    body: moving,
    response: moved,
  },
  "POST /queues/{queue}/unhold": {
    id: "unholdItems",
    tag: "items",
    summary: "Return held items to the queue.",
    ...change,
    body: moving,
    response: moved,
  },
  "GET /items": {
    id: "listItems",
    tag: "items",
    summary: "List the items of a queue, job or target, oldest first, or find items by id.",
    description: "Give `queue`, or `id` to find up to `limit` items in all queues; the exact id comes first.",
    role: "viewer",
    query: z.strictObject({
      queue: name.optional(),
      id: itemId.optional().meta({ description: "the id of an item, or its beginning" }),
      state: z.array(z.enum(ITEM_STATES)).min(1).optional(),
      limit,
      cursor: rowCursor,
    }),
    response: z.looseObject({ items: z.array(item), next }),
    errors: ["job_not_found", "usage"],
  },
  "GET /items/{queue}/{item_id}": {
    id: "showItem",
    tag: "items",
    summary: "Show an item with attempts, notes and result.",
    role: "viewer",
    params: address,
    response: itemDetails,
    errors: found,
  },
  "GET /items/{queue}/{item_id}/attempts": {
    id: "listAttempts",
    tag: "items",
    summary: "List the attempts of an item, oldest first.",
    role: "viewer",
    params: address,
    response: z.looseObject({ attempts: z.array(attempt) }),
    errors: found,
  },
  "GET /items/{queue}/{item_id}/log": {
    id: "readLog",
    tag: "items",
    summary: "Read the output of an attempt. Supports range requests.",
    role: "viewer",
    params: address,
    query: z.strictObject({
      attempt: z
        .number()
        .int()
        .min(1)
        .optional()
        .meta({ description: "default: the last attempt with output" }),
    }),
    response: { contentType: "text/plain; charset=utf-8", description: "The output." },
    errors: [...found, "log_not_found", "range_invalid"],
  },
  "GET /items/{queue}/{item_id}/log/tail": {
    id: "tailLog",
    tag: "items",
    summary: "Follow the output of an item as server-sent events until it has ended.",
    role: "viewer",
    params: address,
    response: { contentType: "text/event-stream", description: "Events `output` and `ended`." },
    errors: [...found, "log_not_found"],
  },
  "GET /workers": {
    id: "listWorkers",
    tag: "workers",
    summary: "List the processes that run items.",
    role: "viewer",
    isShared: true,
    response: z.looseObject({
      workers: z.array(
        z.looseObject({
          holder: z.string(),
          queue: z.string(),
          host: z.string(),
          pid: z.number(),
          expires_at: time,
        }),
      ),
    }),
    errors: [],
  },
} as const satisfies Routes;
