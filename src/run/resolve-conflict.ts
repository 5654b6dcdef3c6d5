/** Runs the `on_conflict` steps of a workflow in a worktree whose merge stopped with conflicts. */
import type { AgentUsage } from "../item/agent-usage.ts";
import { runSteps } from "../workflow/run-steps.ts";
import type { StepContext } from "../workflow/step-context.ts";
import type { Checkout } from "../workspace/workspace.ts";

export type Resolution = (
  | { readonly kind: "resolved" }
  | { readonly kind: "unresolved"; readonly why: string }
  | { readonly kind: "stopped"; readonly why?: string | undefined }
) & { readonly usage?: AgentUsage | undefined };

/** How many times a conflict is resolved again because the branch has moved. */
export const ROUNDS_MAX = 3;

export async function resolveConflict(
  checkout: Checkout,
  context: StepContext,
  {
    steps,
    timeoutMs,
  }: { readonly steps: Parameters<typeof runSteps>[0]; readonly timeoutMs: number | undefined },
): Promise<Resolution> {
  const conflict = await checkout.beginMerge();
  if (conflict.files.length === 0) return { kind: "resolved" }; // the branch has moved, and no longer conflicts
  const variables = { ...context.variables, conflict: { files: [...conflict.files] } };
  const onStep: StepContext["onStep"] = (index, total, label) =>
    context.onStep?.(index, total, `on_conflict: ${label}`);
  const end = await runSteps(steps, { ...context, variables, onStep }, { timeoutMs, path: ["on_conflict"] });
  const { usage } = end;
  if (end.kind === "stopped") return { kind: "stopped", why: end.why, usage };
  if (end.kind === "failed") {
    await conflict.abort();
    return { kind: "unresolved", why: `on_conflict failed: ${end.failure.errorMessage}`, usage };
  }
  const missing = await conflict.end();
  return missing === null
    ? { kind: "resolved", usage }
    : { kind: "unresolved", why: `after on_conflict, ${missing}`, usage };
}
