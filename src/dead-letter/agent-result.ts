/**
 * Converts an agent's result into a letter. For library callers who run agents themselves and want failures
 * recorded as the runner records them. Pure.
 */
import { reviewOf } from "../item/error-type.ts";
import { type Failure, withPlainType } from "../item/failure.ts";
import type { Letter, WorktreeArtifacts } from "../item/letter.ts";
import type { Classified, FailureFacts } from "../retry/classify.ts";
import { classify } from "../retry/classify.ts";
import type { Json } from "../std/json.ts";
import { compact } from "../std/json.ts";
import { signatureOf } from "../triage/signature.ts";

/** The result of one agent run. */
export interface AgentResult {
  readonly status: "success" | "failed" | "timeout";
  readonly itemId: string;
  /** A one-line error message. */
  readonly message?: string;
  /** The complete error, with its stack trace. */
  readonly error?: string;
  readonly durationMs: number;
  /** When the agent ended, in milliseconds since the epoch. */
  readonly at: number;
  /** Default: `agent-` followed by the item's id. */
  readonly agentId?: string;
  /** Default: `agent_execution`. */
  readonly stepFailed?: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stdoutTail?: string;
  readonly stderrTail?: string;
  readonly jsonLogLocation?: string;
  readonly worktreePath?: string;
  readonly branchName?: string;
  readonly uncommittedChanges?: string;
  readonly log?: string;
  readonly jobId?: string;
}

/** Returns the letter of a failed or timed-out agent, or null if it succeeded. */
export function agentResultToDlqItem(result: AgentResult, item: Json, attempt: number): Letter | null {
  if (result.status === "success") return null;
  const failure = withPlainType(failureOf(result, classify(factsOf(result)), attempt));
  const { signature, pattern } = signatureOf(failure);
  return compact({
    itemId: result.itemId,
    itemData: item,
    firstAttempt: result.at,
    lastAttempt: result.at,
    failureCount: 1,
    failureHistory: [failure],
    errorSignature: signature,
    errorPattern: pattern,
    ...reviewOf(failure.errorType, failure.errorClass, failure.errorMessage),
    worktreeArtifacts: artifactsOf(result),
    jobId: result.jobId ?? "",
    queue: result.jobId ?? "",
    state: "dead" as const,
    reason: `the agent ${result.status === "timeout" ? "timed out" : "failed"} (attempt ${attempt})`,
    revision: 1,
    redriveCount: 0,
  });
}

const UNNAMED_STEP = "agent_execution";

function factsOf(result: AgentResult): FailureFacts {
  const timedOut = result.status === "timeout";
  return compact({
    timedOutMs: timedOut ? result.durationMs : undefined,
    exitCode: result.exitCode,
    signal: result.signal,
    stderrTail: result.stderrTail,
    stdoutTail: result.stdoutTail,
    command: result.stepFailed ?? UNNAMED_STEP,
    message: result.message ?? (timedOut ? "Agent execution timed out" : result.error),
  }) as FailureFacts;
}

function failureOf(
  result: AgentResult,
  { errorType, errorClass, message }: Classified,
  attempt: number,
): Failure {
  return compact({
    attemptNumber: attempt,
    timestamp: result.at,
    errorType,
    errorClass,
    errorMessage: message,
    stackTrace: result.error,
    agentId: result.agentId ?? `agent-${result.itemId}`,
    stepFailed: result.stepFailed ?? UNNAMED_STEP,
    durationMs: result.durationMs,
    jsonLogLocation: result.jsonLogLocation,
    exitCode: result.exitCode,
    signal: result.signal,
    stdoutTail: result.stdoutTail,
    stderrTail: result.stderrTail,
    log: result.log,
  });
}

function artifactsOf(result: AgentResult): WorktreeArtifacts | undefined {
  if (result.worktreePath === undefined) return undefined;
  return compact({
    worktreePath: result.worktreePath,
    branchName: result.branchName ?? "",
    uncommittedChanges: result.uncommittedChanges,
  });
}
