/** Converts items and their attempts to their public JSON form. */
import type { Engine } from "../engine.ts";
import { type Attempt, attemptToJson, type Item } from "../item/item.ts";
import type { LetterNote } from "../item/letter.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type JsonObject } from "../std/json.ts";

export function itemToJson(item: Item): JsonObject {
  return compact({
    item_id: item.itemId,
    queue: item.queue,
    name: item.name,
    state: item.state,
    priority: item.priority,
    due_at: toRfc3339(item.dueAt),
    expires_at: item.expiresAt === undefined ? undefined : toRfc3339(item.expiresAt),
    ordering_key: item.orderingKey,
    attempts: item.attempts,
    revision: item.revision,
    redrive_count: item.redriveCount,
    requeued_from: item.requeuedFrom,
    requeued_as: item.requeuedAs,
    data: item.data,
  }) as JsonObject;
}

export interface ItemView {
  readonly item: Item;
  /** Oldest first. */
  readonly attempts: readonly Attempt[];
  readonly notes: readonly LetterNote[];
}

export async function readItemView(engine: Engine, item: Item): Promise<ItemView> {
  return { item, attempts: await engine.listAttempts(item.ref), notes: await engine.listNotes(item.ref) };
}

export function itemViewToJson({ item, attempts, notes }: ItemView): JsonObject {
  return {
    ...itemToJson(item),
    result: resultOf(attempts) ?? null,
    attempt_history: attempts.map(attemptToJson),
    notes: notes.map(({ at, author, text }) => ({ at: toRfc3339(at), author, text })),
  };
}

export function resultOf(attempts: readonly Attempt[]): Attempt["result"] {
  return attempts.findLast(({ outcome }) => outcome === "succeeded")?.result;
}
