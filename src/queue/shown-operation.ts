/** An operation as commands and the server show it, and whether it is waiting for a worker. Read-only. */
import type { Engine } from "../engine.ts";
import { isStanding } from "../item/job.ts";
import type { Operation } from "../item/operation.ts";
import { type OperationView, operationViewToJson, viewOperation } from "../redrive/operation-view.ts";
import type { JsonObject } from "../std/json.ts";
import { hasRunner } from "./job-summary.ts";

export interface ShownOperation extends OperationView {
  /** Whether the operation cannot continue because no worker is processing its queue. */
  readonly waitsForWorker: boolean;
}

export async function showOperation(engine: Engine, id: string): Promise<ShownOperation> {
  const view = await viewOperation(engine, id);
  return { ...view, waitsForWorker: await waitsForWorker(engine, view.operation) };
}

/** Only workers process queues. Letters of jobs are run by the process that retries them. */
async function waitsForWorker(engine: Engine, { kind, status, endedAt, queue }: Operation): Promise<boolean> {
  if (kind !== "redrive" || status !== "open" || endedAt !== undefined) return false;
  const job = await engine.findJob(queue);
  return job !== null && isStanding(job) && !(await hasRunner(engine, queue));
}

export function shownOperationToJson(shown: ShownOperation): JsonObject {
  return { ...operationViewToJson(shown), waits_for_worker: shown.waitsForWorker };
}
