/** What lies beside the letters in their directory: the analysis and the numbers, as the commands print them of one job. */
import type { FolderDocuments } from "../dead-letter/directory.ts";
import { letterStatsToJson, readLetterStats } from "../dead-letter/stats.ts";
import type { Engine } from "../engine.ts";
import { analyseSelected } from "../redrive/analyse-selected.ts";
import { analysisToJson } from "../triage/analyse.ts";

/** `itemsMax`: how many letters may wait in a job; null is no limit, and without it the numbers do not speak of room. */
export async function letterDocuments(
  engine: Engine,
  jobId: string,
  itemsMax: number | null | undefined,
): Promise<FolderDocuments> {
  const analysis = await analyseSelected(engine, { filter: { queue: jobId } });
  const stats = await readLetterStats(engine, jobId);
  return {
    patterns: analysisToJson(analysis),
    metrics: { job_id: jobId, ...letterStatsToJson(stats, itemsMax) },
  };
}
