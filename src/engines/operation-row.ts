/** An operation as both SQL stores write it down. */

import type { LetterFilter } from "../item/letter-query.ts";
import type { Operation, OperationChange, OperationKind, OperationStatus } from "../item/operation.ts";
import { compact, type JsonObject, parseJson } from "../std/json.ts";

/** An operation as it is written down. */
export interface OperationRow {
  readonly no: number;
  readonly id: string;
  readonly kind: OperationKind;
  readonly queue: string;
  readonly queue_no: number;
  readonly filter: string;
  readonly force: number;
  readonly author: string;
  readonly reason: string | null;
  readonly selection: "filter" | "enlisted" | null;
  readonly undone: string | null;
  readonly plan: string;
  readonly status: OperationStatus;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly bound: number;
  /** Letters of the selection up to this one are done or refused. */
  readonly next_no: number;
  readonly complete: number;
  readonly cursor: string | null;
  readonly progress: string;
  readonly selected: number;
  readonly done: number;
  readonly refused: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly returned: number;
}

/** One that was paused while its letters were searched for goes on searching when it is opened. */
export function statusAfter(row: OperationRow, change: OperationChange): OperationStatus {
  if (change.status === undefined) return row.status;
  return change.status === "open" && row.complete === 0 ? "selecting" : change.status;
}

export function operationOf(row: OperationRow): Operation {
  return compact({
    id: row.id,
    kind: row.kind,
    queue: row.queue,
    filter: parseJson(row.filter) as LetterFilter,
    force: row.force === 1,
    author: row.author,
    reason: row.reason ?? undefined,
    selection: row.selection ?? undefined,
    undoes: row.undone ?? undefined,
    plan: parseJson(row.plan) as JsonObject,
    status: row.status,
    createdAt: row.created_at,
    endedAt: row.ended_at ?? undefined,
    bound: row.bound,
    cursor: row.cursor ?? undefined,
    progress: parseJson(row.progress) as JsonObject,
    selected: row.selected,
    done: row.done,
    refused: row.refused,
    succeeded: row.succeeded,
    failed: row.failed,
    returned: row.returned,
  });
}
