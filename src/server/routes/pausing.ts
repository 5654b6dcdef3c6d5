/** Handlers that pause and resume a queue, a target or a job. */
import type { Engine } from "../../engine.ts";
import type { Job } from "../../item/job.ts";
import type { RequestContext } from "../context.ts";

/** `find` finds the object by the path parameters, `show` returns its document. */
export function pausing<Params, Document>(
  find: (engine: Engine, params: Params) => Promise<Job>,
  show: (engine: Engine, job: Job) => Promise<Document>,
) {
  return {
    pause: async (
      { engine, author }: RequestContext,
      {
        params,
        body: { reason = "" },
      }: { readonly params: Params; readonly body: { reason?: string | undefined } },
    ) => {
      const { id } = await find(engine, params);
      return show(engine, await engine.changeJob(id, { pause: { author, reason } }));
    },
    resume: async ({ engine }: RequestContext, { params }: { readonly params: Params }) => {
      const { id } = await find(engine, params);
      return show(engine, await engine.changeJob(id, { pause: null }));
    },
  };
}
