/**
 * The runner's own errors that end a run go into the error log of its queue. What is told to the user as a `WorkError` is
 * no such error: it has a name, and says what to do.
 */
import { hostname } from "node:os";
import type { Engine } from "../engine.ts";
import { WorkError } from "../errors.ts";

/** Does what the action does. What it throws is thrown on; that it could not be written down as well matters less. */
export async function tellingFaults<T>(engine: Engine, queue: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof WorkError)) await tell(engine, queue, error).catch(() => undefined);
    throw error;
  }
}

async function tell(engine: Engine, queue: string, error: unknown): Promise<void> {
  const message = error instanceof Error ? error.message : String(error);
  await engine.changeJob(queue, {
    event: { type: "runner_failed", data: { message, machine: hostname() } },
  });
}
