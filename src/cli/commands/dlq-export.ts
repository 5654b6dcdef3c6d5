/** `redrive dlq export`: letters to a file, a folder or stdout. */
import { resolve } from "node:path";
import { type Exported, exportLetters } from "../../dead-letter/exchange/export.ts";
import type { ExportFormat } from "../../dead-letter/exchange/format.ts";
import { WorkError } from "../../errors.ts";
import { selectLetters } from "../../redrive/select.ts";
import { interruptible } from "../change-letters.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { requirePath } from "../option.ts";
import { jobFrom, type SelectionFlags, selectionIn } from "../selection.ts";

export interface ExportFlags extends SelectionFlags {
  readonly format?: ExportFormat;
}

export async function dlqExport(context: Context, path: string, flags: ExportFlags): Promise<number> {
  const { format } = flags;
  const isStream = path === "-";
  if (isStream && context.isJson && !ONE_DOCUMENT.includes(format ?? "json")) {
    throw new WorkError("usage", `--json asks for one JSON document, and --format ${format} is none.`, {
      hint: "Leave --json out, or name a file.",
    });
  }
  if (!isStream) requirePath("The path", path);
  const { result: exported } = await interruptible(context, async (engine, signal) => {
    const selection = await selectionIn(engine, flags);
    const job = await jobFrom(engine, undefined, flags);
    const filter = { ...selection.filter, ...(job && { queue: job.id }) };
    // Oldest first: imported again, they are buried in the same order.
    const letters = selectLetters(engine, { ...selection, filter }, { order: "oldest", signal });
    return exportLetters(letters, {
      path: isStream ? path : resolve(context.terminal.cwd, path) + (path.endsWith("/") ? "/" : ""),
      stdout: context.terminal.stdout,
      ...(format !== undefined && { format }),
    }).catch((error: unknown) => {
      throw signal.aborted ? new WorkError("interrupted", "The export is not complete.") : error;
    });
  });
  if (isStream) context.note(exportText(exported));
  else context.answer({ ...exported, path }, () => `${exportText({ ...exported, path })}\n`);
  return EXIT.done;
}

const ONE_DOCUMENT: readonly ExportFormat[] = ["json", "receipts"];

function exportText({ letters, format, path }: Exported): string {
  const count = letters === 1 ? "1 letter" : `${letters} letters`;
  return path === "-" ? `${count} written as ${format}.` : `${count} written to ${path} as ${format}.`;
}
