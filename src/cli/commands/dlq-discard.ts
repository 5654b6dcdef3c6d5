/** `redrive dlq discard`: gives letters up, with a reason. */
import { operationToJson } from "../../item/operation.ts";
import { discardLetters } from "../../redrive/discard.ts";
import { authorOf } from "../author.ts";
import type { BulkFlags } from "../bulk.ts";
import type { Context } from "../context.ts";
import { decide, undoText } from "../decide.ts";
import { requireText } from "../option.ts";

interface DiscardFlags extends BulkFlags {
  readonly reason: string;
}

export async function dlqDiscard(context: Context, items: string[], flags: DiscardFlags): Promise<number> {
  const reason = requireText("--reason", flags.reason);
  const author = authorOf(context.terminal.env);
  return decide(
    context,
    { items, flags },
    {
      kind: "discard",
      verb: "Discard",
      past: "Discarded",
      mustAsk: false,
      run: (engine, { job, selection }, signal) =>
        discardLetters(engine, { queue: job.id, selection, author, reason, signal }),
      toJson: operationToJson,
      more: undoText,
    },
  );
}
