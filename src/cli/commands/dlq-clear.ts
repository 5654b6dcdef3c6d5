/** `redrive dlq clear`: deletes letters that are resolved or discarded. One that waits is never touched. */
import type { Context } from "../context.ts";
import { type DeletingFlags, deleteLetters } from "../deleting.ts";

export async function dlqClear(
  context: Context,
  job: string | undefined,
  flags: DeletingFlags,
): Promise<number> {
  return deleteLetters(context, "clear", { job, flags });
}
