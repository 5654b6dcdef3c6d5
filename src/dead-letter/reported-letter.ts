/** Builds letters from failures that library callers report on behalf of a program or an agent. Pure. */
import { classOfType, reviewOf } from "../item/error-type.ts";
import { type Failure, withPlainType } from "../item/failure.ts";
import type { NewItem } from "../item/item.ts";
import type { Letter } from "../item/letter.ts";
import { type Classified, classify, type FailureFacts } from "../retry/classify.ts";
import { compact, type Json } from "../std/json.ts";
import { signatureOf } from "../triage/signature.ts";

/** A failure reported by a program. Only the message is required; the rest is derived from it. */
export interface FailureReport extends Partial<Omit<Failure, "attemptNumber" | "errorMessage">> {
  /** A one-line error message. */
  readonly errorMessage: string;
}

export interface Extension {
  readonly jobId: string;
  readonly item: NewItem;
  readonly report: FailureReport;
  readonly before?: { readonly letter: Letter; readonly attempts: number };
  /** The time of the failure if the report has none, in milliseconds since the epoch. */
  readonly now: number;
}

/** Returns a letter whose last failure is the reported one. An existing letter keeps its data. */
export function extendedLetter({ jobId, item, report, before, now }: Extension): Letter {
  const { errorType, exitCode, signal, stderrTail, stdoutTail, errorMessage: message } = report;
  const attemptNumber = (before?.attempts ?? 0) + 1;
  const stepFailed = report.stepFailed ?? "handler";
  // A reported error type determines the class; otherwise both are classified as for any failed attempt.
  const facts = compact({ exitCode, signal, stderrTail, stdoutTail, command: stepFailed, message });
  const kind: Pick<Classified, "errorType" | "errorClass"> =
    errorType === undefined ? classify(facts) : { errorType, errorClass: classOfType(errorType.name) };
  const failure = {
    timestamp: now,
    agentId: "library",
    durationMs: 0,
    errorClass: kind.errorClass,
    ...compact(report),
    errorType: kind.errorType,
    attemptNumber,
    stepFailed,
  };
  return letterWith(failure, {
    jobId,
    itemId: item.itemId,
    itemData: item.data,
    reason: `reported as failed (attempt ${attemptNumber})`,
    before: before?.letter,
  });
}

type LetterBase = Pick<Letter, "itemId" | "itemData" | "jobId" | "reason"> & { before?: Letter | undefined };

function letterWith(given: Failure, { before, itemData, jobId, ...base }: LetterBase): Letter {
  const failure = withPlainType(given);
  const { signature, pattern } = signatureOf(failure);
  return {
    revision: 1,
    redriveCount: 0,
    ...before,
    ...base,
    itemData: before?.itemData ?? itemData,
    firstAttempt: before?.firstAttempt ?? failure.timestamp,
    lastAttempt: failure.timestamp,
    failureCount: (before?.failureCount ?? 0) + 1,
    failureHistory: [...(before?.failureHistory ?? []), failure],
    errorSignature: signature,
    errorPattern: pattern,
    ...reviewOf(failure),
    jobId,
    queue: jobId,
    state: "dead",
  };
}

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
  const { status, itemId, error, at, durationMs, worktreePath, jobId = "" } = result;
  if (status === "success") return null;
  const { exitCode, signal, stdoutTail, stderrTail, jsonLogLocation, log } = result;
  const { stepFailed = "agent_execution" } = result;
  const timedOutMs = status === "timeout" ? durationMs : undefined;
  const fallback = status === "timeout" ? "Agent execution timed out" : error;
  const output = { exitCode, signal, stdoutTail, stderrTail };
  const facts = { ...output, timedOutMs, command: stepFailed, message: result.message ?? fallback };
  const { errorType, errorClass, message: errorMessage } = classify(compact(facts) as FailureFacts);
  const agentId = result.agentId ?? `agent-${itemId}`;
  const kind = { errorType, errorClass, errorMessage, stackTrace: error };
  const where = { agentId, stepFailed, durationMs, jsonLogLocation, log };
  const reason = `the agent ${status === "timeout" ? "timed out" : "failed"} (attempt ${attempt})`;
  const letter = letterWith(
    compact({ attemptNumber: attempt, timestamp: at, ...kind, ...where, ...output }),
    { itemId, itemData: item, jobId, reason },
  );
  if (worktreePath === undefined) return letter;
  const { branchName = "", uncommittedChanges } = result;
  return { ...letter, worktreeArtifacts: compact({ worktreePath, branchName, uncommittedChanges }) };
}
