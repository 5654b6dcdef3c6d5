/** The selection of an operation: its letters, their state at that time, and their outcomes. */

import {
  KIND_RULES,
  type NewOperation,
  type Operation,
  type SelectedLetter,
} from "../../../src/item/operation.ts";
import { assert } from "../../../src/std/assert.ts";
import { compact } from "../../../src/std/json.ts";
import { endRedrive, operationOf, requireOperation } from "./books.ts";
import { burialOf } from "./bury.ts";
import { matchingLetters } from "./filter.ts";
import { compareCodePoints } from "./letter-order.ts";
import type { OperationRow, Row, SelectedRow, Store } from "./store.ts";

/** The letters that match now; for an undo, all letters that the other operation changed, in any state. */
export function select(store: Store, asked: NewOperation, undone?: OperationRow): readonly SelectedRow[] {
  if (undone) {
    const { id, queue } = asked;
    assert(undone.asked.queue === queue, `operation ${id} undoes one of another queue`);
    return inOrder(undone)
      .filter(({ status }) => status === "done")
      .map((one) => ({ ...one, state: one.row.state, status: "pending", reason: undefined }));
  }
  const [first] = KIND_RULES[asked.kind].states;
  const states = asked.filter.states ?? (first ? [first] : []);
  return matchingLetters(store, { ...asked.filter, states })
    .filter(({ queue }) => queue.name === asked.queue)
    .map(selectedNow);
}

/** A letter that was buried again is not found by its old number. */
export function enlist(
  store: Store,
  operationId: string,
  found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
): Operation {
  const operation = requireOperation(store, operationId);
  if (operation.status !== "selecting") return operationOf(operation);
  for (const letterSequence of found.letterSequences) {
    const row = store.letters.get(letterSequence);
    if (row?.queue.name !== operation.asked.queue) continue;
    if (letterSequence > operation.bound || operation.selection.has(letterSequence)) continue;
    operation.selection.set(letterSequence, selectedNow(row));
  }
  operation.cursor = found.cursor ?? undefined;
  operation.isComplete = found.cursor === null;
  if (operation.isComplete) operation.status = "open";
  endRedrive(store, operation);
  return operationOf(operation);
}

/** Oldest burial first. */
export function listSelected(
  store: Store,
  operationId: string,
  query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
): readonly SelectedLetter[] {
  return inOrder(requireOperation(store, operationId))
    .filter(({ status }) => query.status === undefined || status === query.status)
    .filter(({ letterSequence }) => letterSequence > (query.after ?? 0))
    .slice(0, query.limit)
    .map(({ row: { ref, itemId }, letterSequence, signature, status, reason }) =>
      compact({ letterSequence, ref, itemId, signature, status, reason }),
    );
}

/** The most frequent first, then by the reason's text. */
export function listRefusals(
  store: Store,
  operationId: string,
): readonly { readonly reason: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const { reason } of requireOperation(store, operationId).selection.values())
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .sort((a, b) => b.count - a.count || compareCodePoints(a.reason, b.reason));
}

/** Oldest burial first. */
export function inOrder({ selection }: OperationRow): readonly SelectedRow[] {
  return [...selection.values()].sort((a, b) => a.letterSequence - b.letterSequence);
}

/** The letter is not changed, and the operation has the reason. */
export function refuse(operation: OperationRow, selected: SelectedRow, reason: string): void {
  selected.status = "refused";
  selected.reason = reason;
  operation.refused += 1;
}

/** Refuses all pending letters. */
export function refusePending(operation: OperationRow, reason: string): void {
  for (const selected of operation.selection.values())
    if (selected.status === "pending") refuse(operation, selected, reason);
}

function selectedNow(row: Row): SelectedRow {
  const { number: letterSequence, death } = burialOf(row);
  const { signature } = death;
  return { row, letterSequence, signature, state: row.state, status: "pending", reason: undefined };
}
