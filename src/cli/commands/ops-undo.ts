/** `redrive ops undo`: takes an operation back. */
import { type Operation, operationToJson } from "../../item/operation.ts";
import type { JsonObject } from "../../kit/json.ts";
import { editToJson } from "../../redrive/amend.ts";
import { requireOperation } from "../../redrive/find-operation.ts";
import { refuseUndo, type Undone, undoOperation } from "../../redrive/undo.ts";
import { askFirst } from "../ask.ts";
import { authorOf } from "../author.ts";
import { bulkExitCode, emptyBooks } from "../bulk.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { lettersText } from "../operation-text.ts";

export async function opsUndo(context: Context, id: string, flags: { yes?: boolean }): Promise<number> {
  const operation = await context.withStore((engine) => requireOperation(engine, id));
  refuseUndo(operation);
  const { kind, done, queue } = operation;
  if (!flags.yes && done > 1)
    await askFirst(context, `Take back the ${kind} of ${lettersText(done)} of ${queue}?`);
  const author = authorOf(context.terminal.env);
  const undone = await context.withStore((engine) => undoOperation(engine, operation, { author }));
  context.answer(undoneToJson(operation, undone), () => undoneText(operation, undone));
  return undone.by === "operation" ? bulkExitCode(undone.operation) : EXIT.done;
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
  const why = refused > 0 ? `, ${refused} refused (redrive ops show ${own} says why)` : "";
  return `Took back the ${kind} ${id}: ${lettersText(done)} of ${queue}${why}.\n`;
}
