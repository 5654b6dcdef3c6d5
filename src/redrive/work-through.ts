/** Works an operation to its end, chunk by chunk, from wherever it is: what every kind but the redrive has in common. */
import type { Engine } from "../engine.ts";
import type { Operation, OperationStep, SelectedLetter } from "../item/operation.ts";
import { completeSelection } from "./operation.ts";

export interface WorkOptions {
  /** Letters in one atomic step. */
  readonly chunkMax: number;
  /** What the next step does with these letters. */
  readonly stepFor: (pending: readonly SelectedLetter[], operation: Operation) => Promise<OperationStep>;
  /** Told when the store has it. */
  readonly onStep?: (operation: Operation) => Promise<void> | void;
  /** Ends the work after the step that is under way; the operation stays open. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the operation when nothing of it is pending, or when somebody has paused, cancelled or interrupted it. */
export async function workThrough(
  engine: Engine,
  begun: Operation,
  { chunkMax, stepFor, onStep, signal }: WorkOptions,
): Promise<Operation> {
  let operation = await completeSelection(engine, begun, signal);
  while (operation.status === "open" && !signal?.aborted) {
    const pending = await engine.listSelected(begun.id, { status: "pending", limit: chunkMax });
    if (pending.length === 0) return engine.closeOperation(begun.id);
    operation = await engine.advance(begun.id, await stepFor(pending, operation));
    await onStep?.(operation);
    await new Promise(setImmediate); // a store that never makes us wait would let no signal be heard before the end
  }
  return operation;
}
