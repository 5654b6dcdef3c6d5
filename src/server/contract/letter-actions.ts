/** Routes that act on one letter, and downloads and streams of letters. */
import * as z from "zod";
import { EXPORT_FORMATS } from "../../dead-letter/import-export/reading.ts";
import { PRIORITIES } from "../../item/item.ts";
import { count, letter, operation } from "./documents.ts";
import { itemId, letterFilter, name, sentence } from "./filter.ts";
import type { Routes } from "./route.ts";

const tag = "letters";
const params = z.strictObject({ queue: name, item_id: itemId });
const found = ["job_not_found", "item_not_found"] as const;

/** A stream is a single file, so the format `directory` is excluded. */
const format = z.enum(EXPORT_FORMATS).exclude(["directory"]);

const evidenceFile = z.looseObject({
  number: count,
  attempt: count,
  path: z.string(),
  can_download: z.boolean(),
});

export const letterActionRoutes = {
  "POST /letters/{queue}/{item_id}/retry": {
    id: "retryLetter",
    tag,
    summary: "Retry one letter.",
    role: "operator",
    params,
    body: z.strictObject({ force: z.boolean().optional(), priority: z.enum(PRIORITIES).optional() }),
    response: operation,
    status: 202,
    errors: [...found, "illegal_move", "usage"],
  },
  "POST /letters/{queue}/{item_id}/discard": {
    id: "discardLetter",
    tag,
    summary: "Discard one letter with a reason.",
    role: "operator",
    params,
    body: z.strictObject({ reason: sentence }),
    response: operation,
    errors: [...found, "illegal_move"],
  },
  "POST /letters/{queue}/{item_id}/restore": {
    id: "restoreLetter",
    tag,
    summary: "Restore one discarded letter.",
    role: "operator",
    params,
    response: operation,
    errors: [...found, "illegal_move"],
  },
  "POST /letters/{queue}/{item_id}/notes": {
    id: "addLetterNote",
    tag,
    summary: "Add a note to a letter.",
    role: "operator",
    params,
    body: z.strictObject({ text: sentence }),
    response: letter,
    status: 201,
    errors: found,
  },
  "GET /letters/{queue}/{item_id}/evidence": {
    id: "listEvidence",
    tag,
    summary: "List the evidence files that the attempts of a letter reported.",
    role: "viewer",
    params,
    response: z.looseObject({ files: z.array(evidenceFile) }),
    errors: found,
  },
  "GET /letters/{queue}/{item_id}/evidence/{number}": {
    id: "downloadEvidence",
    tag,
    summary: "Download the stored copy of an evidence file.",
    role: "viewer",
    params: params.extend({ number: z.string().regex(/^\d{1,6}$/) }),
    response: { contentType: "application/octet-stream", description: "The file." },
    errors: [...found, "log_not_found", "range_invalid"],
  },
  "GET /letters/{queue}/{item_id}/changes": {
    id: "showLetterChanges",
    tag,
    summary: "Show what an attempt changed in its git worktree, as patches.",
    role: "viewer",
    params,
    response: z.looseObject({
      changes: z
        .looseObject({
          worktree_path: z.string(),
          branch_name: z.string(),
          base: z.string().nullable(),
          head: z.string().nullable(),
          commits: z.string().nullable().meta({ description: "the commits of the branch" }),
          uncommitted: z.string().nullable(),
        })
        .nullable()
        .meta({ description: "null if the letter has no worktree" }),
      missing: z.array(z.string()).meta({ description: "a sentence for each part that could not be read" }),
    }),
    errors: found,
  },
  "GET /letters/{queue}/{item_id}/capsule": {
    id: "downloadCapsule",
    tag,
    summary: "Download a file with everything needed to examine a letter elsewhere.",
    role: "operator",
    params,
    response: { contentType: "application/gzip", description: "The capsule, gzipped JSON." },
    errors: found,
  },
  "GET /letters/export": {
    id: "exportLetters",
    tag,
    summary: "Export letters as a stream, oldest first.",
    role: "viewer",
    query: letterFilter.extend({ format: format.optional().meta({ description: "default: jsonl" }) }),
    response: { contentType: "application/x-ndjson", description: "The letters in the requested format." },
    errors: ["job_not_found", "filter_invalid", "ambiguous"],
  },
  "POST /letters/import": {
    id: "importLetters",
    tag,
    summary: "Import letters from an export, which may be compressed.",
    role: "admin",
    query: z.strictObject({
      job: name.optional().meta({ description: "default: the job that each letter names" }),
      format: format.optional().meta({ description: "default: detected from the content" }),
      dry_run: z.boolean().optional(),
    }),
    bodyType: "application/octet-stream",
    response: z.looseObject({
      imported: count,
      extended: count,
      existing: count,
      refused_count: count,
      refused: z.array(z.looseObject({ where: z.string(), why: z.string() })),
      dry_run: z.boolean(),
    }),
    errors: ["usage", "input_invalid"],
    isRepeatable: true,
  },
  "GET /letters/analysis": {
    id: "analyzeLetters",
    tag,
    summary: "Analyze why letters died: groups, error types, times.",
    role: "viewer",
    query: letterFilter,
    response: z.looseObject({ total_items: count, pattern_groups: z.array(z.looseObject({ count })) }),
    errors: ["job_not_found", "filter_invalid", "ambiguous"],
  },
  "GET /letters/stats": {
    id: "letterStats",
    tag,
    summary: "Statistics of the dead letter queue.",
    role: "viewer",
    query: z.strictObject({ job: name.optional() }),
    response: z.looseObject({
      jobs: z.array(z.looseObject({ job_id: z.string() })),
      total: z.looseObject({}),
    }),
    errors: ["job_not_found"],
  },
} as const satisfies Routes;
