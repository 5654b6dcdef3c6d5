/** Handlers of the routes of receipt targets. */
import { Outbox } from "../../delivery/outbox.ts";
import { orderOf, receiptOf } from "../../delivery/receipt.ts";
import { type Recovery, requireReachable, surveyRecovery } from "../../delivery/recovery.ts";
import {
  listTargets,
  setTarget,
  summariseTarget,
  type TargetSettings,
  targetSpecOf,
  targetToJson,
} from "../../delivery/target-settings.ts";
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import { contentId, idProblem } from "../../intake/identity.ts";
import type { Job } from "../../item/job.ts";
import { operationToJson } from "../../item/operation.ts";
import { requireTarget } from "../../queue/find-job.ts";
import { beginRetry } from "../../run/retry.ts";
import { parseDuration } from "../../std/duration.ts";
import { compact, type JsonObject } from "../../std/json.ts";
import type { Handler } from "../context.ts";
import type { targetRoutes } from "../contract/targets.ts";
import { RequestError } from "../problem.ts";
import { pausing } from "./pausing.ts";
import { settingsFrom } from "./queues.ts";

type Routes = typeof targetRoutes;

const { pause, resume } = pausing(
  (engine, { target }: { readonly target: string }) => requireTarget(engine, target),
  shown,
);

export const targetHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /targets": async ({ engine }) => ({ targets: (await listTargets(engine)).map(targetToJson) }),

  "GET /targets/{target}": async ({ engine }, { params }) =>
    shown(engine, await requireTarget(engine, params.target)),

  "PUT /targets/{target}": async ({ engine }, { params, body }) => {
    const { url, protocol, tool, key_argument: keyArgument, headers, id_header: idHeader, ...others } = body;
    const { timeout, order_field: orderField, ...shared } = others;
    const { maxRetries: retries, ...settings } = settingsFrom(shared);
    const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, "timeout");
    const delivery = { url, protocol, tool, keyArgument, headers, idHeader, timeoutMs, orderField };
    return shown(
      engine,
      await setTarget(
        engine,
        params.target,
        compact({ ...settings, retries, ...delivery }) as TargetSettings,
      ),
    );
  },

  "GET /targets/{target}/recovery": async ({ engine }, { params }) =>
    recoveryToJson(await surveyRecovery(engine, params.target)),

  "POST /targets/{target}/recover": async ({ engine, author, runner }, { params, body }) => {
    const found = await surveyRecovery(engine, params.target);
    const { job, selection, letters, begun } = found;
    if (letters !== body.count)
      throw new RequestError("selection_changed", `${job.id} has ${letters} letters now. Nothing was sent.`, {
        hint: "Read GET /targets/{target}/recovery again.",
      });
    await requireReachable(engine, found);
    for (const operation of begun) runner.start(operation);
    const plan = compact({ canary: body.canary });
    const operation = await beginRetry(engine, { job, selection, author, force: true, plan });
    runner.start(operation);
    return operationToJson(operation);
  },

  "POST /targets/{target}/pause": pause,
  "POST /targets/{target}/resume": resume,

  "POST /targets/{target}/receipts": async ({ engine }, { params, body }) => {
    const target = await requireTarget(engine, params.target);
    const data = receiptOf(body.receipt);
    const key = body.key ?? contentId(data);
    const problem = idProblem(key);
    if (problem !== undefined) throw new RedriveError("usage", `The receipt key ${problem}.`);
    const orderingKey = orderOf(data, targetSpecOf(target).delivery.orderField);
    const isNew = await new Outbox(engine, target.id).add(compact({ itemId: key, data, orderingKey }));
    const details = { count: 1 };
    if (isNew)
      await engine.recordChange({ action: "receipts_sent", queue: target.id, item_id: key, details });
    return { key, is_new: isNew };
  },
};

function recoveryToJson({ job, letters, begun }: Recovery): JsonObject {
  return { target: job.id, count: letters, open_operations: begun.map(({ id }) => id) };
}

async function shown(engine: Engine, job: Job): Promise<JsonObject> {
  return targetToJson(await summariseTarget(engine, job));
}
