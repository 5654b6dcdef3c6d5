/** Routes of letters. */
import * as z from "zod";
import { LETTER_ORDERS } from "../../item/letter-query.ts";
import { count, data, letter, letterDetails, next, operation } from "./documents.ts";
import { cursor, itemId, letterFilter, limit, name, sentence } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "letters";
const params = z.strictObject({ queue: name, item_id: itemId });
const found = ["job_not_found", "item_not_found"] as const;

const change = z.looseObject({
  path: z.string(),
  before: data.optional(),
  after: data.optional(),
});

/** A change of an item's data; exactly one kind. */
export const edit = {
  data: data.optional().meta({ description: "the new data" }),
  patch: z.unknown().optional().meta({ description: "a JSON merge patch (RFC 7396)" }),
  set: z
    .array(z.strictObject({ path: z.string().min(1).max(1000), value: z.string().min(1).max(4000) }))
    .min(1)
    .max(100)
    .optional()
    .meta({ description: "paths and CEL expressions for their new values" }),
} as const;

export const letterRoutes = {
  "GET /letters": {
    id: "listLetters",
    tag,
    summary: "List letters, newest first.",
    role: "viewer",
    isShared: true,
    query: letterFilter.extend({
      sort: z.enum(LETTER_ORDERS).optional(),
      brief: z
        .boolean()
        .optional()
        .meta({ description: "leave out data, notes and all failures but the last; such pages are faster" }),
      limit,
      cursor,
    }),
    response: z.looseObject({ items: z.array(letter.extend({ item_data: data.optional() })), next }),
    errors: ["job_not_found", "filter_invalid", "ambiguous"],
  },
  "GET /letters/count": {
    id: "countLetters",
    tag,
    summary: "Count letters.",
    role: "viewer",
    isShared: true,
    query: letterFilter,
    response: z.looseObject({ total: count }),
    errors: ["job_not_found", "filter_invalid", "ambiguous"],
  },
  "GET /letters/{queue}/{item_id}": {
    id: "inspectLetter",
    tag,
    summary: "Show one letter: data, failures, history, group.",
    role: "viewer",
    params,
    response: letterDetails,
    errors: found,
  },
  "PATCH /letters/{queue}/{item_id}": {
    id: "editLetter",
    tag,
    summary: "Correct the data of a letter, or preview the correction.",
    description: "The original data is kept. `POST /operations/{operation_id}/undo` restores it.",
    role: "operator",
    params,
    query: z.strictObject({
      dry_run: z.boolean().optional().meta({ description: "only return the differences" }),
    }),
    body: z.strictObject({ ...edit, note: sentence.optional() }),
    response: z.looseObject({
      dry_run: z.boolean(),
      changed: z.boolean(),
      changes: z.array(change),
      data,
      operation: operation.nullable(),
      letter,
    }),
    errors: [
      ...found,
      "illegal_move",
      "filter_invalid",
      "usage",
      "precondition_failed",
      "precondition_required",
    ],
    needsRevision: true,
  },
} as const satisfies Routes;
