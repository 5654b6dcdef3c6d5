/** The events that the work of an operation leaves. Every engine writes just these, the letters' own before the sum. */
import type { JsonObject } from "../kit/json.ts";
import type { EventDraft } from "./event.ts";
import { compact } from "./failure.ts";
import type { Amendment } from "./letter.ts";
import { EVENT_OF_KIND, type NewOperation, type Operation } from "./operation.ts";

/** What `dlq_item_removed` says of a letter that the operation discarded or deleted. */
const WHY_REMOVED = {
  requeue: "requeued",
  discard: "discarded",
  purge: "purged",
  clear: "cleared",
  evict: "evicted",
} as const;

/** Of a step that did or refused something; an edit has none, for each of its letters has its own. */
export function stepEvent(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  { done, refused }: { readonly done: number; readonly refused: number },
): readonly EventDraft[] {
  if (kind === "edit" || done + refused === 0) return [];
  const count: JsonObject = kind === "redrive" ? { redriven: done } : { count: done };
  return [{ type: EVENT_OF_KIND[kind], data: { operation_id: id, ...count, refused } }];
}

/**
 * Of one letter that was worked on, besides the event of the step. A redrive has none: the letter still waits. Of one
 * that was sent anew it says under which id.
 */
export function letterEvent(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  signature: string,
  requeuedAs?: string,
): readonly EventDraft[] {
  if (kind === "redrive" || kind === "edit") return [];
  if (kind === "restore")
    return [{ type: "dlq_item_added", data: { reason: "restored", signature, operation_id: id } }];
  const as: JsonObject = requeuedAs === undefined ? {} : { requeued_as: requeuedAs };
  return [{ type: "dlq_item_removed", data: { why: WHY_REMOVED[kind], operation_id: id, ...as } }];
}

/** Of one amendment. Data that stayed the same has none. */
export function amendmentEvent({ operationId, revision, author, rule }: Amendment): EventDraft {
  return {
    type: "dlq_item_amended",
    data: compact({ operation_id: operationId ?? "", revision, author, rule }) as JsonObject,
  };
}

/** Of a change of an operation's status. */
export function statusEvent({ id, status }: Pick<Operation, "id" | "status">): EventDraft {
  return { type: "operation_changed", data: { operation_id: id, status } };
}
