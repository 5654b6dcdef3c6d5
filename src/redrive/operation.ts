/**
 * Stage 7: sends letters back to work. The operation's books are the store's; a crash at any point leaves letters dead
 * or ready, never lost, and the operation goes on where it was.
 */
import type { Engine, LetterFilter, Operation } from "../engine.ts";
import type { JsonObject } from "../kit/json.ts";
import { randomName } from "../kit/random.ts";
import type { Patience } from "../runner/patience.ts";

/** Makes the record of a redrive of the letters that are there now. */
export function beginRedrive(
  engine: Engine,
  queue: string,
  filter: LetterFilter,
  force: boolean,
): Promise<Operation> {
  return engine.beginOperation({ id: `op-${randomName(8)}`, kind: "redrive", queue, filter, force });
}

/** Small enough that other writers get their turn, large enough that 100,000 letters take seconds. */
const CHUNK_MAX = 2000;

/** Yields how many letters each step sent back to ready. */
export async function* redriveAll(
  engine: Engine,
  begun: Operation,
  patience: Patience,
): AsyncGenerator<number> {
  let operation = begun;
  while (operation.redriven + operation.refused < operation.selected) {
    const before = operation.redriven;
    operation = await patience.through(() => engine.redrive(begun.id, CHUNK_MAX));
    yield operation.redriven - before;
  }
}

/** The form of an operation outside the process. */
/** What was begun and not finished, then, if wanted, all letters that are worth another try. */
export async function* redriveOnResume(
  engine: Engine,
  queue: string,
  options: { readonly withLetters: boolean; readonly patience: Patience },
): AsyncGenerator<number> {
  for (const operation of await engine.listOperations({ queue, open: true })) {
    yield* redriveAll(engine, operation, options.patience);
  }
  if (!options.withLetters) return;
  yield* redriveAll(engine, await beginRedrive(engine, queue, { eligible: true }, false), options.patience);
}

/** The document that every bulk command answers with. */
export function operationToJson(operation: Operation): JsonObject {
  const { selected, redriven, refused, succeeded, failed } = operation;
  return {
    operation_id: operation.id,
    selected,
    redriven,
    refused,
    succeeded,
    failed,
    remaining: redriven - succeeded - failed,
  };
}
