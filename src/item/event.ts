/** What happened, in order. An event is written in the same step as the change it tells of. */
import { toRfc3339 } from "../kit/clock.ts";
import type { Json, JsonObject } from "../kit/json.ts";
import { compact, type Failure } from "./failure.ts";
import type { Attempt, Settlement } from "./item.ts";
import type { WorktreeArtifacts } from "./letter.ts";

/** Everything that can happen, by name. */
export const EVENT_TYPES = [
  "job_started",
  "job_completed",
  "job_failed",
  "job_stopped",
  "job_interrupted",
  "job_resumed",
  "job_changed",
  "job_dismissed",
  "job_deleted",
  "phase_started",
  "phase_completed",
  "item_queued",
  "item_replaced",
  "item_held",
  "item_released",
  "attempt_started",
  "attempt_succeeded",
  "attempt_failed",
  "failure_imported",
  "attempt_retrying",
  "attempt_parked",
  "attempt_released",
  "attempt_lost",
  "handler_failed",
  "item_skipped",
  "dlq_item_added",
  "dlq_item_removed",
  "dlq_items_reprocessed",
  "dlq_item_amended",
  "dlq_items_discarded",
  "dlq_items_restored",
  "dlq_items_purged",
  "dlq_items_cleared",
  "dlq_items_evicted",
  "dlq_items_imported",
  "dlq_nearly_full",
  "dlq_analysis_generated",
  "dlq_rule_applied",
  "dlq_items_requeued",
  "operation_changed",
  "group_opened",
  "group_reopened",
  "group_resolved",
  "group_changed",
  "worktree_created",
  "worktree_merged",
  "worktree_kept",
  "late_result",
  "queue_created",
  "queue_changed",
  "queue_paused",
  "queue_resumed",
  "breaker_opened",
  "breaker_closed",
  "runner_failed",
  "store_write_failed",
  "alert_raised",
  "alert_recovered",
  "alert_undelivered",
] as const;
/** One of `EVENT_TYPES`. */
export type EventType = (typeof EVENT_TYPES)[number];

/** One thing that happened. */
export interface Event {
  /** Rises with every event of the store; a cursor. */
  readonly id: number;
  readonly at: number;
  readonly type: EventType;
  readonly queue?: string;
  readonly itemId?: string;
  readonly attempt?: number;
  readonly data?: JsonObject;
}

/** The form of an event outside the process. */
export function eventToJson(event: Event): JsonObject {
  return compact({
    id: event.id,
    at: toRfc3339(event.at),
    type: event.type,
    job_id: event.queue,
    item_id: event.itemId,
    attempt: event.attempt,
    data: event.data,
  });
}

export interface EventDraft {
  readonly type: EventType;
  readonly data?: Record<string, Json>;
}

/** The events of one settlement, in order. Every engine writes just these. */
export function eventsOf(settlement: Settlement, wasLetter: boolean): readonly EventDraft[] {
  return [endOfAttempt(settlement), ...handlerFailed(settlement), ...whatFollows(settlement, wasLetter)];
}

function handlerFailed({ handlerProblem: problem }: Settlement): readonly EventDraft[] {
  if (problem === undefined) return [];
  const { message, exitCode: exit_code, signal, log } = problem;
  return [{ type: "handler_failed", data: compact({ message, exit_code, signal, log }) }];
}

function endOfAttempt({ outcome, failure }: Settlement): EventDraft {
  if (outcome === "succeeded") return { type: "attempt_succeeded" };
  if (outcome === "released") return { type: "attempt_released" };
  if (outcome === "lost") return { type: "attempt_lost" };
  return { type: "attempt_failed", data: failure ? failureData(failure) : {} };
}

function failureData({ errorType, errorClass, errorMessage }: Failure): Record<string, Json> {
  return { error_type: errorType.name, error_class: errorClass, message: errorMessage };
}

/** The failures that an imported letter describes, for the error log: each with its own time, which is not the event's. */
export function importedFailures(
  attempts: readonly Attempt[],
): readonly { readonly attempt: number; readonly event: EventDraft }[] {
  return attempts.flatMap(({ number, failure }) => {
    if (failure === undefined) return [];
    const data = { ...failureData(failure), failed_at: toRfc3339(failure.timestamp) };
    return [{ attempt: number, event: { type: "failure_imported", data } as const }];
  });
}

function whatFollows(settlement: Settlement, wasLetter: boolean): readonly EventDraft[] {
  const { verdict, grave, mergedCommit } = settlement;
  switch (verdict.kind) {
    case "done":
      return [
        ...(mergedCommit === undefined
          ? []
          : [{ type: "worktree_merged", data: { commit: mergedCommit } } as const]),
        ...(wasLetter ? [removed("succeeded")] : []),
      ];
    case "retry":
      return [{ type: "attempt_retrying", data: { delay_ms: verdict.delayMs } }];
    case "park":
      return [{ type: "attempt_parked", data: { delay_ms: verdict.delayMs } }];
    case "release":
      return settlement.fault === undefined
        ? []
        : [{ type: "runner_failed", data: { message: settlement.fault } }];
    case "skip":
      return [
        { type: "item_skipped", data: { reason: verdict.reason } },
        ...(wasLetter ? [removed("skipped")] : []),
      ];
    case "bury":
    case "stop":
      return [
        { type: "dlq_item_added", data: { reason: verdict.reason, signature: grave?.signature ?? "" } },
        ...(grave?.worktreeArtifacts ? [kept(grave.worktreeArtifacts)] : []),
      ];
  }
}

function kept({ worktreePath, branchName }: WorktreeArtifacts): EventDraft {
  return { type: "worktree_kept", data: { worktree_path: worktreePath, branch_name: branchName } };
}

/** No letter leaves without a word, whichever way it leaves. */
function removed(why: string): EventDraft {
  return { type: "dlq_item_removed", data: { why } };
}
