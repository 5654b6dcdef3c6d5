/** Discards letters with a reason, and restores them. Their data and history are kept. */
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import { type BulkRequest, beginSelected, type Interruptible, workThrough } from "./operation.ts";
import { selectionFor } from "./select.ts";

/** The letters to discard, and the reason. */
export interface DiscardRequest extends BulkRequest {
  /** Stored with each letter. */
  readonly reason: string;
}

/** Discards the dead letters that match now. */
export async function discardLetters(engine: Engine, request: DiscardRequest): Promise<Operation> {
  const selection = selectionFor("discard", request.selection);
  const begun = await beginSelected(engine, { ...request, kind: "discard", selection });
  return continueDiscard(engine, begun, request);
}

/** Makes discarded letters dead again. */
export async function restoreLetters(engine: Engine, request: BulkRequest): Promise<Operation> {
  const selection = selectionFor("restore", request.selection);
  const begun = await beginSelected(engine, { ...request, kind: "restore", selection });
  return continueDiscard(engine, begun, request);
}

/** Small, so that a step does not block other writers for long. */
const CHUNK_MAX = 500;

/** Runs a discard or a restore from its last completed step to the end. */
export function continueDiscard(
  engine: Engine,
  operation: Operation,
  { signal }: Interruptible = {},
): Promise<Operation> {
  return workThrough(engine, operation, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending) => ({ letters: pending.map(({ letterSequence }) => ({ letterSequence })) }),
  });
}
