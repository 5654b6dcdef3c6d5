/** Read-only tools: overview, groups, letters, the preview of an edit, and the progress of operations. */
import * as z from "zod";
import { isJsonObject, type Json, type JsonObject, stringifyJson } from "../../std/json.ts";
import { count, time } from "../contract/documents.ts";
import { itemId, type LetterFilterWords, letterFilter, name } from "../contract/filter.ts";
import { edit } from "../contract/letters.ts";
import { ROUTES } from "../contract.ts";
import { answerOf } from "./answer.ts";
import { pageAnswer, textAnswer } from "./pages.ts";
import type { RouteCaller } from "./route-caller.ts";
import { fieldsOf } from "./shrink.ts";
import { tool } from "./tool.ts";

export const LIMIT_MAX = 50;
const limit = z.number().int().min(1).max(LIMIT_MAX).optional().meta({ description: "default: 20" });
const cursor = z
  .string()
  .min(1)
  .max(8192)
  .optional()
  .meta({ description: "the `next` value of the previous answer" });
export const address = {
  queue: name.meta({ description: "the `queue` or `job_id` of the letter" }),
  item_id: itemId,
} as const;

const numbered = z.looseObject({ number: count });

const overview = tool({
  title: "Overview",
  description:
    "Start here: every queue and job with items by state, dead letters, workers; and the operations that have not ended. Most letters first.",
  routes: ["GET /overview", "GET /operations"],
  effect: "reads",
  input: z.strictObject({ limit, cursor }),
  facts: z.looseObject({ at: time.optional(), total: count, queues: z.array(numbered) }),
  run: async (routes, { limit: asked = 20, cursor: from }) => {
    const { at, queues, redrives } = await routes.document("GET /overview", {});
    const { operations } = await routes.document("GET /operations", { query: { open: true, limit: 10 } });
    const sorted = listOf(queues).sort((a, b) => Number(b.dead_letters) - Number(a.dead_letters));
    const more = {
      at: at ?? null,
      total: sorted.length,
      redrives: redrives ?? {},
      operations: operations ?? [],
    };
    return pageAnswer("queues", { limit: asked, cursor: from }, async (page) => {
      const start = Number(page.cursor ?? 0);
      const records = sorted.slice(start, start + page.limit).map(({ counters: _, ...queue }) => queue);
      const end = start + records.length;
      return { records, next: end < sorted.length ? String(end) : null, total: sorted.length, more };
    });
  },
});

const listGroups = tool({
  title: "List groups",
  description:
    "Groups of letters with the same failure, largest first. Letters with the same cause are usually in one group.",
  routes: ["GET /groups"],
  effect: "reads",
  input: ROUTES["GET /groups"].query
    .omit({ limit: true, cursor: true, samples: true })
    .extend({ limit, cursor }),
  facts: z.looseObject({ total: count, groups: z.array(numbered) }),
  run: (routes, { limit: asked = 20, cursor: from, ...query }) =>
    pageAnswer("groups", { limit: asked, cursor: from }, async ({ total: _, ...page }) => {
      const found = await routes.document("GET /groups", { query: { ...query, ...page, samples: true } });
      const total = Number(found.total);
      const more = { total, left_out: found.left_out ?? {} };
      return { records: listOf(found.groups), next: nextOf(found), total, more };
    }),
});

const explainGroup = tool({
  title: "Explain a group",
  description:
    "Why failures are in this group, notes, what fixed it before, fields that its letters have in common, and similar groups.",
  routes: ["GET /groups/{group}", "GET /groups/{group}/explain", "GET /groups/{group}/fields"],
  effect: "reads",
  input: z.strictObject({ group: name.meta({ description: "the signature, or a unique prefix of it" }) }),
  facts: z.looseObject({ group: z.looseObject({ signature: z.string(), count }) }),
  run: async (routes, { group }) => {
    const params = { group };
    const shown = await routes.document("GET /groups/{group}", { params });
    const explanation = await routes.document("GET /groups/{group}/explain", { params });
    const common = await routes.document("GET /groups/{group}/fields", { params });
    return answerOf({ group: shown, explanation, common_fields: common });
  },
});

const listLetters = tool({
  title: "List letters",
  description:
    "Letters (items that failed for good), newest first, with the last message and the beginning of the data. All given conditions must hold.",
  routes: ["GET /letters", "GET /letters/count"],
  effect: "reads",
  input: letterFilter.extend({ sort: ROUTES["GET /letters"].query.shape.sort, limit, cursor }),
  facts: z.looseObject({ letters: z.array(numbered) }),
  run: (routes, { limit: asked = 20, cursor: from, sort, ...filter }) => {
    let counted: number | undefined;
    return pageAnswer("letters", { limit: asked, cursor: from }, async ({ total: known, ...page }) => {
      counted ??= known ?? (await countLetters(routes, filter));
      const query = { ...filter, ...page, ...(sort !== undefined && { sort }) };
      const found = await routes.document("GET /letters", { query });
      const records = listOf(found.items).map(briefLetter);
      return { records, next: nextOf(found), total: counted, more: { total: counted } };
    });
  },
});

async function countLetters(routes: RouteCaller, query: LetterFilterWords): Promise<number> {
  return Number((await routes.document("GET /letters/count", { query })).total);
}

/** The fields by which an agent selects a letter. `inspect_letter` returns the others. */
function briefLetter({ failure_history: failures, item_data: data, ...letter }: JsonObject): JsonObject {
  const last = fieldsOf(listOf(failures).at(-1));
  const { error_type = null, error_class = null, error_message = null, step_failed = null } = last;
  const { notes: _, amendments: __, error_pattern: ___, ...rest } = letter;
  return { ...rest, error_type, error_class, error_message, step_failed, item_data: stringifyJson(data) };
}

const PARTS = ["item_data", "failures", "notes", "amendments", "events"] as const;

const inspectLetter = tool({
  title: "Inspect a letter",
  description:
    "One letter: data, every failure, notes, edits, history, group. Lists begin with the newest. If `cut` names a part, read that part alone with `part` and `cursor`.",
  routes: ["GET /letters/{queue}/{item_id}"],
  effect: "reads",
  input: z.strictObject({ ...address, part: z.enum(PARTS).optional(), cursor }),
  facts: z.looseObject({ queue: z.string().optional(), total: count.optional() }),
  run: async (routes, { part, cursor: from, ...params }) => {
    const document = newestFirst(await routes.document("GET /letters/{queue}/{item_id}", { params }));
    if (part === undefined) return answerOf(document);
    return textAnswer(stringifyJson(document[part] ?? null, 2), from);
  },
});

function newestFirst({ failure_history, events, ...letter }: JsonObject): JsonObject {
  return { ...letter, failures: listOf(failure_history).reverse(), events: listOf(events).reverse() };
}

const previewEdit = tool({
  title: "Preview an edit",
  description:
    "What a correction would change in the data of one letter. Nothing is written. To apply it, use preview_change with the action edit.",
  routes: ["PATCH /letters/{queue}/{item_id}"],
  effect: "reads",
  input: z.strictObject({ ...address, ...edit }),
  facts: z.looseObject({ changed: z.boolean() }),
  run: async (routes, { queue, item_id, ...body }) => {
    const found = await routes.document("PATCH /letters/{queue}/{item_id}", {
      params: { queue, item_id },
      query: { dry_run: true },
      body,
      headers: { "if-match": "*" },
    });
    return answerOf({
      changed: found.changed ?? false,
      changes: found.changes ?? [],
      data: found.data ?? null,
    });
  },
});

const WAIT_SECONDS_MAX = 30;
const POLL_MS = 250;

const watchOperation = tool({
  title: "Watch an operation",
  description: "The progress of an operation, and which letters it refused and why. It can wait for the end.",
  routes: ["GET /operations/{operation_id}"],
  effect: "reads",
  input: z.strictObject({
    operation_id: name,
    wait_seconds: z
      .number()
      .int()
      .min(0)
      .max(WAIT_SECONDS_MAX)
      .optional()
      .meta({ description: "wait at most this long for the end; default: 0" }),
  }),
  facts: z.looseObject({ operation_id: z.string(), status: z.string(), selected: count, done: count }),
  run: async (routes, { operation_id, wait_seconds = 0 }) => {
    const { clock } = routes.context;
    const until = clock.monotonicNow() + wait_seconds * 1000;
    for (;;) {
      const shown = await routes.document("GET /operations/{operation_id}", { params: { operation_id } });
      const isOver = shown.ended_at !== undefined || shown.status === "paused";
      if (isOver || routes.signal.aborted || clock.monotonicNow() >= until) {
        return answerOf({ ...shown, canary: Boolean(fieldsOf(shown.plan).canary) });
      }
      await clock.sleep(POLL_MS, routes.signal);
    }
  },
});

export const readingTools = {
  overview,
  list_groups: listGroups,
  explain_group: explainGroup,
  list_letters: listLetters,
  inspect_letter: inspectLetter,
  preview_edit: previewEdit,
  watch_operation: watchOperation,
};

export function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function nextOf({ next }: JsonObject): string | null {
  return typeof next === "string" ? next : null;
}
