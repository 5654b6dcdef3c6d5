/** Handlers of the routes of queues. */
import { requireQueue } from "../../queue/find-job.ts";
import { listQueues, queueToJson, summariseQueue } from "../../queue/queue-status.ts";
import type { Handler } from "../context.ts";
import type { queueRoutes } from "../contract/queues.ts";

type Routes = typeof queueRoutes;

export const queueHandlers: { readonly [Name in keyof Routes]: Handler<Routes[Name]> } = {
  "GET /queues": async ({ engine }) => ({ queues: (await listQueues(engine)).map(queueToJson) }),

  "GET /queues/{queue}": async ({ engine }, { params }) =>
    queueToJson(await summariseQueue(engine, await requireQueue(engine, params.queue))),
};
