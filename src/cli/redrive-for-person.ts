/** Runs a redrive with what a person sees of it, and says what became of its letters; then the exit code. */
import { type Job, STANDING_KINDS } from "../item/job.ts";
import { type Operation, operationToJson } from "../item/operation.ts";
import type { RunDeps } from "../job/run-job.ts";
import { hasLaterSteps } from "../job/workflow-spec.ts";
import type { JsonObject } from "../kit/json.ts";
import { returnedOf, returnedToJson } from "../redrive/canary.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { canaryText, redriveText } from "./operation-text.ts";
import { type Watch, type WatchOptions, withProgress } from "./run-for-person.ts";

/** What has been run, and the job that it was of. */
export interface Redriven {
  readonly operation: Operation;
  readonly job: Job;
}

/** For `dlq retry` and `ops resume`, which end with the books of an operation. */
export async function redriveForPerson(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<Redriven>,
): Promise<number> {
  const { result, interrupt } = await withProgress(context, options, run);
  const code = sayRedriven(context, result);
  return interrupt.exitCode ?? code;
}

/** Says what became of the letters. */
export function sayRedriven(context: Context, { operation, job }: Redriven, more: JsonObject = {}): number {
  const returned = returnedOf(operation);
  const document = { ...operationToJson(operation), ...(returned && returnedToJson(returned)), ...more };
  context.answer(document, () => redriveText(operation, { hasWorkers: STANDING_KINDS.includes(job.kind) }));
  const stopped = canaryText(operation);
  if (stopped !== null) context.note(stopped);
  if (operation.succeeded > 0 && hasLaterSteps(job)) {
    context.note(`Reduce was not run again: redrive resume ${job.id} --no-dlq does that.`);
  }
  return operation.failed + operation.refused > 0 ? EXIT.lettersLeft : EXIT.done;
}
