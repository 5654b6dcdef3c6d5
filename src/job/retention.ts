/** A companion that applies the retention of jobs and logs when a run has ended. */
import type { OpenCompanion } from "./companion.ts";
import type { JobLimits } from "./tidy-jobs.ts";

export interface RetentionOptions {
  readonly limits: JobLimits;
  readonly author: string;
  readonly dlqDir?: string;
}

export function retaining({ limits, author, dlqDir }: RetentionOptions): OpenCompanion {
  return (job, { engine, home, onNotice }) => ({
    stop: async () => {
      const { tidyJobs } = await import("./tidy-jobs.ts");
      const place = { home, ...(dlqDir !== undefined && { dlqDir }) };
      const tidied = await tidyJobs(engine, { ...place, limits, author, onNotice, except: job.id });
      if (tidied.jobs.length > 0) onNotice(`Retention deleted ${tidied.jobs.join(", ")}.`);
    },
  });
}
