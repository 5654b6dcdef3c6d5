/**
 * A dead letter: an item that the policy gave up on, with its data and every failure. This file has the shape, the
 * codec for the JSON that leaves the process, and the pure step from an agent's result to a letter.
 */
import { fromRfc3339, toRfc3339 } from "../kit/clock.ts";
import { isJsonObject, type Json, type JsonObject } from "../kit/json.ts";
import { compact, type Failure, failureFromJson, failureToJson, reader } from "./failure.ts";
import { type ItemState, parseItemState } from "./state.ts";

/** What is left of the work in a git worktree. */
export interface WorktreeArtifacts {
  readonly worktreePath: string;
  readonly branchName: string;
  /** The commit that HEAD was at. */
  readonly head?: string;
  readonly uncommittedChanges?: string;
  readonly errorLogs?: string;
}

/** What a stale worker said after its lease was lost. Kept, and changes nothing. */
export interface Evidence {
  readonly at: number;
  readonly attemptNumber: number;
  readonly outcome: string;
  readonly note: string;
}

/** An item that the policy gave up on, with everything that is known about why. */
export interface Letter {
  readonly itemId: string;
  readonly itemData: Json;
  readonly firstAttempt: number;
  readonly lastAttempt: number;
  readonly failureCount: number;
  readonly failureHistory: readonly Failure[];
  readonly errorSignature: string;
  readonly errorPattern: string;
  readonly reprocessEligible: boolean;
  readonly manualReviewRequired: boolean;
  readonly worktreeArtifacts?: WorktreeArtifacts;
  readonly jobId: string;
  readonly queue: string;
  /** `dead`; or `ready` and `leased` while it is being redriven, for it leaves on success only. */
  readonly state: ItemState;
  /** Why the policy gave up, e.g. `attempts spent (3 of 3)`. */
  readonly reason: string;
  readonly revision: number;
  readonly redriveCount: number;
  readonly evidence?: readonly Evidence[];
}

/** The form of a letter outside the process. */
export function letterToJson(letter: Letter): JsonObject {
  return compact({
    item_id: letter.itemId,
    item_data: letter.itemData,
    first_attempt: toRfc3339(letter.firstAttempt),
    last_attempt: toRfc3339(letter.lastAttempt),
    failure_count: letter.failureCount,
    failure_history: letter.failureHistory.map(failureToJson),
    error_signature: letter.errorSignature,
    error_pattern: letter.errorPattern,
    reprocess_eligible: letter.reprocessEligible,
    manual_review_required: letter.manualReviewRequired,
    worktree_artifacts: letter.worktreeArtifacts && artifactsToJson(letter.worktreeArtifacts),
    job_id: letter.jobId,
    queue: letter.queue,
    state: letter.state,
    reason: letter.reason,
    revision: letter.revision,
    redrive_count: letter.redriveCount,
    evidence: letter.evidence?.map(evidenceToJson),
  });
}

/** Reads a letter of ours or of a predecessor, which lacks the fields that came later. */
export function letterFromJson(json: JsonObject): Letter {
  const read = reader(json);
  const failures = (read.list("failure_history") ?? []).filter(isJsonObject).map(failureFromJson);
  const artifacts = read.object("worktree_artifacts");
  const time = (key: string) => fromRfc3339(read.text(key) ?? "") ?? 0;
  return compact({
    itemId: read.text("item_id") ?? "",
    itemData: json.item_data ?? null,
    firstAttempt: time("first_attempt"),
    lastAttempt: time("last_attempt"),
    failureCount: read.number("failure_count") ?? failures.length,
    failureHistory: failures,
    errorSignature: read.text("error_signature") ?? "",
    errorPattern: read.text("error_pattern") ?? "",
    reprocessEligible: read.flag("reprocess_eligible") ?? true,
    manualReviewRequired: read.flag("manual_review_required") ?? false,
    worktreeArtifacts: artifacts && artifactsFromJson(artifacts),
    jobId: read.text("job_id") ?? "",
    queue: read.text("queue") ?? "",
    state: parseItemState(read.text("state") ?? "dead") ?? "dead",
    reason: read.text("reason") ?? "",
    revision: read.number("revision") ?? 1,
    redriveCount: read.number("redrive_count") ?? 0,
    evidence: read.list("evidence")?.filter(isJsonObject).map(evidenceFromJson),
  });
}

export function artifactsToJson(artifacts: WorktreeArtifacts): JsonObject {
  return compact({
    worktree_path: artifacts.worktreePath,
    branch_name: artifacts.branchName,
    head: artifacts.head,
    uncommitted_changes: artifacts.uncommittedChanges,
    error_logs: artifacts.errorLogs,
  });
}

export function artifactsFromJson(json: JsonObject): WorktreeArtifacts {
  const read = reader(json);
  return compact({
    worktreePath: read.text("worktree_path") ?? "",
    branchName: read.text("branch_name") ?? "",
    head: read.text("head"),
    uncommittedChanges: read.text("uncommitted_changes"),
    errorLogs: read.text("error_logs"),
  });
}

export function evidenceToJson(evidence: Evidence): JsonObject {
  return {
    at: toRfc3339(evidence.at),
    attempt_number: evidence.attemptNumber,
    outcome: evidence.outcome,
    note: evidence.note,
  };
}

export function evidenceFromJson(json: JsonObject): Evidence {
  const read = reader(json);
  return {
    at: fromRfc3339(read.text("at") ?? "") ?? 0,
    attemptNumber: read.number("attempt_number") ?? 0,
    outcome: read.text("outcome") ?? "",
    note: read.text("note") ?? "",
  };
}
