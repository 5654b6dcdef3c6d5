/** What is known to be there: an operation and its books, which are told how a letter has ended; the mark of a signature. */
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import type { Operation } from "../../item/operation.ts";
import { assert } from "../../kit/assert.ts";
import type { MarkRow, OperationRow, Row, Store } from "./store.ts";

/** The operation, or `item_not_found`. */
export function requireOperation(store: Store, id: string): OperationRow {
  const operation = store.operations.get(id);
  if (operation) return operation;
  throw new WorkError("item_not_found", `There is no operation "${id}" in ${store.url}.`, {
    hint: "List the operations with `redrive ops`.",
  });
}

/** The mark of a signature that has, or had, letters. */
export function requireMark(store: Store, signature: string): MarkRow {
  const mark = store.marks.get(signature);
  assert(mark, `signature ${signature} has letters and no mark`);
  return mark;
}

/** The operation as it is shown. */
export function operationOf({ asked, selection, isComplete: _, ...row }: OperationRow): Operation {
  return compact({ ...asked, ...row, selected: selection.size });
}

/** A redriven item has come to an end: its operation counts how, and lets go of it. */
export function accountFor(row: Row, end: "succeeded" | "failed" | "returned"): void {
  if (!row.operation) return;
  row.operation[end === "succeeded" ? "succeeded" : "failed"] += 1;
  if (end === "returned") row.operation.returned += 1;
  row.operation = undefined;
}
