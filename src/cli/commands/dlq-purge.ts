/** `redrive dlq purge`: deletes the letters that are selected, after archiving them. */
import { WorkError } from "../../errors.ts";
import type { Context } from "../context.ts";
import { type DeletingFlags, deleteLetters } from "../deleting.ts";
import { checkSelection } from "../selection.ts";

export async function dlqPurge(
  context: Context,
  job: string | undefined,
  flags: DeletingFlags,
): Promise<number> {
  const { filter, where } = checkSelection(flags);
  if (Object.keys(filter).length === 0 && where === undefined && flags.group === undefined) {
    throw new WorkError("usage", "Nothing says which letters are to be deleted.", {
      hint: "Say it, e.g. --older-than 30d, --type Timeout or --group SIGNATURE; --older-than 0s is all of them.",
    });
  }
  return deleteLetters(context, "purge", { job, flags });
}
