/** Routes that change groups. */
import * as z from "zod";
import { count, groupDetails, time } from "./documents.ts";
import { name, person, sentence } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "groups";
const params = z.strictObject({ group: name });
const known = ["group_not_found", "ambiguous"] as const;
const noted = z.strictObject({ note: sentence.optional() });

const corrected = z.looseObject({ signature: z.string(), pattern: z.string(), moved: count });

const correction = z.looseObject({
  kind: z.enum(["merge", "split"]),
  from: z.string(),
  to: z.string(),
  text: z.string().optional(),
  author: z.string(),
  at: time,
});

export const groupActionRoutes = {
  "POST /groups/{group}/resolve": {
    id: "resolveGroup",
    tag,
    summary: "Mark a group as resolved: its cause is fixed.",
    description: "A new failure reopens the group as a regression.",
    role: "operator",
    params,
    body: noted,
    response: groupDetails,
    errors: known,
  },
  "POST /groups/{group}/open": {
    id: "openGroup",
    tag,
    summary: "Reopen a group that was resolved or ignored.",
    role: "operator",
    params,
    body: noted,
    response: groupDetails,
    errors: known,
  },
  "POST /groups/{group}/ignore": {
    id: "ignoreGroup",
    tag,
    summary: "Hide a group from lists until a time, a count or a rate is reached.",
    role: "operator",
    params,
    body: noted.extend({
      until: z.string().max(64).optional().meta({ description: "a time, or a duration from now" }),
      count: z.number().int().min(1).max(1_000_000_000).optional(),
      per_hour: z.number().int().min(1).max(1_000_000_000).optional(),
    }),
    response: groupDetails,
    errors: [...known, "usage"],
  },
  "POST /groups/{group}/assign": {
    id: "assignGroup",
    tag,
    summary: "Assign a group to a person, or remove its assignee.",
    role: "operator",
    params,
    body: z.strictObject({
      assignee: person.nullable().meta({ description: "any name; null removes the assignee" }),
    }),
    response: groupDetails,
    errors: known,
  },
  "POST /groups/{group}/notes": {
    id: "addGroupNote",
    tag,
    summary: "Add a note to a group.",
    role: "operator",
    params,
    body: z.strictObject({ text: sentence }),
    response: groupDetails,
    status: 201,
    errors: known,
  },
  "POST /groups/{group}/split": {
    id: "splitGroup",
    tag,
    summary: "Split off the failures whose message contains a text. This also applies to later failures.",
    role: "operator",
    params,
    body: z.strictObject({ text: sentence, name: sentence.max(200).optional() }),
    response: corrected,
    errors: known,
  },
  "POST /groups/merge": {
    id: "mergeGroups",
    tag,
    summary: "Merge groups into another one. This also applies to later failures.",
    role: "operator",
    body: z.strictObject({ groups: z.array(name).min(1).max(100), into: name }),
    response: corrected,
    errors: known,
  },
  "POST /groups/rebuild": {
    id: "rebuildGroups",
    tag,
    summary: "Regroup letters with the current algorithm, rules and corrections.",
    role: "admin",
    body: z.strictObject({ job: name.optional(), dry_run: z.boolean().optional() }),
    response: z.looseObject({ letters: count, changed: count, groups_before: count, groups_after: count }),
    errors: ["job_not_found"],
    isRepeatable: true,
  },
  "POST /groups/preview": {
    id: "previewGrouping",
    tag,
    summary: "Compute the signature and the pattern of error messages without storing anything.",
    role: "viewer",
    body: z.strictObject({ texts: z.array(z.string().max(10_000)).min(1).max(1000) }),
    response: z.looseObject({
      groups: z.array(z.looseObject({ signature: z.string(), pattern: z.string() })),
    }),
    errors: [],
    isRepeatable: true,
  },
  "GET /corrections": {
    id: "listCorrections",
    tag,
    summary: "List merges and splits, oldest first.",
    role: "viewer",
    response: z.looseObject({ corrections: z.array(correction) }),
    errors: [],
  },
  "POST /corrections/remove": {
    id: "removeCorrection",
    tag,
    summary: "Remove a merge or a split; a rebuild then regroups its letters.",
    role: "operator",
    body: z.strictObject({ from: name, text: z.string().max(4000).optional() }),
    response: z.looseObject({ removed: z.boolean() }),
    errors: [],
    isRepeatable: true,
  },
} as const satisfies Routes;
