/**
 * Tools that make changes: preview and start a bulk change, undo it, add notes. Agents get them only if
 * changes were allowed.
 */
import * as z from "zod";
import { planOf } from "../../redrive/plan.ts";
import type { JsonObject } from "../../std/json.ts";
import { count, time } from "../contract/documents.ts";
import { itemId, name, sentence } from "../contract/filter.ts";
import { selectionRequest } from "../contract/operations.ts";
import { answerOf } from "./answer.ts";
import type { RouteCaller } from "./route-caller.ts";
import { fieldsOf } from "./shrink.ts";
import { AgentRefusal, tool } from "./tool.ts";

/** Only people may delete. */
const AGENT_ACTIONS = ["retry", "edit", "discard", "restore"] as const;

/** A retry of more letters requires a canary. */
export const CANARY_ABOVE = 10;

const previewChange = tool({
  title: "Preview a change",
  description: `Select letters for a retry, an edit, a discard or a restore, and see what would happen. No letter is changed. Returns a selection_id and a count, which start_change needs within 15 minutes. A retry of more than ${CANARY_ABOVE} letters needs canary: true, and a canary needs a worker.`,
  routes: ["POST /selections", "GET /queues/{queue}"],
  effect: "adds",
  input: selectionRequest.extend({
    action: z.enum(AGENT_ACTIONS),
    reason: sentence.meta({ description: "the reason, stored with the operation" }),
  }),
  facts: z.looseObject({
    selection_id: z.string(),
    count,
    refused: count,
    expires_at: time,
    canary_needed: z.boolean(),
  }),
  run: async (routes, body) => {
    const held = await routes.document("POST /selections", { body });
    const needed = needsCanary(body.action, Number(held.count)) && !isCautious(body.canary);
    return answerOf({ ...held, canary_needed: needed, ...(await workersOf(routes, String(held.job_id))) });
  },
});

/** The workers of a queue. Without one, a retry waits. Jobs have no workers. */
async function workersOf(routes: RouteCaller, queue: string): Promise<JsonObject> {
  const job = await routes.context.engine.findJob(queue);
  if (job === null || job.kind !== "queue") return {};
  const { workers } = await routes.document("GET /queues/{queue}", { params: { queue } });
  return { workers: Array.isArray(workers) ? workers.length : 0 };
}

const startChange = tool({
  title: "Start a change",
  description:
    "Start the change of a selection. Needs the selection_id and the count that preview_change returned, and a reason. If a letter has changed since, nothing is started.",
  routes: ["POST /operations", "GET /operations/{operation_id}"],
  effect: "changes",
  input: z.strictObject({
    selection_id: name,
    count: z.number().int().min(0),
    reason: sentence.meta({ description: "why this change is right; shown in the audit" }),
  }),
  facts: z.looseObject({ operation_id: z.string(), kind: z.string(), status: z.string(), selected: count }),
  run: async (routes, body) => {
    await requireCanary(routes, body.selection_id);
    return answerOf(await routes.document("POST /operations", { body }));
  },
});

/** An unknown selection is left to the route, which has a better error message. */
async function requireCanary({ context }: RouteCaller, id: string): Promise<void> {
  const held = await context.engine.findOperation(id);
  if (held === null || isCautious(planOf(held).canary) || held.kind !== "redrive") return;
  if (!needsCanary("retry", held.selected)) return;
  throw new AgentRefusal(
    `A retry of ${held.selected} letters needs a canary, because it is more than ${CANARY_ABOVE}. Make a new selection with preview_change and canary: true.`,
  );
}

/** A canary of many letters provides no safety. */
function isCautious(canary: boolean | number | undefined): boolean {
  return typeof canary === "number" ? canary <= CANARY_ABOVE : canary === true;
}

function needsCanary(action: string, letters: number): boolean {
  return action === "retry" && letters > CANARY_ABOVE;
}

const undoOperation = tool({
  title: "Undo an operation",
  description:
    "Undo an edit, a discard or a restore. A retry that is still open is cancelled: letters that it has not sent stay as they are.",
  routes: [
    "GET /operations/{operation_id}",
    "POST /operations/{operation_id}/undo",
    "POST /operations/{operation_id}/cancel",
  ],
  effect: "changes",
  input: z.strictObject({ operation_id: name }),
  facts: z.looseObject({}),
  run: async (routes, params) => {
    const shown = await routes.document("GET /operations/{operation_id}", { params });
    if (shown.kind === "redrive" && shown.ended_at === undefined)
      return answerOf(await routes.document("POST /operations/{operation_id}/cancel", { params }));
    return answerOf(await routes.document("POST /operations/{operation_id}/undo", { params }));
  },
});

const writeNote = tool({
  title: "Write a note, resolve a group",
  description:
    "Add a note to a letter (queue and item_id) or to a group. With `resolve`, also mark the group as resolved; a new failure reopens it.",
  routes: [
    "POST /letters/{queue}/{item_id}/notes",
    "POST /groups/{group}/notes",
    "POST /groups/{group}/resolve",
  ],
  effect: "adds",
  input: z.strictObject({
    text: sentence,
    group: name.optional().meta({ description: "the signature, or a unique prefix of it" }),
    queue: name.optional(),
    item_id: itemId.optional(),
    resolve: z.literal(true).optional(),
  }),
  facts: z.looseObject({}),
  run: async (routes, { text, group, queue, item_id, resolve }) => {
    if (group !== undefined && queue === undefined && item_id === undefined)
      return answerOf({ group: await noteGroup(routes, { group, text, resolve: resolve === true }) });
    if (group !== undefined || queue === undefined || item_id === undefined || resolve)
      throw new AgentRefusal("Give either group, or queue and item_id. Only a group can be resolved.");
    const params = { queue, item_id };
    const { notes = [] } = await routes.document("POST /letters/{queue}/{item_id}/notes", {
      params,
      body: { text },
    });
    return answerOf({ queue, item_id, notes });
  },
});

async function noteGroup(
  routes: RouteCaller,
  { group, text, resolve }: { readonly group: string; readonly text: string; readonly resolve: boolean },
): Promise<JsonObject> {
  const params = { group };
  if (resolve) return routes.document("POST /groups/{group}/resolve", { params, body: { note: text } });
  return fieldsOf(await routes.document("POST /groups/{group}/notes", { params, body: { text } }));
}

export const changingTools = {
  preview_change: previewChange,
  start_change: startChange,
  undo_operation: undoOperation,
  write_note: writeNote,
};
