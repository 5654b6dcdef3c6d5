/** Gives letters up, with a reason, and brings them back. Their data and history stay where they are. */
import type { Engine } from "../engine.ts";
import type { Operation } from "../item/operation.ts";
import { beginSelected } from "./operation.ts";
import type { Selection } from "./select.ts";
import { selectionFor } from "./selection-for.ts";
import { workThrough } from "./work-through.ts";

export interface DiscardRequest {
  readonly queue: string;
  readonly selection: Selection;
  readonly author: string;
  /** Kept with each letter. */
  readonly reason: string;
  /** Ends the work between two steps; the operation stays open. */
  readonly signal?: AbortSignal;
}

/** Discards the dead letters that are selected now. */
export async function discardLetters(engine: Engine, request: DiscardRequest): Promise<Operation> {
  const selection = selectionFor("discard", request.selection);
  const begun = await beginSelected(engine, { ...request, kind: "discard", selection });
  return continueDiscard(engine, begun, request);
}

/** Makes discarded letters dead again. */
export async function restoreLetters(
  engine: Engine,
  request: Omit<DiscardRequest, "reason">,
): Promise<Operation> {
  const selection = selectionFor("restore", request.selection);
  const begun = await beginSelected(engine, { ...request, kind: "restore", selection });
  return continueDiscard(engine, begun, request);
}

/** Small enough that other writers get their turn. */
const CHUNK_MAX = 500;

/** Works a discard or a restore to its end from wherever it is. */
export function continueDiscard(
  engine: Engine,
  operation: Operation,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Operation> {
  return workThrough(engine, operation, {
    chunkMax: CHUNK_MAX,
    signal,
    stepFor: async (pending) => ({ letters: pending.map(({ burial }) => ({ burial })) }),
  });
}
