/** Undoes an operation by its inverse, or imports deleted letters from their archive. */
import { readArchive } from "../dead-letter/archive.ts";
import { type Engine, type ImportReport, NOTHING_IMPORTED, sumOfReports } from "../engine.ts";
import { RedriveError } from "../errors.ts";
import type { Letter } from "../item/letter.ts";
import type { Operation, OperationKind } from "../item/operation.ts";
import { assert } from "../std/assert.ts";
import { continueEdit } from "./amend.ts";
import { continueDiscard } from "./discard.ts";
import { beginSelected, requireStarted } from "./operation.ts";
import { archiveOf } from "./purge.ts";

export type Undone =
  | { readonly by: "operation"; readonly operation: Operation }
  | { readonly by: "import"; readonly archive: string; readonly report: ImportReport };

/** Throws `illegal_move` if the operation cannot be undone. */
export async function undoOperation(
  engine: Engine,
  operation: Operation,
  { author, signal }: { author: string; signal?: AbortSignal },
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
  return importBack(engine, operation, { author, signal });
}

/** Throws if the operation cannot be undone, so that commands can check before they ask for confirmation. */
export function refuseUndo(operation: Operation): void {
  requireStarted(operation);
  const { id, kind, status, done } = operation;
  const refuse = (message: string, hint: string) => {
    throw new RedriveError("illegal_move", message, { hint });
  };
  if (kind === "redrive")
    refuse(
      `Redrive ${id} cannot be undone: its items have already run.`,
      "Run `redrive dlq list` to see which letters failed again.",
    );
  if (kind === "requeue")
    refuse(
      `Requeue ${id} cannot be undone: its new items are already queued.`,
      "Hold the new items with `redrive queue hold`, and restore the letters with `redrive dlq restore`.",
    );
  if (status !== "ended" && status !== "cancelled")
    refuse(
      `Operation ${id} has not ended.`,
      `Finish it with \`redrive ops resume ${id}\` or end it with \`redrive ops cancel ${id}\`, then undo it.`,
    );
  if (DELETING.includes(kind) && archiveOf(operation) === null)
    refuse(
      `The ${kind} ${id} cannot be undone: it has no archive.`,
      done === 0 ? "It deleted nothing." : "Letters deleted with --no-archive cannot be recovered.",
    );
}

const DELETING: readonly OperationKind[] = ["purge", "clear", "evict"];

async function undoneBy(work: Promise<Operation>): Promise<Undone> {
  return { by: "operation", operation: await work };
}

/** Returns the reason of the original discard, if the restore was the undo of one. */
async function reasonBefore(engine: Engine, { id, undoes }: Operation): Promise<string> {
  const before = undoes === undefined ? null : await engine.findOperation(undoes);
  return before?.reason ?? `the restore ${id} was undone`;
}

const BATCH_MAX = 200;

/** Imports the archived letters. Skips existing ones, so that the import can be repeated after a crash. */
async function importBack(
  engine: Engine,
  operation: Operation,
  { author, signal }: { readonly author: string; readonly signal: AbortSignal | undefined },
): Promise<Undone> {
  const { queue } = operation;
  const archive = archiveOf(operation);
  assert(archive !== null, `the operation ${operation.id} has no archive`);
  let report = NOTHING_IMPORTED;
  for await (const batch of batches(readArchive(archive.path, archive.bytes))) {
    if (signal?.aborted) break;
    report = sumOfReports(report, await engine.importLetters(queue, batch));
  }
  const details = { undoes: operation.id, count: report.imported + report.extended };
  await engine.recordChange({ author, action: "letters_imported", queue, details });
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
