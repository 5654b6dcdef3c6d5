/** `redrive dlq maintain`: enforces the limits of one job or of all jobs now, whether they run or not. */
import { updateRetentionPolicy } from "../dead-letter/all-letters.ts";
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { everyJob } from "../queue/find-job.ts";
import { enforceLimits, previewLimits } from "../redrive/enforce-limits.ts";
import { fullnessWarning, limitsOf } from "../redrive/limits.ts";
import { archiveOf } from "../redrive/purge.ts";
import type { JsonObject } from "../std/json.ts";
import { globalFolder } from "./letter-directory.ts";

export interface MaintainOptions {
  readonly job?: Job;
  /** The maximum number of waiting letters per job; null means no limit. */
  readonly maxItems: number | null;
  readonly retentionDays: number | null;
  readonly author: string;
  readonly home: string;
  readonly dlqDir?: string;
  readonly isPreview?: boolean;
  readonly onNotice?: (notice: string) => void;
}

export interface Maintained {
  readonly jobId: string;
  readonly evicted: number;
  readonly purged: number;
  readonly waiting: number;
  readonly archives: readonly string[];
}

/** The time limit for extending the text index. The rest is indexed later. */
const CATCH_UP_MS = 30_000;

/** Returns the jobs with removed letters, newest first. The given job is always included. */
export async function maintain(engine: Engine, options: MaintainOptions): Promise<readonly Maintained[]> {
  const { job: only, isPreview = false } = options;
  const all: Maintained[] = [];
  for await (const job of only ? [only] : everyJob(engine)) {
    const one = isPreview ? await preview(engine, job, options) : await maintainJob(engine, job, options);
    if (only || one.evicted + one.purged > 0) all.push(one);
  }
  if (!isPreview) {
    await updateRetentionPolicy(globalFolder(options), options, () => engine.now());
    await engine.catchUp({ forMs: CATCH_UP_MS });
  }
  return all;
}

async function maintainJob(engine: Engine, { id }: Job, options: MaintainOptions): Promise<Maintained> {
  const { home, author, onNotice } = options;
  const limits = limitsOf(options);
  const notice = await fullnessWarning(engine, id)(await engine.count(id), limits);
  if (notice !== null) onNotice?.(notice);
  const done = await enforceLimits(engine, { queue: id, limits, home, author });
  const archives = done.operations.flatMap((operation) => archiveOf(operation)?.path ?? []);
  const { letters } = await engine.count(id);
  return { jobId: id, evicted: done.evicted, purged: done.purged, waiting: letters, archives };
}

async function preview(engine: Engine, { id }: Job, options: MaintainOptions): Promise<Maintained> {
  const would = await previewLimits(engine, { queue: id, limits: limitsOf(options) });
  return { jobId: id, ...would, waiting: (await engine.count(id)).letters, archives: [] };
}

export function maintainedToJson(all: readonly Maintained[]): JsonObject {
  return {
    jobs: all.map(({ jobId, evicted, purged, waiting, archives }) => ({
      job_id: jobId,
      evicted,
      purged,
      waiting,
      archives,
    })),
    evicted: all.reduce((sum, { evicted }) => sum + evicted, 0),
    purged: all.reduce((sum, { purged }) => sum + purged, 0),
  };
}
