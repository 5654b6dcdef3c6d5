/** Routes of selections and operations: create a preview, then start exactly what it showed. */
import * as z from "zod";
import { PRIORITIES } from "../../item/item.ts";
import { count, data, operation, operationDetails, refusal, time } from "./documents.ts";
import { duration, letterFilter, limit, name, sentence } from "./filter.ts";
import { edit } from "./letters.ts";
import type { Routes } from "./route.ts";

const params = z.strictObject({ operation_id: name });
const known = ["operation_not_found", "ambiguous"] as const;

export const ACTION_NAMES = ["retry", "requeue", "edit", "discard", "restore", "purge", "clear"] as const;

const CANARY_SIZE_MAX = 1_000_000;

export const canary = z.union([z.boolean(), z.int().min(1).max(CANARY_SIZE_MAX)]).meta({
  description:
    "true: retry one of each group first, then 1 %, 10 %, all; a number: that many first, then all",
});

export const selectionRequest = z.strictObject({
  action: z.enum(ACTION_NAMES),
  filter: letterFilter.meta({ description: "needs a job or a queue" }),
  all_of_queue: z
    .literal(true)
    .optional()
    .meta({ description: "select every letter of the queue, because the filter has no other condition" }),
  reason: sentence.optional().meta({ description: "required for a discard" }),
  force: z.boolean().optional().meta({ description: "also retry letters that are not eligible" }),
  canary: canary.optional(),
  rate: z.string().max(32).optional().meta({ description: "the maximum rate: 5/s, 100/m" }),
  delay: duration.optional(),
  priority: z.enum(PRIORITIES).optional(),
  edit: z
    .strictObject({ patch: edit.patch, set: edit.set })
    .optional()
    .meta({ description: "the change for an edit or for requeued items" }),
  note: sentence.optional().meta({ description: "stored with each edit" }),
});

const group = z.looseObject({ signature: z.string(), title: z.string(), pattern: z.string(), count });

export const heldSelection = z
  .looseObject({
    selection_id: z.string(),
    action: z.enum(ACTION_NAMES),
    job_id: z.string(),
    count: count.meta({
      description: "how many letters were selected; this number is required to start the operation",
    }),
    refused: count.meta({ description: "how many of them the action would currently refuse" }),
    refusals: z.array(refusal),
    groups: z.array(group),
    samples: z.array(
      z.looseObject({
        item_id: z.string(),
        error_signature: z.string(),
        error_message: z.string(),
        changes: z
          .array(z.looseObject({ path: z.string(), before: data.optional(), after: data.optional() }))
          .optional(),
      }),
    ),
    expires_at: time,
  })
  .meta({ id: "Selection" });

export const operationRoutes = {
  "POST /selections": {
    id: "createSelection",
    tag: "operations",
    summary: "Preview a bulk change: select its letters and show what would happen.",
    description:
      "Nothing is changed. To start the selection within 15 minutes, send its id and count to `POST /operations`.",
    role: "operator",
    body: selectionRequest,
    response: heldSelection,
    status: 201,
    errors: ["job_not_found", "filter_invalid", "usage", "illegal_move", "selection_unbounded", "disabled"],
    isRepeatable: true,
  },
  "POST /operations": {
    id: "startOperation",
    tag: "operations",
    summary: "Start the bulk change of a selection.",
    description:
      "If a letter of the selection has changed since then, the answer is 409 and nothing is started.",
    role: "operator",
    body: z.strictObject({
      selection_id: name,
      count,
      reason: sentence.optional().meta({ description: "the reason, shown in the audit" }),
    }),
    response: operation,
    status: 202,
    errors: [...known, "selection_changed", "selection_used"],
    isRepeatable: true,
  },
  "GET /operations": {
    id: "listOperations",
    tag: "operations",
    summary: "List operations, newest first.",
    role: "viewer",
    isShared: true,
    query: z.strictObject({
      job: name.optional(),
      open: z.boolean().optional().meta({ description: "only operations that have not ended" }),
      limit,
      cursor: z
        .string()
        .regex(/^\d{1,9}$/)
        .optional(),
    }),
    response: z.looseObject({ operations: z.array(operation), next: z.string().nullable() }),
    errors: ["job_not_found"],
  },
  "GET /operations/{operation_id}": {
    id: "showOperation",
    tag: "operations",
    summary: "Show an operation: its selection, its progress, and the reasons for refusals.",
    role: "viewer",
    params,
    response: operationDetails,
    errors: known,
  },
  "POST /operations/{operation_id}/pause": {
    id: "pauseOperation",
    tag: "operations",
    summary: "Pause an operation; running attempts finish.",
    role: "operator",
    params,
    response: operation,
    errors: [...known, "illegal_move"],
    isRepeatable: true,
  },
  "POST /operations/{operation_id}/resume": {
    id: "resumeOperation",
    tag: "operations",
    summary: "Resume an operation that was paused or interrupted.",
    role: "operator",
    params,
    response: operation,
    status: 202,
    errors: [...known, "illegal_move", "disabled"],
    isRepeatable: true,
  },
  "POST /operations/{operation_id}/cancel": {
    id: "cancelOperation",
    tag: "operations",
    summary: "Cancel an operation; letters that it has not sent yet stay unchanged.",
    role: "operator",
    params,
    response: operation,
    errors: [...known, "illegal_move"],
    isRepeatable: true,
  },
  "POST /operations/{operation_id}/undo": {
    id: "undoOperation",
    tag: "operations",
    summary: "Undo an edit, discard or restore, or a deletion whose letters were archived.",
    role: "operator",
    params,
    response: z.looseObject({ undoes: z.string(), done: count, refused: count }),
    errors: [...known, "illegal_move"],
  },
} as const satisfies Routes;
