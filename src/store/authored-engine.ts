/**
 * An engine that adds an author to every change. Commands, programs and requests each open one, so that the
 * functions in between need no parameter for the author.
 */
import type { Engine } from "../engine.ts";

/** Returns the same store. Its changes name the author in the audit unless the caller names another one. */
export function authoredEngine(engine: Engine, author: string): Engine {
  return {
    ...engine,
    createJob: (job) => engine.createJob({ author, ...job }),
    changeJob: (id, change) => engine.changeJob(id, { author, ...change }),
    changeOperation: (id, change) => engine.changeOperation(id, { author, ...change }),
    recordChange: (change) => engine.recordChange({ author, ...change }),
    writeDocument: (name, { change, ...document }) =>
      engine.writeDocument(name, { ...document, ...(change && { change: { author, ...change } }) }),
  };
}
