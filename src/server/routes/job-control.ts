/**
 * Handlers of the routes that control a running map or workflow. They store requests for the process that
 * runs it.
 */
import type { Engine } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { Item } from "../../item/item.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { refuseStanding, requireJob } from "../../queue/find-job.ts";
import { requestForItem, requestStop } from "../../queue/job-control.ts";
import { statusOf } from "../../queue/job-summary.ts";
import type { Handler, RequestContext } from "../context.ts";
import type { jobControlRoutes } from "../contract/job-control.ts";
import { requireExactItem } from "../find.ts";
import { jobDocument } from "./jobs.ts";
import { pausing } from "./pausing.ts";

type Routes = typeof jobControlRoutes;

const { pause, resume } = pausing(
  (engine, { job }: { readonly job: string }) => requireEnding(engine, job),
  jobDocument,
);

export const jobControlHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "POST /jobs/{job}/stop": async ({ engine, author }, { params }) => {
    const job = await requireEnding(engine, params.job);
    const status = await statusOf(engine, job);
    if (status !== "running")
      throw new RedriveError("illegal_move", `${job.id} is not running: it is ${status}.`, {
        hint: `To resume it: redrive resume ${job.id}`,
      });
    await requestStop(engine, job.id, author);
    return jobDocument(engine, job);
  },

  "POST /jobs/{job}/pause": pause,
  "POST /jobs/{job}/continue": resume,

  "POST /jobs/{job}/items/{item_id}/stop": async (context, { params }) => {
    const { engine, author } = context;
    const item = await requireItemIn(context, params, ["ready", "leased"], "stopped");
    const { queue, itemId, state } = item;
    if (state === "ready") await engine.hold(queue, [itemId], { author, reason: "stopped" });
    else await requestForItem(engine, queue, itemId, { action: "stop", author });
    return askedFor(item);
  },

  "POST /jobs/{job}/items/{item_id}/skip": async (context, { params }) => {
    const { engine, author } = context;
    const item = await requireItemIn(context, params, ["ready", "leased", "held"], "skipped");
    const { queue, itemId, state } = item;
    await requestForItem(engine, queue, itemId, { action: "skip", author });
    if (state === "held") await engine.unhold(queue, [itemId], { author });
    return askedFor(item);
  },

  "POST /jobs/{job}/items/{item_id}/continue": async (context, { params }) => {
    const { engine, author } = context;
    const item = await requireItemIn(context, params, ["held"], "continued");
    await engine.unhold(item.queue, [item.itemId], { author });
    return askedFor(item);
  },
};

/** Finds a map or a workflow. Queues never end and have their own routes. */
async function requireEnding(engine: Engine, name: string): Promise<Job> {
  const found = await requireJob(engine, name);
  return isStanding(found) ? refuseStanding(found) : found;
}

async function requireItemIn(
  { engine }: RequestContext,
  { job, item_id }: { readonly job: string; readonly item_id: string },
  states: readonly Item["state"][],
  done: string,
): Promise<Item> {
  const { id: queue } = await requireEnding(engine, job);
  const item = await requireExactItem(engine, { queue, item_id });
  if (states.includes(item.state)) return item;
  throw new RedriveError("illegal_move", `${item.itemId} cannot be ${done}: it is ${item.state}.`);
}

function askedFor({ queue, itemId, state }: Item) {
  return { job_id: queue, item_id: itemId, state };
}
