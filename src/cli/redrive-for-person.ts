/** Runs a redrive with what a person sees of it, and says what became of its letters; then the exit code. */
import { type Job, STANDING_KINDS } from "../item/job.ts";
import { type Operation, operationToJson } from "../item/operation.ts";
import type { RunDeps } from "../job/run-job.ts";
import { type Finish, finishToJson } from "../job/site.ts";
import { laterPhases } from "../job/workflow-spec.ts";
import type { JsonObject } from "../kit/json.ts";
import { type Returned, returnedOf, returnedToJson } from "../redrive/canary.ts";
import { titleToJson } from "../triage/title.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { canaryText, redriveText } from "./operation-text.ts";
import { type Watch, type WatchOptions, withProgress } from "./run-for-person.ts";

/** What has been run, and the job that it was of. */
export interface Redriven {
  readonly operation: Operation;
  readonly job: Job;
  /** Where the work went. Default: nowhere, nothing was run. */
  readonly finish?: Finish;
  /** Items that were named and are not there. Default: none. */
  readonly unknown?: readonly string[];
}

/** How a document names items that are not there; nothing when there are none. */
export function unknownToJson(unknown: readonly string[]): JsonObject {
  return unknown.length === 0 ? {} : { unknown_items: unknown };
}

/** For `dlq retry` and `ops resume`, which end with the books of an operation. */
export async function redriveForPerson(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<Redriven>,
): Promise<number> {
  const { result, interrupt, finish, asked } = await withProgress(context, options, run);
  const code = sayRedriven(context, { ...result, finish });
  return interrupt.exitCode ?? (asked === "interrupted" ? EXIT.interrupted : code);
}

function stoppedToJson(returned: Returned): JsonObject {
  const { stopped_by } = returnedToJson(returned);
  const title = returned.pattern === undefined ? {} : titleToJson(returned.pattern);
  return { stopped_by: { ...stopped_by, ...title } };
}

/** Says what became of the letters. */
export function sayRedriven(context: Context, redriven: Redriven, given: JsonObject = {}): number {
  const { operation, job, finish, unknown = [] } = redriven;
  const more = { ...unknownToJson(unknown), ...given };
  const returned = returnedOf(operation);
  const document = {
    ...operationToJson(operation),
    ...(returned && stoppedToJson(returned)),
    ...(finish && job.kind === "workflow" && { merge: finishToJson(finish) }),
    ...more,
  };
  context.answer(document, () => redriveText(operation, { hasWorkers: STANDING_KINDS.includes(job.kind) }));
  const stopped = canaryText(operation);
  if (stopped !== null) context.note(stopped);
  const later = laterPhases(job);
  const isAwaitingResume = finish?.isRefused && job.status !== "completed"; // which runs the later phases
  if (operation.succeeded > 0 && later.length > 0 && !isAwaitingResume) context.note(laterText(job, later));
  if (finish?.isRefused) return EXIT.refused;
  return operation.failed + operation.refused > 0 ? EXIT.lettersLeft : EXIT.done;
}

function laterText({ id }: Job, phases: readonly string[]): string {
  const words = phases.join(" and ");
  const were = phases.length === 1 ? "was" : "were";
  return `${words[0]?.toUpperCase()}${words.slice(1)} ${were} not run again: redrive resume ${id} --no-dlq does that.`;
}
