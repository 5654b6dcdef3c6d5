/** Routes of groups. */
import * as z from "zod";
import { GROUP_STATES } from "../../item/group.ts";
import { GROUP_ORDERS } from "../../item/letter-query.ts";
import { count, explanation, group, groupDetails } from "./documents.ts";
import { limit, name, person } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "groups";

/** The sort orders of a list of groups. */
const params = z.strictObject({ group: name });
const found = ["group_not_found", "ambiguous"] as const;

const suggested = z.looseObject({
  signature: z.string(),
  pattern: z.string(),
  count,
  differs_in: z
    .string()
    .meta({ description: "the word in which the group differs; empty for the first one" }),
});

export const groupRoutes = {
  "GET /groups": {
    id: "listGroups",
    tag,
    summary: "List groups of letters with the same failure, largest first.",
    role: "viewer",
    isShared: true,
    query: z.strictObject({
      job: name.optional(),
      queue: name.optional(),
      state: z
        .array(z.enum([...GROUP_STATES, "all"]))
        .min(1)
        .optional()
        .meta({ description: "default: open" }),
      trend: z
        .boolean()
        .optional()
        .meta({ description: "add the number of letters for each of the last 24 hours" }),
      helped: z.boolean().optional().meta({ description: "add the fix that resolved the most letters" }),
      search: z
        .string()
        .min(1)
        .max(1000)
        .optional()
        .meta({ description: "the title or the location contains this text, ignoring case" }),
      assignee: person.optional().meta({ description: "groups that are assigned to this person" }),
      sort: z
        .enum(GROUP_ORDERS)
        .optional()
        .meta({ description: "`letters`: most letters first (default); `last`, `first`: newest first" }),
      samples: z
        .boolean()
        .optional()
        .meta({ description: "also return the ids of a few items from each group" }),
      limit,
      cursor: z
        .string()
        .regex(/^[\w-]{1,400}$/)
        .optional(),
    }),
    response: z.looseObject({
      groups: z.array(group),
      total: count,
      next: z.string().nullable(),
      left_out: z.looseObject({ open: count, resolved: count, ignored: count }),
      algorithm: z.string(),
    }),
    errors: ["job_not_found"],
  },
  "GET /groups/suggestions": {
    id: "suggestMerges",
    tag,
    summary: "List groups that differ in only one word, as candidates for a merge.",
    description: "They may have the same cause. `POST /groups/merge` merges them.",
    role: "viewer",
    isShared: true,
    query: z.strictObject({
      job: name.optional().meta({ description: "compare groups of this job (default: of all jobs)" }),
      limit,
    }),
    response: z.looseObject({
      suggestions: z.array(
        z.looseObject({ common: z.string(), into: z.string(), groups: z.array(suggested).min(1) }),
      ),
      total: count,
    }),
    errors: ["job_not_found"],
  },
  "GET /groups/{group}": {
    id: "showGroup",
    tag,
    summary: "Show a group: letters, samples, notes, and earlier fixes.",
    role: "viewer",
    isShared: true,
    params,
    response: groupDetails,
    errors: found,
  },
  "GET /groups/{group}/explain": {
    id: "explainGroup",
    tag,
    summary: "Explain why failures belong to a group.",
    role: "viewer",
    params,
    response: explanation,
    errors: found,
  },
} as const satisfies Routes;
