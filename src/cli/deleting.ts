/** What `clear` and `purge` share: both delete, after archiving, and never unasked. */
import type { Operation } from "../item/operation.ts";
import { archiveOf, purgeLetters, purgeToJson } from "../redrive/purge.ts";
import { authorOf } from "./author.ts";
import type { BulkFlags } from "./bulk.ts";
import type { Context } from "./context.ts";
import { decide, undoText } from "./decide.ts";

export interface DeletingFlags extends BulkFlags {
  /** False with `--no-archive`. */
  readonly archive?: boolean;
}

export function deleteLetters(
  context: Context,
  kind: "clear" | "purge",
  { job, flags }: { job: string | undefined; flags: DeletingFlags },
): Promise<number> {
  const { home, terminal } = context;
  const author = authorOf(terminal.env);
  return decide(
    context,
    { job, flags },
    {
      kind,
      verb: "Delete",
      past: "Deleted",
      mustAsk: true,
      run: (engine, { job: { id: queue }, selection }, signal) =>
        purgeLetters(engine, {
          kind,
          queue,
          selection,
          author,
          home,
          archive: flags.archive ?? true,
          signal,
        }),
      toJson: purgeToJson,
      more: archiveText,
    },
  );
}

function archiveText(operation: Operation): string {
  const archive = archiveOf(operation);
  return archive === null ? "No copy was kept.\n" : `Archived in ${archive.path}\n${undoText(operation)}`;
}
