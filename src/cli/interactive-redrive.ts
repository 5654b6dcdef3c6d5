/** Runs a redrive with progress on the terminal, and prints its result. */
import { type Job, STANDING_KINDS } from "../item/job.ts";
import { type Operation, operationToJson } from "../item/operation.ts";
import { type Returned, returnedOf, returnedToJson } from "../redrive/canary.ts";
import type { RunDeps } from "../run/run-job.ts";
import type { JsonObject } from "../std/json.ts";
import { titleToJson } from "../triage/title.ts";
import { laterPhases } from "../workflow/workflow-spec.ts";
import { type Finish, finishToJson } from "../workspace/workspace.ts";
import type { Context } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { type Watch, type WatchOptions, withProgress } from "./interactive-run.ts";
import { canaryText, redriveText } from "./render/operation.ts";

export interface Redriven {
  readonly operation: Operation;
  readonly job: Job;
  /** The result of merging a workflow's commits. Default: nothing was run. */
  readonly finish?: Finish;
  /** Named items that do not exist. Default: none. */
  readonly unknown?: readonly string[];
}

/** Runs `dlq retry` and `ops resume`, whose results are the counts of an operation. */
export async function runRedrive(
  context: Context,
  options: WatchOptions,
  run: (deps: RunDeps, watch: Watch) => Promise<Redriven>,
): Promise<number> {
  const { result, interrupt, finish, asked } = await withProgress(context, options, run);
  const code = answerRedriven(context, { ...result, finish });
  return interrupt.exitCode ?? (asked === "interrupted" ? EXIT.interrupted : code);
}

export function answerRedriven(context: Context, redriven: Redriven, more: JsonObject = {}): number {
  const { operation, job, finish, unknown = [] } = redriven;
  const returned = returnedOf(operation);
  const document = {
    ...operationToJson(operation),
    ...(returned && stoppedToJson(returned)),
    ...(finish && job.kind === "workflow" && { merge: finishToJson(finish) }),
    ...unknownToJson(unknown),
    ...more,
  };
  context.answer(document, () => redriveText(operation, { hasWorkers: STANDING_KINDS.includes(job.kind) }));
  const stopped = canaryText(operation);
  if (stopped !== null) context.note(stopped);
  const later = laterPhases(job);
  const isAwaitingResume = finish?.isRefused && job.status !== "completed"; // a resume will run the later phases
  if (operation.succeeded > 0 && later.length > 0 && !isAwaitingResume) {
    context.note(`Not run again: ${later.join(" and ")}. To run: redrive resume ${job.id} --no-dlq`);
  }
  if (finish?.isRefused) return EXIT.refused;
  return operation.failed + operation.refused > 0 ? EXIT.lettersLeft : EXIT.done;
}

function stoppedToJson(returned: Returned): JsonObject {
  const { stopped_by } = returnedToJson(returned);
  const title = returned.pattern === undefined ? {} : titleToJson(returned.pattern);
  return { stopped_by: { ...stopped_by, ...title } };
}

export function unknownToJson(unknown: readonly string[]): JsonObject {
  return unknown.length === 0 ? {} : { unknown_items: unknown };
}
