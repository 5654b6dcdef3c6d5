/** Handlers of the routes of selections and operations. */
import { RedriveError } from "../../errors.ts";
import { operationToJson } from "../../item/operation.ts";
import { requireJob } from "../../queue/find-job.ts";
import { shownOperationToJson, showOperation } from "../../queue/shown-operation.ts";
import { editToJson } from "../../redrive/amend.ts";
import { cancelOperation, pauseOperation, reopen } from "../../redrive/change-operation.ts";
import { listStarted, requireOperation, requireStarted } from "../../redrive/operation.ts";
import { isCanary } from "../../redrive/plan.ts";
import { undoOperation } from "../../redrive/undo.ts";
import { compact } from "../../std/json.ts";
import type { Handler } from "../context.ts";
import { PAGE_DEFAULT } from "../contract/filter.ts";
import type { operationRoutes } from "../contract/operations.ts";
import { startHeld } from "../held-selection.ts";
import { requireRunnable } from "../operation-runner.ts";
import { previewSelection } from "../preview.ts";

type Routes = typeof operationRoutes;

export const operationHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "POST /selections": async (context, { body }) => previewSelection(context, body),

  "POST /operations": async ({ engine, author, runner }, { body }) => {
    const { selection_id: id, count, reason } = body;
    const operation = await startHeld(engine, { id, count, author });
    const details = compact({ operation_id: id, kind: operation.kind, count, reason });
    await engine.recordChange({ action: "operation_started", queue: operation.queue, details });
    runner.start(operation);
    return operationToJson(operation);
  },

  "GET /operations": async ({ engine }, { query }) => {
    const { job, open, limit = PAGE_DEFAULT, cursor = "0" } = query;
    const queue = job === undefined ? {} : { queue: (await requireJob(engine, job)).id };
    const started = (await listStarted(engine, { ...queue, ...(open && { open }) })).toReversed();
    const start = Number(cursor);
    const page = started.slice(start, start + limit);
    const end = start + page.length;
    return { operations: page.map(operationToJson), next: end < started.length ? String(end) : null };
  },

  "GET /operations/{operation_id}": async ({ engine }, { params }) =>
    shownOperationToJson(await showOperation(engine, params.operation_id)),

  "POST /operations/{operation_id}/pause": async ({ engine }, { params }) =>
    operationToJson(
      await pauseOperation(engine, requireStarted(await requireOperation(engine, params.operation_id))),
    ),

  "POST /operations/{operation_id}/resume": async (context, { params }) => {
    const { engine, runner } = context;
    const found = requireStarted(await requireOperation(engine, params.operation_id));
    requireRunnable(context, await requireJob(engine, found.queue), isCanary(found));
    const operation = await reopen(engine, found);
    if (operation.endedAt !== undefined)
      throw new RedriveError("illegal_move", `${operation.id} has already ended.`);
    runner.start(operation);
    return operationToJson(operation);
  },

  "POST /operations/{operation_id}/cancel": async ({ engine }, { params }) =>
    operationToJson(await cancelOperation(engine, await requireOperation(engine, params.operation_id))),

  "POST /operations/{operation_id}/undo": async ({ engine, author, stopping }, { params }) => {
    const operation = requireStarted(await requireOperation(engine, params.operation_id));
    const undone = await undoOperation(engine, operation, { author, signal: stopping });
    if (undone.by === "operation") {
      const toJson = undone.operation.kind === "edit" ? editToJson : operationToJson;
      return { ...toJson(undone.operation), undoes: operation.id };
    }
    const { imported, extended, existing } = undone.report;
    const counts = { selected: operation.done, done: imported + extended, refused: existing };
    return { undoes: operation.id, job_id: operation.queue, ...counts };
  },
};
