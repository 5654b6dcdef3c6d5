/** `redrive dlq stats`: the dead letter queue in numbers, of one job or of all. */
import {
  hasStory,
  type JobLetterStats,
  letterStatsToJson,
  readLetterStats,
  sumOfStats,
} from "../../dead-letter/stats.ts";
import { everyJob } from "../../job/every-job.ts";
import { requireJob } from "../../job/find-job.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { statsText } from "../stats-text.ts";

export async function dlqStats(context: Context, jobName: string | undefined): Promise<number> {
  const { maxItems: itemsMax } = (await context.config()).dlq;
  const all = await context.withStore(async (engine) => {
    if (jobName !== undefined) return [await readLetterStats(engine, (await requireJob(engine, jobName)).id)];
    const found: JobLetterStats[] = [];
    for await (const job of everyJob(engine)) {
      const stats = await readLetterStats(engine, job.id);
      if (hasStory(stats)) found.push(stats);
    }
    return found;
  });
  const jobs = all.map((stats) => ({ job_id: stats.jobId, ...letterStatsToJson(stats, itemsMax) }));
  const { paint, columns } = context;
  context.answer({ jobs, total: letterStatsToJson(sumOfStats(all)) }, () =>
    statsText(all, { paint, columns, itemsMax, isOneJob: jobName !== undefined }),
  );
  return EXIT.done;
}
