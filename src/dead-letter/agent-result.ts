/**
 * The step from an agent's result to a letter, as a pure function: no store, no clock, no file. For callers who
 * run agents themselves and want what failed kept the way the runner keeps it.
 */
import { reviewOf } from "../item/error-type.ts";
import { compact, type Failure, withPlainType } from "../item/failure.ts";
import type { Letter, WorktreeArtifacts } from "../item/letter.ts";
import type { Json } from "../kit/json.ts";
import { classify } from "../retry/classify.ts";
import type { Classified, Signs } from "../retry/signs.ts";
import { signatureOf } from "../triage/signature.ts";

/** What an agent left when it ended. */
export interface AgentResult {
  readonly status: "success" | "failed" | "timeout";
  readonly itemId: string;
  /** What went wrong, in a line. */
  readonly message?: string;
  /** The whole error, with its stack trace. */
  readonly error?: string;
  readonly durationMs: number;
  /** When the agent ended, in milliseconds since the epoch. */
  readonly at: number;
  /** Default: `agent-` and the item's id. */
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

/** The letter of a failed or timed-out agent; null for one that succeeded. */
export function agentResultToDlqItem(result: AgentResult, item: Json, attempt: number): Letter | null {
  if (result.status === "success") return null;
  const failure = withPlainType(failureOf(result, classify(signsOf(result)), attempt));
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

function signsOf(result: AgentResult): Signs {
  const timedOut = result.status === "timeout";
  return compact({
    timedOutMs: timedOut ? result.durationMs : undefined,
    exitCode: result.exitCode,
    signal: result.signal,
    stderrTail: result.stderrTail,
    stdoutTail: result.stdoutTail,
    command: result.stepFailed ?? UNNAMED_STEP,
    message: result.message ?? (timedOut ? "Agent execution timed out" : result.error),
  }) as Signs;
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
