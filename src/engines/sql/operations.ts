/** Reads and changes operations: records, totals and status. */
import { RedriveError } from "../../errors.ts";
import { withAuthor } from "../../item/event.ts";
import {
  type Operation,
  type OperationChange,
  type OperationStatus,
  REFUSAL,
  statusEvent,
} from "../../item/operation.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Db, Dialect, Step } from "./db.ts";
import { writeEvent } from "./events.ts";
import { objectOf } from "./rows.ts";

/** An operation with the columns that only the store uses. */
export interface StoredOperation extends Operation {
  readonly no: number;
  readonly queueNo: number;
  /** All selected letters up to this number are done or refused. */
  readonly nextNo: number;
  /** Whether all letters are selected. */
  readonly complete: boolean;
}

export function storedOf(row: object): StoredOperation {
  return objectOf(row, { json: ["filter", "plan", "progress"], flags: ["force", "complete"] });
}

/** Removes the columns that only the store uses. */
export function operationOf({ no, queueNo, nextNo, complete, ...operation }: StoredOperation): Operation {
  return operation;
}

export const OPERATION_SQL = `
  SELECT o.no, o.id, o.kind, q.name AS queue, q.no AS queue_no, o.filter, o.force, o.author, o.reason, o.selection,
         (SELECT u.id FROM operations u WHERE u.no = o.undoes) AS undoes, o.plan, o.status, o.created_at, o.ended_at, o.bound,
         o.next_no, o.complete, o.cursor, o.progress, o.selected, o.done, o.refused, o.succeeded, o.failed, o.returned
    FROM operations o JOIN queues q ON q.no = o.queue`;

export function* findOperation(db: Db, id: string): Step<Operation | null> {
  const row = yield* db.get<object>(`${OPERATION_SQL} WHERE o.id = ?1`, id);
  return row === undefined ? null : operationOf(storedOf(row));
}

export function* listOperations(
  db: Db,
  filter: { readonly queue?: string; readonly open?: boolean },
): Step<Operation[]> {
  const [queue, open] = [db.sql.typed("?1", "text"), db.sql.typed("?2", "boolean")];
  const rows = yield* db.all<object>(
    `${OPERATION_SQL} WHERE (${queue} IS NULL OR q.name = ?1) AND (${open} IS NULL OR ?2 = (o.ended_at IS NULL))
      ORDER BY o.no`,
    filter.queue ?? null,
    filter.open ?? null,
  );
  return rows.map((row) => operationOf(storedOf(row)));
}

export function* requireOperation(db: Db, id: string): Step<Operation> {
  return operationOf(yield* requireRow(db, id));
}

/** Returns the row of an operation; throws if there is none. */
export function* requireRow(db: Db, id: string): Step<StoredOperation> {
  const row = yield* db.get<object>(`${OPERATION_SQL} WHERE o.id = ?1`, id);
  if (row !== undefined) return storedOf(row);
  throw new RedriveError("item_not_found", `There is no operation ${id}.`, {
    hint: "List the operations with `redrive ops`.",
  });
}

export function* changeOperation(db: Db, id: string, change: OperationChange): Step<Operation> {
  const row = yield* requireRow(db, id);
  if (row.status === "ended" || row.status === "cancelled") return operationOf(row);
  const status = statusAfter(row, change);
  yield* db.run(
    "UPDATE operations SET status = ?1, progress = ?2 WHERE no = ?3",
    status,
    stringifyJson(change.progress ?? row.progress),
    row.no,
  );
  if (change.refuseRest !== undefined) yield* refuseRest(db, row, change.refuseRest);
  if (status !== row.status) {
    if (status === "cancelled") yield* cancel(db, row);
    const event = withAuthor(statusEvent({ id, status }), change.author);
    yield* writeEvent(db, event, { queue: row.queueNo });
    yield* db.notify({ no: row.queueNo, name: row.queue });
  }
  if (row.kind === "redrive") yield* endWhenOver(db, row);
  return yield* requireOperation(db, id);
}

/** An operation that was paused during its selection continues to select when it is reopened. */
function statusAfter(row: StoredOperation, change: OperationChange): OperationStatus {
  if (change.status === undefined) return row.status;
  return change.status === "open" && !row.complete ? "selecting" : change.status;
}

/** Refuses all pending letters. No letter up to `next_no` is pending. */
function* refuseRest(db: Db, { no, nextNo: worked }: StoredOperation, reason: string): Step<void> {
  const refused = yield* db.run(
    "UPDATE selections SET status = 'refused', reason = ?1 WHERE operation = ?2 AND no > ?3 AND status = 'pending'",
    ...[reason, no, worked],
  );
  yield* db.run("UPDATE operations SET refused = refused + ?1 WHERE no = ?2", refused, no);
}

/** Does not interrupt leased items; if there are none, the operation ends now. */
function* cancel(db: Db, row: StoredOperation): Step<void> {
  yield* db.run("UPDATE operations SET complete = 1 WHERE no = ?1", row.no);
  yield* refuseRest(db, row, REFUSAL.cancelled);
  yield* recall(db, row);
  yield* endWhenOver(db, row);
}

/** Makes the ready items of the operation dead again, including those that wait for a retry. */
function* recall(db: Db, { no, queueNo: queue }: StoredOperation): Step<void> {
  const rows = yield* db.lockReadyLetters(no);
  if (rows.length === 0) return;
  const refs = rows.map(({ ref }) => ref);
  const letterSequences = rows.map((row) => row.no);
  yield* db.beforeUnready(refs);
  yield* db.run(
    `UPDATE items SET state = 'dead', redrives = redrives - 1, operation = NULL WHERE ${db.sql.among("ref", "?")}`,
    refs,
  );
  yield* db.run(
    `UPDATE selections SET status = 'refused', reason = ?1 WHERE operation = ?2 AND ${db.sql.among("no", "?3")}`,
    ...[REFUSAL.cancelled, no, letterSequences],
  );
  yield* db.run(
    `UPDATE operations SET done = done - ${db.sql.typed("?1", "bigint")}, refused = refused + ?1 WHERE no = ?2`,
    rows.length,
    no,
  );
  yield* db.realign(refs);
  yield* db.reindexTexts(letterSequences); // letters that were attempted may have a new last failure
  const deltas = db.newDeltas();
  for (const { grp } of rows) deltas.group(grp, "in_retry", -1);
  deltas.queue(queue, "ready", -rows.length);
  deltas.queue(queue, "dead", rows.length);
  yield* db.writeDeltas(deltas);
}

export function* closeOperation(db: Db, id: string): Step<Operation> {
  const row = yield* requireRow(db, id);
  if (row.status === "cancelled") yield* recall(db, row);
  yield* endWhenOver(db, row);
  return yield* requireOperation(db, id);
}

function endWhenOver(db: Db, { no }: StoredOperation): Step<number> {
  return db.run(`${endSql(db.sql)} AND (kind <> 'redrive' OR succeeded + failed = done)`, db.now, [no]);
}

/** Ends redrives in the step that settles or refuses their last letter. */
export function endRedrives(db: Db, operations: readonly number[]): Step<number> {
  return db.run(endRedrivesSql(db.sql), db.now, operations);
}

/** The parameters are the time and the numbers of the operations. */
export function endRedrivesSql(sql: Dialect): string {
  return `${endSql(sql)} AND kind = 'redrive' AND succeeded + failed = done`;
}

/**
 * Changes nothing while letters are pending or in progress. A cancelled operation stays cancelled. Every step
 * that changes the counts locks the operation's row, so the last step sees all changes.
 */
function endSql(sql: Dialect): string {
  return `UPDATE operations SET ended_at = ?1, status = CASE status WHEN 'cancelled' THEN status ELSE 'ended' END
    WHERE ${sql.among("no", "?2")} AND ended_at IS NULL AND complete = 1 AND done + refused = selected`;
}
