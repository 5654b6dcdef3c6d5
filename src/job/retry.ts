/** `redrive dlq retry`: runs the selected letters' own work again, and waits for the end. */
import type { Engine, LetterFilter, Operation } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { beginRedrive, redriveAll } from "../redrive/operation.ts";
import { type RunDeps, runJob } from "./run-job.ts";
import { hasLaterSteps, plain, workflowProgressOf } from "./workflow-spec.ts";

/** Which letters are run again, and how. */
export interface RetryOptions {
  readonly job: Job;
  readonly filter: LetterFilter;
  /** Letters that are not eligible too. */
  readonly force: boolean;
  /** How many run at a time; the job's own number by default. */
  readonly slots?: number;
  /** Told when the letters are selected. */
  readonly onOperation?: (operation: Operation) => void;
  /** Told what a person should know of the end, e.g. where the work went. */
  readonly onNotice?: (notice: string) => void;
}

/** Nothing leaves the dead letter queue before its new attempt has succeeded. */
export async function retryLetters(deps: RunDeps, options: RetryOptions): Promise<Operation> {
  const { job, filter, force, slots, onNotice } = options;
  const operation = await beginRedrive(deps.engine, job.id, filter, force);
  options.onOperation?.(operation);
  if (operation.selected > 0) {
    await runJob(deps, {
      job,
      operationId: operation.id,
      feed: (patience) => redriveAll(deps.engine, operation, patience),
      ...(slots !== undefined && { slots }),
      ...(onNotice && { onNotice }),
    });
  }
  const closed = await deps.engine.closeOperation(operation.id);
  if (closed.succeeded > 0) await reduceAgain(deps.engine, job.id);
  return closed;
}

/** What a workflow's agents have done anew is not reduced yet: the next resume goes on from the map. */
async function reduceAgain(engine: Engine, jobId: string): Promise<void> {
  const job = await engine.findJob(jobId);
  if (job === null || !hasLaterSteps(job)) return;
  const progress = workflowProgressOf(job);
  if (progress.phase === "setup" || progress.phase === "map") return;
  await engine.changeJob(jobId, { progress: plain({ ...progress, phase: "map", next: 0 }) });
}
