/** Operations in SQLite: their records and books, and what a person may change about them. */
import { WorkError } from "../../errors.ts";
import { type Operation, type OperationChange, REFUSAL } from "../../item/operation.ts";
import { statusEvent } from "../../item/operation-event.ts";
import { type OperationRow, operationOf, statusAfter } from "../operation-row.ts";
import { writeEvent } from "./events.ts";
import { putLanesInOrder } from "./lanes.ts";
import type { Session } from "./session.ts";
import { Tally } from "./tally.ts";
import { readAgain } from "./text-index.ts";

const OPERATION_SQL = `
  SELECT o.*, q.name AS queue, q.no AS queue_no, (SELECT u.id FROM operations u WHERE u.no = o.undoes) AS undone
    FROM operations o JOIN queues q ON q.no = o.queue`;

export function findOperation(session: Session, id: string): Operation | null {
  const row = session.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?`, id);
  return row === undefined ? null : operationOf(row);
}

export function listOperations(
  session: Session,
  filter: { readonly queue?: string; readonly open?: boolean },
): Operation[] {
  const open = filter.open === undefined ? null : Number(filter.open);
  const rows = session.all<OperationRow>(
    `${OPERATION_SQL} WHERE (?1 IS NULL OR q.name = ?1) AND (?2 IS NULL OR ?2 = (o.ended_at IS NULL)) ORDER BY o.no`,
    filter.queue ?? null,
    open,
  );
  return rows.map(operationOf);
}

export function requireOperation(session: Session, id: string): Operation {
  return operationOf(requireRow(session, id));
}

/** The row of an operation that must be there. */
export function requireRow(session: Session, id: string): OperationRow {
  const row = session.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?`, id);
  if (row !== undefined) return row;
  throw new WorkError("item_not_found", `There is no operation ${id}.`, {
    hint: "List the operations with `redrive ops`.",
  });
}

export function changeOperation(session: Session, id: string, change: OperationChange): Operation {
  const row = requireRow(session, id);
  if (row.status === "ended" || row.status === "cancelled") return operationOf(row);
  const status = statusAfter(row, change);
  session.run(
    "UPDATE operations SET status = ?, progress = ? WHERE no = ?",
    status,
    change.progress === undefined ? row.progress : JSON.stringify(change.progress),
    row.no,
  );
  if (change.refuseRest !== undefined) refuseRest(session, row, change.refuseRest);
  if (status !== row.status) {
    if (status === "cancelled") cancel(session, row);
    const place = { queue: row.queue_no };
    writeEvent(session, session.clock.now(), statusEvent({ id, status }), place);
    session.ring(row.queue_no);
  }
  return requireOperation(session, id);
}

function refuseRest(session: Session, { no }: OperationRow, reason: string): void {
  const { changes } = session.run(
    "UPDATE selections SET status = 'refused', reason = ? WHERE operation = ? AND status = 'pending'",
    reason,
    no,
  );
  session.run("UPDATE operations SET refused = refused + ? WHERE no = ?", changes, no);
}

/** What is leased comes to its own end; without any, this is the end. */
function cancel(session: Session, row: OperationRow): void {
  session.run("UPDATE operations SET complete = 1 WHERE no = ?", row.no);
  refuseRest(session, row, REFUSAL.cancelled);
  recall(session, row);
  endWhenOver(session, row);
}

/** What the operation sent and nobody has begun, or was begun and waits for another try, is dead again. */
function recall(session: Session, { no, queue_no: queue }: OperationRow): void {
  const rows = session.all<{ no: number; grp: number; ref: number }>(
    `SELECT l.no, l.grp, l.ref FROM items i JOIN letters l ON l.ref = i.ref WHERE i.operation = ? AND i.state = 'ready'`,
    no,
  );
  if (rows.length === 0) return;
  session.run(
    `UPDATE items SET state = 'dead', redrives = redrives - 1, operation = NULL, waits = 0
      WHERE ref IN (SELECT value FROM json_each(?))`,
    JSON.stringify(rows.map(({ ref }) => ref)),
  );
  session.run(
    `UPDATE selections SET status = 'refused', reason = ? WHERE operation = ? AND no IN (SELECT value FROM json_each(?))`,
    REFUSAL.cancelled,
    no,
    JSON.stringify(rows.map((row) => row.no)),
  );
  session.run(
    "UPDATE operations SET done = done - ?1, refused = refused + ?1 WHERE no = ?2",
    rows.length,
    no,
  );
  putLanesInOrder(
    session,
    rows.map(({ ref }) => ref),
  );
  // Those that were begun may have failed in another way.
  readAgain(
    session,
    rows.map((row) => row.no),
  );
  const tally = new Tally();
  for (const { grp } of rows) tally.group(grp, "away", -1);
  tally.queue(queue, "ready", -rows.length);
  tally.queue(queue, "dead", rows.length);
  tally.write(session);
}

export function closeOperation(session: Session, id: string): Operation {
  const row = requireRow(session, id);
  if (row.status === "cancelled") recall(session, row);
  endWhenOver(session, row);
  return requireOperation(session, id);
}

function endWhenOver(session: Session, { no }: OperationRow): void {
  session.run(
    `UPDATE operations SET ended_at = ?, status = iif(status = 'cancelled', status, 'ended')
      WHERE no = ? AND ended_at IS NULL AND complete = 1
        AND done + refused = selected AND (kind <> 'redrive' OR succeeded + failed = done)`,
    session.clock.now(),
    no,
  );
}
