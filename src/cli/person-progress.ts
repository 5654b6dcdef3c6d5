/** Progress of a job whose id is known only once it has begun; before that, notes go to stderr as they are. */
import type { Engine } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { specOf } from "../job/map-spec.ts";
import { systemClock } from "../kit/clock.ts";
import type { RunObserver } from "../runner/runner.ts";
import type { Context } from "./context.ts";
import { type Progress, startProgress } from "./progress.ts";

export interface PersonProgress {
  readonly observer: RunObserver;
  readonly onJob: (job: Job) => void;
  readonly note: (text: string) => void;
  suspend(write: () => void): void;
  stop(): Promise<void>;
}

export function openProgress(
  context: Context,
  engine: Engine,
  options: { readonly quiet?: boolean },
): PersonProgress {
  let progress: Progress | null = null;
  const { env, stderr } = context.terminal;
  return {
    get observer() {
      return progress ?? {};
    },
    onJob: (job) => {
      if (options.quiet) return;
      progress = startProgress({
        stderr,
        isLive: (stderr.isTTY ?? false) && !env.CI,
        columns: () => stderr.columns ?? 80,
        paint: context.paintNotes,
        clock: systemClock,
        count: () => engine.count(job.id),
        slots: specOf(job).jobs,
        label: job.name,
      });
    },
    note: (text) => (progress ? progress.note(text) : context.note(text)),
    suspend: (write) => (progress ? progress.suspend(write) : write()),
    stop: async () => progress?.stop(),
  };
}
