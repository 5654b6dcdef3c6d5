/**
 * Finds records that must exist: an operation, whose totals count how its letters ended, or the record of a
 * signature.
 */
import { RedriveError } from "../../../src/errors.ts";
import type { Operation } from "../../../src/item/operation.ts";
import { assert } from "../../../src/std/assert.ts";
import { compact } from "../../../src/std/json.ts";
import type { OperationRow, RecordRow, Row, Store } from "./store.ts";

/** The operation, or `item_not_found`. */
export function requireOperation(store: Store, id: string): OperationRow {
  const operation = store.operations.get(id);
  if (operation) return operation;
  throw new RedriveError("item_not_found", `There is no operation "${id}".`, {
    hint: "List the operations with `redrive ops`.",
  });
}

/** The record of a signature that has, or had, letters. */
export function requireRecord(store: Store, signature: string): RecordRow {
  const record = store.records.get(signature);
  assert(record, `signature ${signature} has letters and no record`);
  return record;
}

/** The operation as it is returned. */
export function operationOf({ asked, selection, isComplete: _, ...row }: OperationRow): Operation {
  return compact({ ...asked, ...row, selected: selection.size });
}

/** A redriven item has ended: its operation counts the outcome, releases it, and ends with its last letter. */
export function accountFor(store: Store, row: Row, end: "succeeded" | "failed" | "returned"): void {
  const { operation } = row;
  if (!operation) return;
  operation[end === "succeeded" ? "succeeded" : "failed"] += 1;
  if (end === "returned") operation.returned += 1;
  row.operation = undefined;
  endRedrive(store, operation);
}

/** Ends a redrive without pending or running letters. A cancelled one stays cancelled. */
export function endRedrive(store: Store, operation: OperationRow): void {
  const { asked, selection, done, refused, succeeded, failed, isComplete } = operation;
  const isOver = isComplete && done + refused === selection.size && succeeded + failed === done;
  if (asked.kind !== "redrive" || operation.endedAt !== undefined || !isOver) return;
  operation.endedAt = store.now;
  if (operation.status !== "cancelled") operation.status = "ended";
}
