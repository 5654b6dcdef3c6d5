/** A tracked operation on many letters. Its selection is fixed when it begins, and its totals always add up. */
import { assert } from "../std/assert.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import type { EventDraft, EventType } from "./event.ts";
import type { Priority } from "./item.ts";
import type { Amendment } from "./letter.ts";
import type { LetterFilter } from "./letter-query.ts";
import type { ItemState } from "./state.ts";

interface KindRule {
  /** The states of the letters that it works on. Without states in the filter, the first one is selected. */
  readonly states: readonly ItemState[];
  /**
   * The event of a step that did or refused something; an edit has one for each letter instead. The letters' own events
   * come before that of the step, in the order of their burials.
   */
  readonly event: EventType;
  /** The `why` of `dlq_item_removed`, for kinds that remove letters. */
  readonly why?: string;
}

const ANY_STATE: readonly ItemState[] = ["dead", "discarded", "done"];

const KINDS = {
  redrive: { states: ["dead"], event: "dlq_items_reprocessed" },
  requeue: { states: ["dead"], event: "dlq_items_requeued", why: "requeued" },
  edit: { states: ["dead"], event: "dlq_item_amended" },
  discard: { states: ["dead"], event: "dlq_items_discarded", why: "discarded" },
  restore: { states: ["discarded"], event: "dlq_items_restored" },
  purge: { states: ANY_STATE, event: "dlq_items_purged", why: "purged" },
  clear: { states: ["done", "discarded"], event: "dlq_items_cleared", why: "cleared" },
  evict: { states: ANY_STATE, event: "dlq_items_evicted", why: "evicted" },
} as const satisfies Readonly<Record<string, KindRule>>;

/** One of `OPERATION_KINDS`. */
export type OperationKind = keyof typeof KINDS;

/** Every kind of operation on letters. */
export const OPERATION_KINDS = Object.keys(KINDS) as readonly OperationKind[];

export const KIND_RULES: Readonly<Record<OperationKind, KindRule>> = KINDS;

/** `selecting` while its letters are searched; `open` until all have ended. */
export const OPERATION_STATUSES = ["selecting", "open", "paused", "ended", "cancelled"] as const;
/** One of `OPERATION_STATUSES`. */
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Why the store itself refuses a letter. The caller has other reasons. */
export const REFUSAL = {
  gone: "it changed or left after it was selected",
  ineligible: "not eligible: it needs a person, cannot go well, or came back too often",
  cancelled: "the operation was cancelled",
} as const;

export interface NewOperation {
  readonly id: string;
  readonly kind: OperationKind;
  /** The queue whose letters it works on. */
  readonly queue: string;
  readonly filter: LetterFilter;
  /** `filter` (default): the store selects. `enlisted`: the caller examines what the filter finds, and enlists letters. */
  readonly selection?: "filter" | "enlisted";
  /** The operation that this one undoes; its selection is what that one did. */
  readonly undoes?: string;
  /** Redrive letters that are not eligible too. */
  readonly force: boolean;
  readonly author: string;
  /** The reason of a discard, kept with each letter. */
  readonly reason?: string;
  /** What it needs to resume after a crash, such as an edit's change. The engine only stores it. */
  readonly plan: JsonObject;
}

/** An operation and its totals. */
export interface Operation extends NewOperation {
  readonly status: OperationStatus;
  readonly createdAt: number;
  readonly endedAt?: number;
  /** The newest burial when it began. */
  readonly bound: number;
  /** Where the search for its letters continues. */
  readonly cursor?: string;
  /** Its progress, in the form of its kind. */
  readonly progress: JsonObject;
  /** selected = done + refused + pending. */
  readonly selected: number;
  readonly done: number;
  readonly refused: number;
  /** For a redrive: done = succeeded + failed + the ones still running. */
  readonly succeeded: number;
  readonly failed: number;
  /** How many of those that failed had the same signature as before. */
  readonly returned: number;
}

export interface OperationStep {
  /** The number of pending letters, oldest burial first, including refused ones. Not for an edit. */
  readonly max?: number;
  /** Or these letters, oldest burial first. Letters that are not pending are skipped. */
  readonly letters?: readonly LetterStep[];
  /** When the letters of a redrive are due. */
  readonly due?: {
    /** From now. */
    readonly delayMs: number;
    /** And not earlier than this after the burial: entry n is for a letter that was redriven n times; the last repeats. */
    readonly sinceBurialMs: readonly number[];
  };
  /** The new priority of redriven items. Default: unchanged. */
  readonly priority?: Priority;
  readonly progress?: JsonObject;
}

/** What happens to one letter of the selection. */
export interface LetterStep {
  readonly letterSequence: number;
  readonly refuse?: string;
  /** Refuses the letter as gone if its data has another revision. */
  readonly revision?: number;
  /** The new data of an edit (equal data makes no revision but counts as done), or the data of a requeued item. */
  readonly data?: Json;
  /** The priority of a requeued item. Default: that of the letter. */
  readonly priority?: Priority;
  readonly rule?: string;
  readonly note?: string;
}

export interface OperationChange {
  readonly status?: "open" | "paused" | "cancelled";
  readonly progress?: JsonObject;
  readonly refuseRest?: string;
}

export interface SelectedLetter {
  readonly letterSequence: number;
  readonly ref: number;
  readonly itemId: string;
  /** When it was selected. */
  readonly signature: string;
  readonly status: "pending" | "done" | "refused";
  readonly reason?: string;
}

/** How many letters have neither ended nor been refused. */
export function leftOf({ kind, selected, done, refused, succeeded, failed }: Operation): number {
  return kind === "redrive" ? selected - refused - succeeded - failed : selected - done - refused;
}

/** The JSON result of every bulk command. */
export function operationToJson(operation: Operation): JsonObject {
  const { kind, selected, done, refused } = operation;
  const isRedrive = kind === "redrive";
  return compact({
    operation_id: operation.id,
    kind,
    job_id: operation.queue,
    status: operation.status,
    selected,
    done,
    redriven: isRedrive ? done : 0,
    refused,
    succeeded: isRedrive ? operation.succeeded : done,
    failed: operation.failed,
    remaining: leftOf(operation),
    created_at: toRfc3339(operation.createdAt),
    ended_at: operation.endedAt === undefined ? undefined : toRfc3339(operation.endedAt),
    author: operation.author,
    reason: operation.reason,
    undoes: operation.undoes,
  });
}

/** The event of a step that did or refused something. An edit has none, because each of its letters has its own. */
export function stepEvent(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  { done, refused }: { readonly done: number; readonly refused: number },
): readonly EventDraft[] {
  if (kind === "edit" || done + refused === 0) return [];
  const count: JsonObject = kind === "redrive" ? { redriven: done } : { count: done };
  return [{ type: KIND_RULES[kind].event, data: { operation_id: id, ...count, refused } }];
}

/** The letter's own event. A redrive has none, because the letter still waits. */
export function letterEvent(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  signature: string,
  requeuedAs?: string,
): readonly EventDraft[] {
  if (kind === "redrive" || kind === "edit") return [];
  if (kind === "restore")
    return [{ type: "dlq_item_added", data: { reason: "restored", signature, operation_id: id } }];
  const as: JsonObject = requeuedAs === undefined ? {} : { requeued_as: requeuedAs };
  return [{ type: "dlq_item_removed", data: { why: KIND_RULES[kind].why ?? "", operation_id: id, ...as } }];
}

export function amendmentEvent({ operationId, revision, author, rule }: Amendment): EventDraft {
  return {
    type: "dlq_item_amended",
    data: compact({ operation_id: operationId ?? "", revision, author, rule }) as JsonObject,
  };
}

export function statusEvent({ id, status }: Pick<Operation, "id" | "status">): EventDraft {
  return { type: "operation_changed", data: { operation_id: id, status } };
}

/** Throws on a step that contradicts its operation, which is a bug of the caller. */
export function assertStep(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  { max, letters }: OperationStep,
): void {
  const step = (what: string) => `a step of operation ${id} (${kind}) ${what}`;
  assert(max === undefined || letters === undefined, step("has both letters and a number"));
  assert(max === undefined || (max > 0 && kind !== "edit"), step(`is to work on ${max} letters`));
  for (const { data, refuse } of letters ?? []) {
    const isEdited = kind === "edit" && refuse === undefined;
    const mayHaveData = isEdited || (kind === "requeue" && refuse === undefined);
    assert(!isEdited || data !== undefined, step("lacks the new data"));
    assert(mayHaveData || data === undefined, step("has data"));
  }
}

/** The id of a requeued item: the letter's id with the first free number as a suffix. */
export function newIdOf(itemId: string, isTaken: (id: string) => boolean): string {
  for (let number = 2; ; number += 1) {
    const id = `${itemId}~${number}`;
    if (!isTaken(id)) return id;
  }
}

const REQUEUE = "Requeue-";

/** The name of a requeued item: `Requeue-` and the name of the letter's, without repetition. */
export function newNameOf(name: string | null | undefined, itemId: string): string {
  const before = name ?? itemId;
  return before.startsWith(REQUEUE) ? before : `${REQUEUE}${before}`;
}

export function sentAnewAs(itemId: string): string {
  return `sent anew as ${itemId}`;
}
