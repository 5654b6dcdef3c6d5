/** Operations in SQLite: a redrive keeps its books in the same transaction as the letters that it moves. */
import type { LetterFilter, NewOperation, Operation } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import { writeEvent } from "./events.ts";
import { queueNo } from "./jobs.ts";
import { LETTERS_BY_ID, matchingGroups } from "./letters.ts";
import type { Session } from "./session.ts";
import { Tally } from "./tally.ts";

/** The newest letter of this moment is the bound: whatever is buried later gets a higher number. */
export function beginOperation(session: Session, operation: NewOperation): Operation {
  const queue = queueNo(session, operation.queue);
  const now = session.clock.now();
  const bound = session.get<{ no: number }>("SELECT coalesce(max(no), 0) AS no FROM letters")?.no ?? 0;
  const selected = selectLetters(session, {
    ...operation,
    lastNo: bound,
    nextNo: 0,
    max: -1,
    at: now,
  }).length;
  session.run(
    `INSERT INTO operations (id, kind, queue, filter, force, created_at, last_no, selected)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    operation.id,
    operation.kind,
    queue,
    JSON.stringify(operation.filter),
    operation.force ? 1 : 0,
    now,
    bound,
    selected,
  );
  return requireOperation(session, operation.id);
}

export function redrive(session: Session, id: string, max: number): Operation {
  const row = requireRow(session, id);
  const now = session.clock.now();
  const letters = selectLetters(session, {
    queue: row.queue,
    filter: JSON.parse(row.filter) as LetterFilter,
    lastNo: row.last_no,
    nextNo: row.next_no,
    max,
    at: row.created_at,
  });
  const sent = letters.filter((letter) => row.force === 1 || letter.eligible === 1);
  for (const letter of sent) {
    session.run(
      `UPDATE items SET state = 'ready', due_at = ?, spent = 0, losses = 0, redrives = redrives + 1, operation = ?
        WHERE ref = ? AND state = 'dead'`,
      now,
      row.no,
      letter.ref,
    );
  }
  const exhausted = letters.length < max;
  // Letters that were selected and have gone elsewhere since are refused: the books account for all.
  const refused = exhausted
    ? row.selected - row.redriven - row.refused - sent.length
    : letters.length - sent.length;
  session.run(
    "UPDATE operations SET redriven = redriven + ?, refused = refused + ?, next_no = ? WHERE no = ?",
    sent.length,
    refused,
    letters.at(-1)?.no ?? row.last_no,
    row.no,
  );
  recordMove(session, { queue: queueNo(session, row.queue), now, id, sent: sent.length, refused });
  return requireOperation(session, id);
}

function recordMove(
  session: Session,
  move: { queue: number; now: number; id: string; sent: number; refused: number },
): void {
  const tally = new Tally();
  tally.queue(move.queue, "dead", -move.sent);
  tally.queue(move.queue, "ready", move.sent);
  tally.write(session);
  if (move.sent + move.refused === 0) return;
  const data = { operation_id: move.id, redriven: move.sent, refused: move.refused };
  writeEvent(session, move.now, { type: "dlq_items_reprocessed", data }, { queue: move.queue });
}

interface Selection {
  readonly queue: string;
  readonly filter: LetterFilter;
  readonly lastNo: number;
  readonly nextNo: number;
  readonly max: number;
  /** When the operation began: ages are measured from there. */
  readonly at: number;
}

interface SelectedRow {
  readonly no: number;
  readonly ref: number;
  readonly eligible: number;
}

/** The dead letters of the selection, oldest first, after those that were looked at. */
function selectLetters(session: Session, selection: Selection): SelectedRow[] {
  const { filter } = selection;
  const groups = matchingGroups(session, filter).filter((group) => group.queue === selection.queue);
  return session.all<SelectedRow>(
    `SELECT l.no, l.ref, g.eligible
       FROM ${filter.itemIds ? LETTERS_BY_ID : "(SELECT ? IS NULL) CROSS JOIN letters l CROSS JOIN items i ON i.ref = l.ref"}
            JOIN groups g ON g.no = l.grp
      WHERE l.no > ? AND l.no <= ? AND +l.grp IN (SELECT value FROM json_each(?)) AND i.state = 'dead'
        AND l.buried_at <= ?
      ORDER BY l.no LIMIT ?`,
    filter.itemIds ? JSON.stringify(filter.itemIds) : null,
    selection.nextNo,
    selection.lastNo,
    JSON.stringify(groups.map((group) => group.no)),
    filter.olderThanMs === undefined ? Number.MAX_SAFE_INTEGER : selection.at - filter.olderThanMs,
    selection.max,
  );
}

interface OperationRow {
  readonly no: number;
  readonly id: string;
  readonly kind: "redrive";
  readonly queue: string;
  readonly filter: string;
  readonly force: number;
  readonly created_at: number;
  readonly ended_at: number | null;
  readonly last_no: number;
  readonly next_no: number;
  readonly selected: number;
  readonly redriven: number;
  readonly refused: number;
  readonly succeeded: number;
  readonly failed: number;
}

const OPERATION_SQL = "SELECT o.*, q.name AS queue FROM operations o JOIN queues q ON q.no = o.queue";

export function findOperation(session: Session, id: string): Operation | null {
  const row = session.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?`, id);
  return row === undefined ? null : operationOf(row);
}

export function listOperations(session: Session, filter: { queue?: string; open?: boolean }): Operation[] {
  const rows = session.all<OperationRow>(
    `${OPERATION_SQL} WHERE (? IS NULL OR q.name = ?) AND (? IS NULL OR ? = (o.ended_at IS NULL)) ORDER BY o.no`,
    filter.queue ?? null,
    filter.queue ?? null,
    filter.open === undefined ? null : Number(filter.open),
    filter.open === undefined ? null : Number(filter.open),
  );
  return rows.map(operationOf);
}

export function closeOperation(session: Session, id: string): Operation {
  session.run(
    `UPDATE operations SET ended_at = ? WHERE id = ? AND ended_at IS NULL
        AND redriven + refused = selected AND succeeded + failed = redriven`,
    session.clock.now(),
    id,
  );
  return requireOperation(session, id);
}

function requireOperation(session: Session, id: string): Operation {
  return operationOf(requireRow(session, id));
}

function requireRow(session: Session, id: string): OperationRow {
  const row = session.get<OperationRow>(`${OPERATION_SQL} WHERE o.id = ?`, id);
  if (row === undefined) throw new WorkError("item_not_found", `There is no operation ${id}.`);
  return row;
}

function operationOf(row: OperationRow): Operation {
  return compact({
    id: row.id,
    kind: row.kind,
    queue: row.queue,
    filter: JSON.parse(row.filter) as LetterFilter,
    force: row.force === 1,
    createdAt: row.created_at,
    endedAt: row.ended_at ?? undefined,
    selected: row.selected,
    redriven: row.redriven,
    refused: row.refused,
    succeeded: row.succeeded,
    failed: row.failed,
  });
}
