/** The records of operations: created with a fixed selection, found, paused, cancelled and ended. */

import {
  type NewOperation,
  type Operation,
  type OperationChange,
  REFUSAL,
  statusEvent,
} from "../../../src/item/operation.ts";
import { assert } from "../../../src/std/assert.ts";
import { endRedrive, operationOf, requireOperation } from "./books.ts";
import { record } from "./events.ts";
import { moveRow } from "./move.ts";
import { refuse, refusePending, select } from "./selection.ts";
import { frozenCopy, type OperationRow, type Row, requireQueue, type Store } from "./store.ts";

/** The operation's queue and all conditions of the filter must match, even a queue in the filter. */
export function beginOperation(store: Store, asked: NewOperation): Operation {
  assert(!store.operations.has(asked.id), `operation ${asked.id} was begun twice`);
  requireQueue(store, asked.queue);
  const isEnlisted = asked.selection === "enlisted";
  const undone = asked.undoes === undefined ? undefined : requireOperation(store, asked.undoes);
  const selection = isEnlisted ? [] : select(store, asked, undone);
  const operation: OperationRow = {
    asked: frozenCopy(asked),
    status: isEnlisted ? "selecting" : "open",
    createdAt: store.now,
    endedAt: undefined,
    bound: store.burials,
    cursor: undefined,
    isComplete: !isEnlisted,
    progress: {},
    selection: new Map(selection.map((selected) => [selected.letterSequence, selected])),
    done: 0,
    refused: 0,
    succeeded: 0,
    failed: 0,
    returned: 0,
  };
  store.operations.set(asked.id, operation);
  endRedrive(store, operation);
  return operationOf(operation);
}

/** An ended or cancelled operation does not change. */
export function changeOperation(store: Store, id: string, change: OperationChange): Operation {
  const operation = requireOperation(store, id);
  if (operation.status === "ended" || operation.status === "cancelled") return operationOf(operation);
  if (change.progress) operation.progress = frozenCopy(change.progress);
  if (change.refuseRest !== undefined) refusePending(operation, change.refuseRest);
  const before = operation.status;
  if (change.status) operation.status = nextStatus(operation, change.status);
  if (operation.status === "cancelled") cancel(store, operation);
  if (operation.status !== before)
    record(store, { ...statusEvent({ id, status: operation.status }), queue: operation.asked.queue });
  endRedrive(store, operation);
  return operationOf(operation);
}

/** The status of the operation. */
export function findOperation(store: Store, id: string): Operation | null {
  const operation = store.operations.get(id);
  return operation ? operationOf(operation) : null;
}

/** In the order of their creation. `open: true` selects unfinished operations, `open: false` ended ones. */
export function listOperations(
  store: Store,
  filter: { readonly queue?: string; readonly open?: boolean },
): readonly Operation[] {
  return [...store.operations.values()]
    .filter(({ asked }) => filter.queue === undefined || asked.queue === filter.queue)
    .filter(({ endedAt }) => filter.open === undefined || filter.open === (endedAt === undefined))
    .map(operationOf);
}

/** Ends it once; a later call does not change the end. */
export function closeOperation(store: Store, id: string): Operation {
  const operation = requireOperation(store, id);
  if (operation.endedAt !== undefined) return operationOf(operation);
  if (operation.status === "cancelled") takeBack(store, operation);
  const { selection, done, refused, isComplete } = operation;
  const isOver = isComplete && done + refused === selection.size && rowsAtWork(store, operation).length === 0;
  if (isOver) end(store, operation);
  return operationOf(operation);
}

/** Opening one whose selection is incomplete continues the selection. */
function nextStatus({ isComplete }: OperationRow, wanted: NonNullable<OperationChange["status"]>) {
  return wanted === "open" && !isComplete ? "selecting" : wanted;
}

/** Refuses pending letters and takes back those that nobody has started. Leased ones end normally. */
function cancel(store: Store, operation: OperationRow): void {
  refusePending(operation, REFUSAL.cancelled);
  takeBack(store, operation);
  if (rowsAtWork(store, operation).length === 0) operation.endedAt = store.now;
}

/** The letter is dead as before, with the attempts that it had meanwhile. */
function takeBack(store: Store, operation: OperationRow): void {
  for (const row of rowsAtWork(store, operation)) {
    if (row.state !== "ready") continue;
    const selected = operation.selection.get(row.burial?.number ?? 0);
    assert(
      selected,
      `item ${row.ref} is at work for operation ${operation.asked.id}, which did not select it`,
    );
    moveRow(row, "recall");
    row.redriveCount -= 1;
    row.operation = undefined;
    operation.done -= 1;
    refuse(operation, selected, REFUSAL.cancelled);
  }
}

function rowsAtWork(store: Store, operation: OperationRow): readonly Row[] {
  return store.rows.filter((row) => row.operation === operation);
}

function end(store: Store, operation: OperationRow): void {
  operation.endedAt = store.now;
  if (operation.status !== "cancelled") operation.status = "ended";
}
