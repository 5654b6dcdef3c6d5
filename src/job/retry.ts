/** `redrive dlq retry`: runs the selected letters' own work again, and waits for the end. */
import type { LetterFilter, Operation } from "../engine.ts";
import type { Job } from "../item/job.ts";
import { beginRedrive, redriveAll } from "../redrive/operation.ts";
import { type RunDeps, runJob } from "./run-job.ts";

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
}

/** Nothing leaves the dead letter queue before its new attempt has succeeded. */
export async function retryLetters(deps: RunDeps, options: RetryOptions): Promise<Operation> {
  const { job, filter, force, slots } = options;
  const operation = await beginRedrive(deps.engine, job.id, filter, force);
  options.onOperation?.(operation);
  if (operation.selected > 0) {
    await runJob(deps, {
      job,
      operationId: operation.id,
      feed: (patience) => redriveAll(deps.engine, operation, patience),
      ...(slots !== undefined && { slots }),
    });
  }
  return deps.engine.closeOperation(operation.id);
}
