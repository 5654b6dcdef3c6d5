/**
 * Changes many letters for a person: Ctrl-C ends the change between two of its steps and leaves the operation open, and
 * the letter directory of the job follows what was done.
 */
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import { isOver } from "../redrive/change-operation.ts";
import { bulkExitCode } from "./bulk.ts";
import type { Context, StoreOptions } from "./context.ts";
import { listenForInterrupts } from "./interrupt.ts";
import { refreshDirectories } from "./refresh-directories.ts";

export interface Ended<T> {
  readonly result: T;
  /** The exit code when a signal came; null when none did. */
  readonly interrupted: number | null;
}

/** Work on the store that ends soon after its signal. */
export async function interruptible<T>(
  context: Context,
  work: (engine: Engine, signal: AbortSignal) => Promise<T>,
  options: StoreOptions = {},
): Promise<Ended<T>> {
  return context.withStore(async (engine) => {
    const interrupt = listenForInterrupts(
      () => context.note("Stopping after this step; what is done stays done. Again to force."),
      () => context.note("\nEnded."),
    );
    try {
      const result = await work(engine, interrupt.signal);
      return { result, interrupted: interrupt.exitCode };
    } finally {
      interrupt.dispose();
    }
  }, options);
}

/** An operation on the letters of one job. */
export function changeLetters(
  context: Context,
  change: (engine: Engine, signal: AbortSignal) => Promise<Operation>,
): Promise<Ended<Operation>> {
  return interruptible(context, async (engine, signal) => {
    const operation = await change(engine, signal);
    await refreshDirectories(context, engine, { jobIds: [operation.queue], count: operation.done });
    return operation;
  });
}

/** That of the signal when it has left something to do. */
export function changeExitCode({ result, interrupted }: Ended<Operation>): number {
  return isOver(result) ? bulkExitCode(result) : (interrupted ?? bulkExitCode(result));
}
