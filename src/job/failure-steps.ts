/** Runs the steps of `on_item_failure: custom` in a workflow: they decide about an item whose attempts are used up. */
import { handlerLog, reportOf } from "../attempt/failure-command.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { HandlerReport } from "../retry/decide.ts";
import { errorVariable } from "../workflow/error-variable.ts";
import { runSteps } from "../workflow/run-steps.ts";
import { itemVariables, jobVariables, type WorkflowKit, worldOf } from "./workflow-kit.ts";

/** Success means handled, exit code 75 means retry, everything else means a letter. */
export async function askSteps(kit: WorkflowKit, item: LeasedItem, failure: Failure): Promise<HandlerReport> {
  const world = worldOf(kit, {
    root: kit.site.root,
    ...(kit.site.head && { head: kit.site.head }),
    variables: { ...jobVariables(kit), ...itemVariables(item), error: errorVariable(failure) },
    logPath: handlerLog(kit.workshop.logs.log(item.itemId, item.attempt)),
    scratch: `${kit.workshop.scratch}/handler-${item.ref}`,
    signal: kit.workshop.stop,
    agentId: "handler",
    attempt: item.attempt,
  });
  const end = await runSteps(kit.spec.workflow.onItemFailureSteps, world);
  if (end.kind === "done") return { answer: "handled" };
  if (end.kind === "stopped") return { answer: "retry" }; // the runner stopped it: it runs again when the job is resumed
  return reportOf(end.failure);
}
