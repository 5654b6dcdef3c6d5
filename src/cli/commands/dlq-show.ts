/** `redrive dlq show`: the letters of a job when it names one, else the letter of an item. */
import type { Context } from "../context.ts";
import { dlqInspect } from "./dlq-inspect.ts";
import { dlqList } from "./dlq-list.ts";

export async function dlqShow(
  context: Context,
  jobOrItem: string,
  flags: { readonly job?: string },
): Promise<number> {
  if (flags.job !== undefined) return dlqInspect(context, jobOrItem, flags);
  const job = await context.withStore((engine) => engine.findJob(jobOrItem));
  return job === null ? dlqInspect(context, jobOrItem, {}) : dlqList(context, job.id, {});
}
