/** Operations in PostgreSQL: their records and books, and what a person may change about them. */
import { WorkError } from "../../errors.ts";
import { type Operation, type OperationChange, REFUSAL } from "../../item/operation.ts";
import { statusEvent } from "../../item/operation-event.ts";
import { type OperationRow, operationOf, statusAfter } from "../operation-row.ts";
import { writeEvent } from "./events.ts";
import { leaveLine } from "./line.ts";
import type { Tx } from "./session.ts";
import { Tally } from "./tally.ts";

const OPERATION_SQL = `
  SELECT o.no, o.id, o.kind, q.name AS queue, q.no AS queue_no, o.filter, o.force, o.author, o.reason, o.selection,
         (SELECT u.id FROM operations u WHERE u.no = o.undoes) AS undone, o.plan, o.status, o.created_at, o.ended_at, o.bound,
         o.next_no, o.complete, o.cursor, o.progress, o.selected, o.done, o.refused, o.succeeded, o.failed, o.returned
    FROM operations o JOIN queues q ON q.no = o.queue`;

export async function findOperation(tx: Tx, id: string): Promise<Operation | null> {
  const row = await tx.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?1`, id);
  return row === undefined ? null : operationOf(row);
}

export async function listOperations(
  tx: Tx,
  filter: { readonly queue?: string; readonly open?: boolean },
): Promise<Operation[]> {
  const rows = await tx.all<OperationRow>(
    `${OPERATION_SQL} WHERE (?1::text IS NULL OR q.name = ?1) AND (?2::boolean IS NULL OR ?2 = (o.ended_at IS NULL))
      ORDER BY o.no`,
    filter.queue ?? null,
    filter.open ?? null,
  );
  return rows.map(operationOf);
}

export async function requireOperation(tx: Tx, id: string): Promise<Operation> {
  return operationOf(await requireRow(tx, id));
}

/** The row of an operation that must be there. */
export async function requireRow(tx: Tx, id: string): Promise<OperationRow> {
  const row = await tx.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?1`, id);
  if (row !== undefined) return row;
  throw new WorkError("item_not_found", `There is no operation ${id}.`, {
    hint: "List the operations with `redrive ops`.",
  });
}

export async function changeOperation(tx: Tx, id: string, change: OperationChange): Promise<Operation> {
  const row = await requireRow(tx, id);
  if (row.status === "ended" || row.status === "cancelled") return operationOf(row);
  const status = statusAfter(row, change);
  await tx.run(
    "UPDATE operations SET status = ?1, progress = ?2 WHERE no = ?3",
    status,
    change.progress === undefined ? row.progress : JSON.stringify(change.progress),
    row.no,
  );
  if (change.refuseRest !== undefined) await refuseRest(tx, row, change.refuseRest);
  if (status !== row.status) {
    if (status === "cancelled") await cancel(tx, row);
    await writeEvent(tx, tx.now, statusEvent({ id, status }), { queue: row.queue_no });
    await tx.ring(row.queue);
  }
  return requireOperation(tx, id);
}

async function refuseRest(tx: Tx, { no, next_no: worked }: OperationRow, reason: string): Promise<void> {
  await tx.run(
    `WITH rest AS (
       UPDATE selections SET status = 'refused', reason = ?1
        WHERE operation = ?2 AND no > ?3 AND status = 'pending' RETURNING 1)
     UPDATE operations SET refused = refused + (SELECT count(*) FROM rest) WHERE no = ?2`,
    reason,
    no,
    worked,
  );
}

/** What is leased comes to its own end; without any, this is the end. */
async function cancel(tx: Tx, row: OperationRow): Promise<void> {
  await tx.run("UPDATE operations SET complete = 1 WHERE no = ?1", row.no);
  await refuseRest(tx, row, REFUSAL.cancelled);
  await recall(tx, row);
  await endWhenOver(tx, row);
}

/**
 * What the operation sent and nobody has begun, or was begun and waits for another try, is dead again. The items are
 * locked before they are judged, so that none is leased between the look and the change.
 */
async function recall(tx: Tx, { no, queue_no: queue }: OperationRow): Promise<void> {
  const rows = await tx.all<{ no: number; grp: number; ref: number }>(
    `WITH sent AS MATERIALIZED (SELECT ref FROM selected WHERE operation = ?1 AND status = 'done'),
          back AS MATERIALIZED (
            SELECT ref FROM items WHERE ref = ANY (ARRAY (SELECT ref FROM sent)) AND operation = ?1 AND state = 'ready'
             ORDER BY ref FOR UPDATE)
     SELECT l.no, l.grp, l.ref FROM back CROSS JOIN LATERAL (SELECT no, grp, ref FROM letters WHERE ref = back.ref OFFSET 0) l`,
    no,
  );
  if (rows.length === 0) return;
  const refs = rows.map(({ ref }) => ref);
  await leaveLine(tx, refs);
  await tx.run(
    "UPDATE items SET state = 'dead', redrives = redrives - 1, operation = NULL WHERE ref = ANY (?::bigint[])",
    refs,
  );
  await tx.run(
    "UPDATE selections SET status = 'refused', reason = ?1 WHERE operation = ?2 AND no = ANY(?3::bigint[])",
    REFUSAL.cancelled,
    no,
    rows.map((row) => row.no),
  );
  await tx.run(
    "UPDATE operations SET done = done - ?1, refused = refused + ?1 WHERE no = ?2",
    rows.length,
    no,
  );
  const tally = new Tally();
  for (const { grp } of rows) tally.group(grp, "away", -1);
  tally.queue(queue, "ready", -rows.length);
  tally.queue(queue, "dead", rows.length);
  await tally.write(tx);
}

export async function closeOperation(tx: Tx, id: string): Promise<Operation> {
  const row = await requireRow(tx, id);
  if (row.status === "cancelled") await recall(tx, row);
  await endWhenOver(tx, row);
  return requireOperation(tx, id);
}

async function endWhenOver(tx: Tx, { no }: OperationRow): Promise<void> {
  await tx.run(
    `UPDATE operations SET ended_at = ?1, status = CASE status WHEN 'cancelled' THEN status ELSE 'ended' END
      WHERE no = ?2 AND ended_at IS NULL AND complete = 1
        AND done + refused = selected AND (kind <> 'redrive' OR succeeded + failed = done)`,
    tx.now,
    no,
  );
}
