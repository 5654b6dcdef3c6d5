/** An item with its agent and its checkout. Converts a failure of either to the outcome of the attempt. */
import { RedriveError } from "../errors.ts";
import { classOfType, type ErrorType } from "../item/error-type.ts";
import type { Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { Outcome } from "../item/settlement.ts";
import { compact } from "../std/json.ts";
import { oneLine } from "../triage/clean.ts";
import type { StepsEnd } from "../workflow/step-context.ts";
import { keepWorktreesOf } from "../workflow/workflow-spec.ts";
import type { Checkout } from "../workspace/workspace.ts";
import type { Resolution } from "./resolve-conflict.ts";
import type { VerifiedWork } from "./verify.ts";
import type { WorkflowRuntime } from "./workflow-runtime.ts";

export interface AgentWork {
  readonly runtime: WorkflowRuntime;
  readonly item: LeasedItem;
  readonly agentId: string;
  readonly checkout: Checkout;
  /** Present if the work is verified before it is merged. */
  readonly verified: VerifiedWork | undefined;
  /** Resolves a conflict with the job's branch. Absent if the workflow has no steps for that. */
  readonly resolve?: (() => Promise<Resolution>) | undefined;
}

export type Ended<K extends StepsEnd["kind"]> = Extract<StepsEnd, { kind: K }>;
/** Keeps the checkout before the letter is stored, so that a crash in between cannot lose it. */
export async function failed(
  { runtime, item, checkout }: AgentWork,
  { failure, retryAfterMs, isAgent, usage }: Omit<Ended<"failed">, "kind" | "stepIndex">,
): Promise<Outcome> {
  const { stderrTail, stdoutTail, errorMessage, log } = failure;
  const found = keepWorktreesOf(runtime.spec) === "never" ? undefined : await checkout.artifacts();
  const artifacts = found && { ...found, errorLogs: stderrTail || stdoutTail || errorMessage };
  if (artifacts) await checkout.keep(`attempt ${item.attempt} of ${item.itemId} failed`);
  return compact({ kind: "failed" as const, failure, retryAfterMs, isAgent, artifacts, log, usage });
}

export interface AgentFault {
  readonly errorType: ErrorType;
  readonly message: string;
  readonly step: string;
  readonly context?: readonly string[];
  readonly log?: string | undefined;
  readonly jsonLog?: string | undefined;
}

const MESSAGE_CHARS_MAX = 600;

export function agentFailure(
  { runtime, item, agentId }: Pick<AgentWork, "runtime" | "item" | "agentId">,
  fault: AgentFault,
): Failure {
  const now = runtime.jobRuntime.clock.now();
  return compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType: fault.errorType,
    errorClass: classOfType(fault.errorType.name),
    errorMessage: runtime.masker.mask(fault.message),
    errorContext: fault.context,
    agentId,
    stepFailed: fault.step,
    durationMs: Math.max(0, now - item.startedAt),
    log: fault.log,
    jsonLogLocation: fault.jsonLog,
  });
}

/** Describes a git error with its message on one line. Any other error is rethrown. */
export function worktreeFault(error: unknown, step: string): AgentFault {
  if (!(error instanceof RedriveError)) throw error;
  return { errorType: { name: "WorktreeError" }, message: oneLine(error.message, MESSAGE_CHARS_MAX), step };
}
