/**
 * Takes an operation back, as an operation of its own: an edit by a new revision with the former data, a discard by a
 * restore and the other way round. What was deleted is taken in again from its archive. Work that was done cannot be undone.
 */
import { readArchive } from "../dead-letter/archive.ts";
import type { Engine, ImportReport } from "../engine.ts";
import { WorkError } from "../errors.ts";
import type { Letter } from "../item/letter.ts";
import type { Operation, OperationKind } from "../item/operation.ts";
import { assert } from "../kit/assert.ts";
import { continueEdit } from "./amend.ts";
import { continueDiscard } from "./discard.ts";
import { beginSelected } from "./operation.ts";
import { archiveOf } from "./purge.ts";

/** What an undo was: a new operation, or letters that came back from an archive. */
export type Undone =
  | { readonly by: "operation"; readonly operation: Operation }
  | { readonly by: "import"; readonly archive: string; readonly report: ImportReport };

/** Takes it back, or says why that cannot be: `illegal_move`. */
export async function undoOperation(
  engine: Engine,
  operation: Operation,
  { author, signal }: { readonly author: string; readonly signal?: AbortSignal },
): Promise<Undone> {
  refuseUndo(operation);
  const { id, queue, kind } = operation;
  const request = { queue, author, undoes: id, selection: { filter: {} }, signal };
  if (kind === "edit")
    return undoneBy(continueEdit(engine, await beginSelected(engine, { ...request, kind }), request));
  if (kind === "discard" || kind === "restore") {
    const opposite = kind === "discard" ? "restore" : "discard";
    const reason = opposite === "discard" ? { reason: await reasonBefore(engine, operation) } : {};
    const begun = await beginSelected(engine, { ...request, kind: opposite, ...reason });
    return undoneBy(continueDiscard(engine, begun, request));
  }
  return importBack(engine, operation, signal);
}

/** Throws when it cannot be undone at all, for those who ask a person first. */
export function refuseUndo(operation: Operation): void {
  const { id, kind, status } = operation;
  if (kind === "redrive") {
    throw new WorkError("illegal_move", `The redrive ${id} cannot be undone: the work was done.`, {
      hint: "`redrive ops cancel` ends one that is not over; `redrive dlq list` shows what died again.",
    });
  }
  if (kind === "requeue") {
    throw new WorkError("illegal_move", `The requeue ${id} cannot be undone: its new items are in line.`, {
      hint: "`redrive queue hold` takes those out of the line; `redrive dlq restore` brings the letters back.",
    });
  }
  if (status !== "ended" && status !== "cancelled") {
    throw new WorkError("illegal_move", `The operation ${id} is not over.`, {
      hint: `\`redrive ops resume ${id}\` goes on with it, \`redrive ops cancel ${id}\` ends it; then it can be undone.`,
    });
  }
  if (DELETING.includes(kind) && archiveOf(operation) === null) {
    throw new WorkError("illegal_move", `The ${kind} ${id} cannot be undone: it has no archive.`, {
      hint: operation.done === 0 ? "It deleted nothing." : "What is deleted with --no-archive is gone.",
    });
  }
}

const DELETING: readonly OperationKind[] = ["purge", "clear", "evict"];

async function undoneBy(work: Promise<Operation>): Promise<Undone> {
  return { by: "operation", operation: await work };
}

/** The reason of the discard that the restore took back, when it was one. */
async function reasonBefore(engine: Engine, { id, undoes }: Operation): Promise<string> {
  const before = undoes === undefined ? null : await engine.findOperation(undoes);
  return before?.reason ?? `the restore ${id} was undone`;
}

const BATCH_MAX = 200;

/** What is there already is left alone, so that it can be done again after a crash. */
async function importBack(engine: Engine, operation: Operation, signal?: AbortSignal): Promise<Undone> {
  const { queue } = operation;
  const archive = archiveOf(operation);
  assert(archive !== null, `the operation ${operation.id} has no archive`);
  const report = { imported: 0, extended: 0, existing: 0 };
  for await (const batch of batches(readArchive(archive.path, archive.bytes))) {
    if (signal?.aborted) break;
    const part = await engine.importLetters(queue, batch);
    report.imported += part.imported;
    report.extended += part.extended;
    report.existing += part.existing;
  }
  return { by: "import", archive: archive.path, report };
}

async function* batches(letters: AsyncIterable<Letter>): AsyncGenerator<readonly Letter[]> {
  let batch: Letter[] = [];
  for await (const letter of letters) {
    batch.push(letter);
    if (batch.length < BATCH_MAX) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
