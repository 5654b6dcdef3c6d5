/**
 * Redrives: tracked operations that send letters back to work.
 *
 * An operation selects the dead letters that match when it begins, by the number of their burial: a letter that is
 * buried later is never touched by it. `redrive` looks at the next of them, oldest burial first, that still lie as
 * they were selected. A letter that has left, or was taken by another operation meanwhile, is passed over, and is
 * counted as refused when a call has come to the end of the selection (it found fewer than it was asked for).
 */
import type { NewOperation, Operation } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import { assert } from "../../kit/assert.ts";
import { record } from "./events.ts";
import { burialOf, matchingLetters } from "./letters.ts";
import { moveRow } from "./move.ts";
import { frozenCopy, type OperationRow, type Row, requireQueue, type Store } from "./store.ts";

/** The operation's queue and everything in the filter must hold, also a queue that the filter names. */
export function beginOperation(store: Store, asked: NewOperation): Operation {
  assert(!store.operations.has(asked.id), `operation ${asked.id} was begun twice`);
  requireQueue(store, asked.queue);
  const selection = matchingLetters(store, asked.filter)
    .filter((row) => row.state === "dead" && row.queue.name === asked.queue)
    .map((row) => ({ row, burial: burialOf(row).number }))
    .sort((a, b) => a.burial - b.burial);
  const operation: OperationRow = {
    asked: frozenCopy(asked),
    createdAt: store.now,
    endedAt: undefined,
    selection,
    position: 0,
    redriven: 0,
    refused: 0,
    succeeded: 0,
    failed: 0,
  };
  store.operations.set(asked.id, operation);
  return operationOf(operation);
}

/** A call that counts nothing, because all was looked at before, writes no event. */
export function redrive(store: Store, id: string, max: number): Operation {
  assert(max > 0, `operation ${id} was asked to redrive ${max} letters`);
  const operation = requireOperation(store, id);
  const { redriven, refused } = operation;
  const letters = nextLetters(operation, max);
  for (const row of letters) {
    if (operation.asked.force || burialOf(row).grave.reprocessEligible) sendBack(store, row, operation);
    else operation.refused += 1;
  }
  if (letters.length < max) operation.refused = operation.selection.length - operation.redriven;
  const data = { redriven: operation.redriven - redriven, refused: operation.refused - refused };
  if (data.redriven + data.refused > 0) {
    const { queue } = operation.asked;
    record(store, { type: "dlq_items_reprocessed", queue, data: { operation_id: id, ...data } });
  }
  return operationOf(operation);
}

/** How the operation stands. */
export function findOperation(store: Store, id: string): Operation | null {
  const operation = store.operations.get(id);
  return operation ? operationOf(operation) : null;
}

/** In order of their beginning. `open` true leaves those that have not ended, false those that have. */
export function listOperations(
  store: Store,
  filter: { readonly queue?: string; readonly open?: boolean },
): readonly Operation[] {
  return [...store.operations.values()]
    .filter(({ asked }) => filter.queue === undefined || asked.queue === filter.queue)
    .filter(({ endedAt }) => filter.open === undefined || filter.open === (endedAt === undefined))
    .map(operationOf);
}

/** Ends it once; a later call does not move the end. */
export function closeOperation(store: Store, id: string): Operation {
  const operation = requireOperation(store, id);
  const { selection, redriven, refused, succeeded, failed } = operation;
  const isOver = redriven + refused === selection.length && succeeded + failed === redriven;
  if (isOver) operation.endedAt ??= store.now;
  return operationOf(operation);
}

/** A redriven item has come to an end: its operation counts how, and lets go of it. */
export function accountFor(row: Row, end: "succeeded" | "failed"): void {
  if (!row.operation) return;
  row.operation[end] += 1;
  row.operation = undefined;
}

/** The next letters of the selection that nobody has touched since, at most `max`. */
function nextLetters(operation: OperationRow, max: number): readonly Row[] {
  const letters: Row[] = [];
  while (letters.length < max) {
    const selected = operation.selection[operation.position];
    if (!selected) break;
    operation.position += 1;
    const { row, burial } = selected;
    if (row.state === "dead" && row.burial?.number === burial) letters.push(row);
  }
  return letters;
}

/** Attempts start anew for the policy; the history, and the gravestone until it succeeds, stay. */
function sendBack(store: Store, row: Row, operation: OperationRow): void {
  moveRow(row, "redrive", store.now);
  row.spent = 0;
  row.losses = 0;
  row.redriveCount += 1;
  row.operation = operation;
  operation.redriven += 1;
}

function requireOperation(store: Store, id: string): OperationRow {
  const operation = store.operations.get(id);
  if (operation) return operation;
  throw new WorkError("item_not_found", `There is no operation "${id}" in ${store.url}.`, {
    hint: "List the operations with `redrive ops`.",
  });
}

function operationOf({ asked, selection, ...row }: OperationRow): Operation {
  return compact({
    ...asked,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    selected: selection.length,
    redriven: row.redriven,
    refused: row.refused,
    succeeded: row.succeeded,
    failed: row.failed,
  });
}
