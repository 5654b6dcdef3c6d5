/** Progress counts for a job, and for an operation on its letters. */
import type { Engine } from "../../engine.ts";
import { isStanding, type Job } from "../../item/job.ts";
import { leftOf, type Operation } from "../../item/operation.ts";
import { planOf } from "../../redrive/plan.ts";
import { specOf } from "../../run/map-spec.ts";
import { workflowSpecOf } from "../../workflow/workflow-spec.ts";
import type { ProgressWork } from "./progress.ts";
import type { ProgressCounts } from "./progress-line.ts";

export function jobWork(engine: Engine, job: Job): ProgressWork {
  return {
    ...limitsOf(job),
    count: () => engine.count(job.id),
    isTotalKnown: async () => (await engine.findJob(job.id))?.intakeComplete ?? false,
  };
}

export function operationWork(engine: Engine, operation: Operation, job: Job): ProgressWork {
  const { slots, maxRetries } = planOf(operation);
  return {
    ...limitsOf(job),
    ...(slots !== undefined && { slots }),
    ...(maxRetries !== undefined && { attemptsMax: maxRetries + 1 }),
    count: () => countOperation(engine, operation),
  };
}

function limitsOf(job: Job): Pick<ProgressWork, "slots" | "attemptsMax" | "label"> {
  const { policy, slots } =
    job.kind === "workflow"
      ? { policy: workflowSpecOf(job).workflow.policy, slots: workflowSpecOf(job).workflow.map.maxParallel }
      : { policy: specOf(job).policy, slots: specOf(job).jobs };
  return { slots: isStanding(job) ? 0 : slots, attemptsMax: policy.maxAttempts, label: job.name };
}

/** Counts the letters of an operation. Refused letters count as dead, like those that failed again. */
async function countOperation(engine: Engine, begun: Operation): Promise<ProgressCounts> {
  const operation = (await engine.findOperation(begun.id)) ?? begun;
  const { selected, succeeded, failed, refused } = operation;
  const leased = Math.min(leftOf(operation), (await engine.count(begun.queue)).leased);
  const ready = leftOf(operation) - leased;
  return { total: selected, ready, leased, held: 0, done: succeeded, dead: failed + refused, skipped: 0 };
}
