/** `redrive dlq restore`: brings discarded letters back. */
import { operationToJson } from "../../item/operation.ts";
import { restoreLetters } from "../../redrive/discard.ts";
import { authorOf } from "../author.ts";
import type { BulkFlags } from "../bulk.ts";
import type { Context } from "../context.ts";
import { decide, undoText } from "../decide.ts";

export async function dlqRestore(context: Context, items: string[], flags: BulkFlags): Promise<number> {
  const author = authorOf(context.terminal.env);
  return decide(
    context,
    { items, flags },
    {
      kind: "restore",
      verb: "Restore",
      past: "Restored",
      mustAsk: false,
      run: (engine, { job, selection }, signal) =>
        restoreLetters(engine, { queue: job.id, selection, author, signal }),
      toJson: operationToJson,
      more: undoText,
    },
  );
}
