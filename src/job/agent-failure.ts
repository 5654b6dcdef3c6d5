/** The record of an agent's failure that no step reports: its worktree could not be made, or its work could not be merged. */
import type { WorkError } from "../errors.ts";
import type { ErrorType } from "../item/error-type.ts";
import { compact, type Failure } from "../item/failure.ts";
import type { LeasedItem } from "../item/item.ts";
import type { WorktreeArtifacts } from "../item/letter.ts";
import { CLASS_OF_TYPE } from "../retry/class-of-type.ts";
import { oneLine } from "../triage/clean.ts";
import type { WorkflowKit } from "./workflow-kit.ts";

/** Whose failure it is. */
export interface AgentAttempt {
  readonly kit: WorkflowKit;
  readonly item: LeasedItem;
  readonly agentId: string;
}

/** What failed, and where. */
export interface AgentFault {
  readonly errorType: ErrorType;
  readonly message: string;
  readonly step: string;
  readonly context?: readonly string[];
  readonly log?: string | undefined;
  readonly jsonLog?: string | undefined;
}

const MESSAGE_CHARS_MAX = 600;

export function agentFailure({ kit, item, agentId }: AgentAttempt, fault: AgentFault): Failure {
  const now = kit.workshop.clock.now();
  return compact({
    attemptNumber: item.attempt,
    timestamp: now,
    errorType: fault.errorType,
    errorClass: CLASS_OF_TYPE[fault.errorType.name],
    errorMessage: kit.masker.mask(fault.message),
    errorContext: fault.context,
    agentId,
    stepFailed: fault.step,
    durationMs: Math.max(0, now - item.startedAt),
    log: fault.log,
    jsonLogLocation: fault.jsonLog,
  });
}

/** Git refused a worktree or a merge. The message is what git printed, on one line. */
export function worktreeFault(error: WorkError, step: string): AgentFault {
  return { errorType: { name: "WorktreeError" }, message: oneLine(error.message, MESSAGE_CHARS_MAX), step };
}

/** Adds what the failed attempt printed: its error output, else its output, else the message. */
export function withErrorLogs(artifacts: WorktreeArtifacts, failure: Failure): WorktreeArtifacts {
  const { stderrTail, stdoutTail, errorMessage } = failure;
  return { ...artifacts, errorLogs: stderrTail || stdoutTail || errorMessage };
}
