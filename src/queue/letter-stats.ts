/** Reads the letter statistics of one queue, or of every queue that ever had letters. */
import { hadLetters, type JobLetterStats, readLetterStats } from "../dead-letter/stats.ts";
import type { Engine } from "../engine.ts";
import { everyJob, requireJob } from "./find-job.ts";

export async function letterStatsOf(
  engine: Engine,
  name: string | undefined,
): Promise<readonly JobLetterStats[]> {
  if (name !== undefined) return [await readLetterStats(engine, (await requireJob(engine, name)).id)];
  const found: JobLetterStats[] = [];
  for await (const job of everyJob(engine)) {
    const stats = await readLetterStats(engine, job.id);
    if (hadLetters(stats)) found.push(stats);
  }
  return found;
}
