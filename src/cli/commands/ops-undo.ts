/** `redrive ops undo`: takes an operation back. */
import { type Operation, operationToJson } from "../../item/operation.ts";
import type { JsonObject } from "../../kit/json.ts";
import { editToJson } from "../../redrive/amend.ts";
import { isOver } from "../../redrive/change-operation.ts";
import { requireOperation } from "../../redrive/find-operation.ts";
import { refuseUndo, type Undone, undoOperation } from "../../redrive/undo.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import { emptyBooks } from "../bulk.ts";
import { changeExitCode, interruptible } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { leftText, lettersText } from "../operation-text.ts";
import { refreshDirectories } from "../refresh-directories.ts";

export async function opsUndo(context: Context, id: string, flags: { yes?: boolean }): Promise<number> {
  const operation = await context.withStore((engine) => requireOperation(engine, id));
  refuseUndo(operation);
  const { kind, done, queue } = operation;
  if (!flags.yes && done > 1)
    await askFirst(context, `Take back the ${kind} of ${lettersText(done)} of ${queue}?`);
  const author = authorOf(context.terminal.env);
  const { result: undone, interrupted } = await interruptible(context, async (engine, signal) => {
    const taken = await undoOperation(engine, operation, { author, signal });
    await refreshDirectories(context, engine, { jobIds: [queue], count: countOf(taken) });
    return taken;
  });
  context.answer(undoneToJson(operation, undone), () => undoneText(operation, undone));
  if (undone.by === "operation") return changeExitCode({ result: undone.operation, interrupted });
  if (interrupted === null) return EXIT.done;
  context.note("Interrupted: the same command again brings back the rest.");
  return interrupted;
}

function countOf(undone: Undone): number {
  return undone.by === "operation" ? undone.operation.done : undone.report.imported + undone.report.extended;
}

function undoneToJson({ id, queue, kind, done }: Operation, undone: Undone): JsonObject {
  if (undone.by === "operation")
    return undone.operation.kind === "edit"
      ? editToJson(undone.operation)
      : operationToJson(undone.operation);
  const { report, archive } = undone;
  const count = report.imported + report.extended;
  const books = { undoes: id, selected: done, done: count, succeeded: count, refused: report.existing };
  return emptyBooks(kind, queue, { ...books, archive, ...report });
}

function undoneText({ id, kind, queue }: Operation, undone: Undone): string {
  if (undone.by === "import") {
    const { imported, extended, existing } = undone.report;
    const left = existing > 0 ? `; ${existing} were left alone, for their items are there` : "";
    return `Brought back ${lettersText(imported + extended)} of ${queue} from ${undone.archive}${left}.\n`;
  }
  const { id: own, done, refused } = undone.operation;
  const left = isOver(undone.operation) ? "" : `, ${leftText(undone.operation)}`;
  const why = refused > 0 ? `, ${refused} refused (redrive ops show ${own} says why)` : "";
  return `Took back the ${kind} ${id}: ${lettersText(done)} of ${queue}${why}${left}.\n`;
}
