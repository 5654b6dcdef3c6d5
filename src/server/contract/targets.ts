/** Routes of receipt targets. */
import * as z from "zod";
import { count, operation, queue } from "./documents.ts";
import { duration, itemId, name, pauseReason } from "./filter.ts";
import { canary } from "./operations.ts";
import { queueSettings } from "./queues.ts";
import type { Routes } from "./route.ts";

const tag = "receipts";
const params = z.strictObject({ target: name });
/** Common properties of the routes with which operators change a target. */
const change = { params, role: "operator", errors: ["job_not_found"], isRepeatable: true } as const;

const text = z.string().min(1).max(512);

/**
 * The settings of a target, named like the command line options. Tokens are configured where the target is
 * delivered.
 */
const targetSettings = queueSettings
  .pick({
    retries: true,
    backoff: true,
    on_outage: true,
    max_outage: true,
    max_losses: true,
    lease: true,
    breaker: true,
    rate: true,
    description: true,
  })
  .extend({
    url: z.string().min(1).max(2000).optional(),
    protocol: z.enum(["http", "mcp"]).optional(),
    tool: text.optional().meta({ description: "the tool that mcp calls" }),
    key_argument: text.nullable().optional(),
    headers: z
      .record(z.string(), z.string().max(2000))
      .nullable()
      .optional()
      .meta({ description: "sent with every request; they must not be secrets" }),
    id_header: text.optional(),
    timeout: duration.optional(),
    order_field: text.nullable().optional(),
  });

const recovery = z.looseObject({
  target: z.string(),
  count: count.meta({ description: "how many letters would be sent" }),
  open_operations: z
    .array(z.string())
    .meta({ description: "operations that have not ended, and continue first" }),
});

export const targetRoutes = {
  "GET /targets": {
    id: "listTargets",
    tag,
    summary: "List the receipt targets.",
    role: "viewer",
    response: z.looseObject({ targets: z.array(queue) }),
    errors: [],
  },
  "GET /targets/{target}": {
    id: "showTarget",
    tag,
    summary: "Show a receipt target.",
    role: "viewer",
    params,
    response: queue,
    errors: ["job_not_found"],
  },
  "PUT /targets/{target}": {
    id: "putTarget",
    tag,
    summary: "Create a receipt target, or change the given settings of one.",
    description:
      "The location of a token is set with `redrive receipts target --token-env` where receipts are delivered.",
    role: "admin",
    params,
    body: targetSettings,
    response: queue,
    errors: ["job_changed", "usage"],
    isRepeatable: true,
  },
  "GET /targets/{target}/recovery": {
    id: "previewRecovery",
    tag,
    summary: "Show how many dead letters of a target a recovery would send.",
    role: "viewer",
    params,
    response: recovery,
    errors: ["job_not_found", "usage"],
  },
  "POST /targets/{target}/recover": {
    id: "recoverTarget",
    tag,
    summary: "Send the dead letters of a target again, if it can be reached.",
    description:
      "`count` is the number from GET /targets/{target}/recovery; if it has changed, the answer is 409. `redrive receipts deliver` delivers them.",
    role: "operator",
    params,
    body: z.strictObject({ count, canary: canary.optional() }),
    response: operation,
    status: 202,
    errors: ["job_not_found", "usage", "target_unreachable", "selection_changed"],
  },
  "POST /targets/{target}/pause": {
    id: "pauseTarget",
    tag,
    summary: "Pause a target: nothing is sent, receipts are kept.",
    ...change,
    body: pauseReason,
    response: queue,
  },
  "POST /targets/{target}/resume": {
    id: "resumeTarget",
    tag,
    summary: "Resume a paused target.",
    ...change,
    response: queue,
  },
  "POST /targets/{target}/receipts": {
    id: "sendReceipt",
    tag,
    summary: "Store a receipt for delivery. A repeated request with the same key and receipt has no effect.",
    role: "operator",
    params,
    body: z.strictObject({ receipt: z.record(z.string(), z.unknown()), key: itemId.optional() }),
    response: z.looseObject({ key: z.string(), is_new: z.boolean() }),
    status: 202,
    errors: ["job_not_found", "receipt_conflict", "usage", "input_invalid"],
    isRepeatable: true,
  },
} as const satisfies Routes;
