/** The books of one operation: found, shown, and told how a letter that it sent back to work has ended. */
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import type { Operation } from "../../item/operation.ts";
import type { OperationRow, Row, Store } from "./store.ts";

/** The operation, or `item_not_found`. */
export function requireOperation(store: Store, id: string): OperationRow {
  const operation = store.operations.get(id);
  if (operation) return operation;
  throw new WorkError("item_not_found", `There is no operation "${id}" in ${store.url}.`, {
    hint: "List the operations with `redrive ops`.",
  });
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
