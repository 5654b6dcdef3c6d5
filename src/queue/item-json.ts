/** The form of an item and its attempts outside the process. */
import { failureToJson } from "../item/failure.ts";
import type { Attempt, Item } from "../item/item.ts";
import type { LetterNote } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import type { JsonObject } from "../std/json.ts";
import { compact } from "../std/json.ts";

export function itemToJson(item: Item): JsonObject {
  return compact({
    item_id: item.itemId,
    queue: item.queue,
    name: item.name,
    state: item.state,
    priority: item.priority,
    due_at: toRfc3339(item.dueAt),
    expires_at: item.expiresAt === undefined ? undefined : toRfc3339(item.expiresAt),
    lane: item.lane,
    attempts: item.attempts,
    revision: item.revision,
    redrive_count: item.redriveCount,
    requeued_from: item.requeuedFrom,
    requeued_as: item.requeuedAs,
    data: item.data,
  }) as JsonObject;
}

/** All that is known of one item. */
export interface ItemView {
  readonly item: Item;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly notes: readonly LetterNote[];
}

export function itemViewToJson({ item, attempts, notes }: ItemView): JsonObject {
  return {
    ...itemToJson(item),
    result: resultOf(attempts) ?? null,
    attempt_history: attempts.map(attemptToJson),
    notes: notes.map(({ at, author, text }) => ({ at: toRfc3339(at), author, text })),
  };
}

/** What the attempt that succeeded left. */
export function resultOf(attempts: readonly Attempt[]): Attempt["result"] {
  return attempts.findLast(({ outcome }) => outcome === "succeeded")?.result;
}

function attemptToJson(attempt: Attempt): JsonObject {
  return compact({
    attempt_number: attempt.number,
    outcome: attempt.outcome,
    holder: attempt.holder,
    started_at: toRfc3339(attempt.startedAt),
    ended_at: attempt.endedAt === undefined ? undefined : toRfc3339(attempt.endedAt),
    failure: attempt.failure && failureToJson(attempt.failure),
    log: attempt.log,
    result: attempt.result,
  }) as JsonObject;
}
