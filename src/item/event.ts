/** Events: an ordered record of changes, each written in the same transaction as the change that it describes. */
import { toRfc3339 } from "../std/clock.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import { usageToJson } from "./agent-run.ts";
import { ERROR_EVENTS } from "./error-log.ts";
import type { Failure } from "./failure.ts";
import type { Attempt, Settlement } from "./item.ts";
import type { WorktreeArtifacts } from "./letter.ts";

/** Every type of event. */
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
  "verify_passed",
  "verify_failed",
  "late_result",
  "queue_created",
  "queue_changed",
  "queue_paused",
  "queue_resumed",
  "breaker_opened",
  "breaker_closed",
  "runner_failed",
  "store_write_failed",
  "clock_stepped",
  "alert_raised",
  "alert_recovered",
  "alert_undelivered",
  "change_recorded",
] as const;
/** One of `EVENT_TYPES`. */
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * The events that people cause, which the audit lists. Events of other types either belong to a change that
 * has one of these events, or have no human author. The author is in the event or, for steps of an operation,
 * in the operation.
 */
export const AUDITED_EVENTS = [
  "change_recorded",
  "job_started",
  "job_resumed",
  "job_dismissed",
  "job_deleted",
  "queue_created",
  "queue_changed",
  "queue_paused",
  "queue_resumed",
  "item_replaced",
  "item_held",
  "item_released",
  "dlq_item_amended",
  "dlq_items_reprocessed",
  "dlq_items_requeued",
  "dlq_items_discarded",
  "dlq_items_restored",
  "dlq_items_purged",
  "dlq_items_cleared",
  "dlq_items_evicted",
  "group_changed",
  "operation_changed",
] as const satisfies readonly EventType[];

/** Adds the author to the data of an event that the audit lists. */
export function withAuthor<Draft extends { readonly type: EventType; readonly data?: JsonObject }>(
  draft: Draft,
  author: string | null | undefined,
): Draft {
  const isAudited = (AUDITED_EVENTS as readonly EventType[]).includes(draft.type);
  if (typeof author !== "string" || !isAudited || draft.data?.author !== undefined) return draft;
  return { ...draft, data: { ...draft.data, author } };
}

/** One recorded change of an item, a letter, a group, a queue or a job. */
export interface Event {
  /** Increases with every event of the store, so it is also the cursor for paging. */
  readonly id: number;
  readonly at: number;
  readonly type: EventType;
  readonly queue?: string;
  readonly itemId?: string;
  readonly attempt?: number;
  readonly data?: JsonObject;
}

/** Converts an event to the JSON that `redrive events --json` prints. */
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

/** Returns the events of one settlement in order. All engines write the same events. */
export function eventsOf(settlement: Settlement, wasLetter: boolean): readonly EventDraft[] {
  return [endOfAttempt(settlement), ...handlerFailed(settlement), ...whatFollows(settlement, wasLetter)];
}

function handlerFailed({ handlerProblem: problem }: Settlement): readonly EventDraft[] {
  if (problem === undefined) return [];
  const { message, exitCode: exit_code, signal, log } = problem;
  return [{ type: "handler_failed", data: compact({ message, exit_code, signal, log }) }];
}

function endOfAttempt({ outcome, failure, usage }: Settlement): EventDraft {
  const used = usage && { usage: usageToJson(usage) };
  if (outcome === "failed")
    return { type: "attempt_failed", data: { ...(failure && failureData(failure)), ...used } };
  return { type: `attempt_${outcome}`, ...(used && { data: used }) };
}

function failureData({ errorType, errorClass, errorMessage }: Failure): Record<string, Json> {
  return { error_type: errorType.name, error_class: errorClass, message: errorMessage };
}

/** Returns one event for each failure of an imported letter, with the time of that failure. */
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
  const { verdict, death, mergedCommit } = settlement;
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
        { type: "dlq_item_added", data: { reason: verdict.reason, signature: death?.signature ?? "" } },
        ...(death?.worktreeArtifacts ? [kept(death.worktreeArtifacts)] : []),
      ];
  }
}

function kept({ worktreePath, branchName }: WorktreeArtifacts): EventDraft {
  return { type: "worktree_kept", data: { worktree_path: worktreePath, branch_name: branchName } };
}

function removed(why: string): EventDraft {
  return { type: "dlq_item_removed", data: { why } };
}

export const RUN_MAX = 1000;

/** The queue, item and attempt of an event, by their numbers in the store. */
export interface EventSubject {
  readonly queue?: number;
  readonly ref?: number;
  readonly attempt?: number;
}

/** One event that is stored once for several items, because a row for each is slow. Readers get single events. */
export interface EventRun {
  readonly type: EventType;
  readonly data: JsonObject | undefined;
  readonly queue: number | undefined;
  readonly attempt: number | undefined;
  /** The items in order; empty for an event without an item. */
  readonly refs: number[];
}

/** Adds an event to the last run if it fits there, or starts a new run. */
export function addToRuns(
  runs: EventRun[],
  { type, data }: EventDraft,
  { queue, ref, attempt }: EventSubject,
): void {
  const last = runs.at(-1);
  if (ref !== undefined && last !== undefined && continues(last, { type, data, queue, attempt }))
    last.refs.push(ref);
  else runs.push({ type, data, queue, attempt, refs: ref === undefined ? [] : [ref] });
}

/** Whether an event can join a run. Errors never do, because the error log reads them one by one. */
function continues(run: EventRun, next: Omit<EventRun, "refs">): boolean {
  if (isError(next.type)) return false;
  const isSame = run.type === next.type && run.queue === next.queue && run.attempt === next.attempt;
  const isBare = run.data === undefined && next.data === undefined;
  return isSame && isBare && run.refs.length > 0 && run.refs.length < RUN_MAX;
}

function isError(type: EventType): boolean {
  return (ERROR_EVENTS as readonly EventType[]).includes(type);
}
