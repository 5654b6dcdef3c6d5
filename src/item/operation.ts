/** A tracked operation on many letters. The selection is fixed at the beginning, and the totals always add up. */
import { assert } from "../std/assert.ts";
import { toRfc3339 } from "../std/clock.ts";
import { compact, type Json, type JsonObject } from "../std/json.ts";
import type { EventDraft, EventType } from "./event.ts";
import type { Priority } from "./item.ts";
import type { Amendment } from "./letter.ts";
import type { LetterFilter } from "./letter-query.ts";
import type { ItemState } from "./state.ts";

interface KindRule {
  /** The states of letters that this kind accepts. If the filter has no states, the first one is selected. */
  readonly states: readonly ItemState[];
  /**
   * The event for a step that changed or refused letters. An edit writes one event for each letter instead.
   * Events of letters precede the event of the step, in burial order.
   */
  readonly event: EventType;
  /** The `why` field of `dlq_item_removed`, for kinds that remove letters. */
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

/** The statuses of an operation. `selecting`: the search for letters is running; `open`: some letters have not ended. */
export const OPERATION_STATUSES = ["selecting", "open", "paused", "ended", "cancelled"] as const;
/** One of `OPERATION_STATUSES`. */
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** The store's reasons for refusing a letter. Callers add their own reasons. */
export const REFUSAL = {
  gone: "it changed or was removed after it was selected",
  ineligible: "not eligible: it needs manual review, cannot succeed unchanged, or failed too often",
  cancelled: "the operation was cancelled",
} as const;

export interface NewOperation {
  readonly id: string;
  readonly kind: OperationKind;
  /** The queue whose letters are changed. */
  readonly queue: string;
  readonly filter: LetterFilter;
  /** `filter` (default): the store selects all matches. `enlisted`: the caller examines the matches and enlists letters. */
  readonly selection?: "filter" | "enlisted";
  /** The operation to undo; the selection is the set of letters that it changed. */
  readonly undoes?: string;
  /** Also redrives letters that are not eligible. */
  readonly force: boolean;
  readonly author: string;
  /** The reason for a discard, stored with each letter. */
  readonly reason?: string;
  /**
   * The parameters for resuming after a crash, such as the change of an edit. Engines do not interpret it.
   */
  readonly plan: JsonObject;
}

/** An operation and its totals. */
export interface Operation extends NewOperation {
  readonly status: OperationStatus;
  readonly createdAt: number;
  readonly endedAt?: number;
  /** The sequence number of the newest letter when the operation began; later letters are not selected. */
  readonly bound: number;
  /** The position where the search for letters continues. */
  readonly cursor?: string;
  /** The progress in a form that depends on the kind. */
  readonly progress: JsonObject;
  /** The number of selected letters: done + refused + pending. */
  readonly selected: number;
  readonly done: number;
  readonly refused: number;
  /** Used only for redrives, where done = succeeded + failed + running. */
  readonly succeeded: number;
  readonly failed: number;
  /** How many of the failed letters had the same signature as before. */
  readonly returned: number;
}

export interface OperationStep {
  /**
   * The number of pending letters to process, including refused ones, oldest burial first. Not allowed for an
   * edit.
   */
  readonly max?: number;
  /** Alternatively, the letters to process, oldest burial first. Letters that are not pending are skipped. */
  readonly letters?: readonly LetterStep[];
  /** When redriven letters become due. */
  readonly due?: {
    /** The delay from now. */
    readonly delayMs: number;
    /**
     * The minimum delay after the burial. Entry n applies to a letter that was redriven n times; the last
     * entry repeats.
     */
    readonly sinceBurialMs: readonly number[];
  };
  /** The new priority of redriven items. Default: unchanged. */
  readonly priority?: Priority;
  readonly progress?: JsonObject;
}

/** The action for one letter of the selection. */
export interface LetterStep {
  readonly letterSequence: number;
  readonly refuse?: string;
  /** The expected revision of the data. A letter with another revision is refused with `REFUSAL.gone`. */
  readonly revision?: number;
  /** The new data of an edit (equal data counts as done without a new revision), or the data of the requeued item. */
  readonly data?: Json;
  /** The priority of a requeued item. Default: the letter's priority. */
  readonly priority?: Priority;
  readonly rule?: string;
  readonly note?: string;
}

export interface OperationChange {
  /** Who changes the status, for the audit. Null: Redrive itself, whoever called it. Default: nobody. */
  readonly author?: string | null;
  readonly status?: "open" | "paused" | "cancelled";
  readonly progress?: JsonObject;
  readonly refuseRest?: string;
}

export interface SelectedLetter {
  readonly letterSequence: number;
  readonly ref: number;
  readonly itemId: string;
  /** The letter's signature at the time of the selection. */
  readonly signature: string;
  readonly status: "pending" | "done" | "refused";
  readonly reason?: string;
}

/** The number of letters that have neither ended nor been refused. */
export function leftOf({ kind, selected, done, refused, succeeded, failed }: Operation): number {
  return kind === "redrive" ? selected - refused - succeeded - failed : selected - done - refused;
}

/** Converts an operation to the JSON result of bulk commands. */
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

/**
 * Returns the event for a step that changed or refused letters. An edit has none, because each letter has its
 * own event.
 */
export function stepEvent(
  { id, kind }: Pick<NewOperation, "id" | "kind">,
  { done, refused }: { readonly done: number; readonly refused: number },
): readonly EventDraft[] {
  if (kind === "edit" || done + refused === 0) return [];
  const count: JsonObject = kind === "redrive" ? { redriven: done } : { count: done };
  return [{ type: KIND_RULES[kind].event, data: { operation_id: id, ...count, refused } }];
}

/** Returns the event of one letter. A redrive has none, because the letter stays in the dead letter queue. */
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

/**
 * Whether the operation is a server preview: a frozen selection that nobody has started, even if it has
 * expired. It is stored as an operation, but must not be listed, continued or resumed as one.
 */
export function isPreview({ plan, progress, status }: Operation): boolean {
  if (typeof plan.held_until !== "number") return false;
  return status === "selecting" || typeof progress.digest === "string";
}

export function statusEvent({ id, status }: Pick<Operation, "id" | "status">): EventDraft {
  return { type: "operation_changed", data: { operation_id: id, status } };
}

/** Throws on a step that contradicts its operation, which is a bug in the caller. */
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

/** The name of a requeued item: `Requeue-` and the name of the original item. The prefix is not repeated. */
export function newNameOf(name: string | null | undefined, itemId: string): string {
  const before = name ?? itemId;
  return before.startsWith(REQUEUE) ? before : `${REQUEUE}${before}`;
}

export function sentAnewAs(itemId: string): string {
  return `requeued as ${itemId}`;
}
