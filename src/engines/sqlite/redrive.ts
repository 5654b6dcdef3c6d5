/** Operations in SQLite: a redrive keeps its books in the same transaction as the letters that it moves. */
import type { LetterFilter, NewOperation, Operation } from "../../engine.ts";
import { WorkError } from "../../errors.ts";
import { compact } from "../../item/failure.ts";
import { writeEvent } from "./events.ts";
import { queueNo } from "./jobs.ts";
import { type GroupRow, LETTERS_BY_ID, matchingGroups } from "./letters.ts";
import type { Session, Value } from "./session.ts";
import { Tally } from "./tally.ts";

/** The newest letter of this moment is the bound: whatever is buried later gets a higher number. */
export function beginOperation(session: Session, operation: NewOperation): Operation {
  const queue = queueNo(session, operation.queue);
  const now = session.clock.now();
  const bound = session.get<{ no: number }>("SELECT coalesce(max(no), 0) AS no FROM letters")?.no ?? 0;
  const selected = countSelected(session, { ...operation, lastNo: bound, nextNo: 0, at: now });
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
  const letters = selectLetters(
    session,
    {
      queue: row.queue,
      filter: JSON.parse(row.filter) as LetterFilter,
      lastNo: row.last_no,
      nextNo: row.next_no,
      at: row.created_at,
    },
    max,
  );
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
  /** When the operation began: ages are measured from there. */
  readonly at: number;
}

interface SelectedRow {
  readonly no: number;
  readonly ref: number;
  readonly eligible: number;
}

/** The dead letters of the selection, oldest first, after those that were looked at. */
function selectLetters(session: Session, selection: Selection, max: number): SelectedRow[] {
  const groups = chosenGroups(session, selection);
  const ahead = { ...selection, nextNo: beforeFirst(session, selection, groups) };
  // Over the primary key, which is in order; the plus keeps the planner from sorting all that is left instead.
  const sql = `SELECT l.no, l.ref, g.eligible ${chosenLetters(selection, "+l.grp")} ORDER BY l.no LIMIT ?`;
  return session.all<SelectedRow>(sql, ...chosenValues(ahead, groups), max);
}

function countSelected(session: Session, selection: Selection): number {
  const groups = chosenGroups(session, selection);
  const sql = `SELECT count(*) AS n ${chosenLetters(selection, "l.grp")}`;
  return session.get<{ n: number }>(sql, ...chosenValues(selection, groups))?.n ?? 0;
}

function chosenGroups(session: Session, { filter, queue }: Selection): GroupRow[] {
  return matchingGroups(session, { queue, ...filter }).filter((group) => group.queue === queue);
}

function chosenLetters({ filter }: Selection, group: string): string {
  return `FROM ${filter.itemIds ? LETTERS_BY_ID : "letters l CROSS JOIN items i ON i.ref = l.ref"}
               JOIN groups g ON g.no = l.grp
    WHERE ${filter.itemIds ? "" : "? IS NULL AND"} ${group} IN (SELECT value FROM json_each(?))
      AND l.no > ? AND l.no <= ? AND l.buried_at <= ? AND i.state = 'dead'`;
}

function chosenValues({ filter, nextNo, lastNo, at }: Selection, groups: readonly GroupRow[]): Value[] {
  return [
    filter.itemIds ? JSON.stringify(filter.itemIds) : null,
    JSON.stringify(groups.map((group) => group.no)),
    nextNo,
    lastNo,
    filter.olderThanMs === undefined ? Number.MAX_SAFE_INTEGER : at - filter.olderThanMs,
  ];
}

/** Just before the first letter of the groups that was not looked at: other jobs' letters need not be walked. */
function beforeFirst(session: Session, { nextNo, lastNo }: Selection, groups: readonly GroupRow[]): number {
  const sql = "SELECT min(no) AS no FROM letters WHERE grp = ? AND no > ?";
  const firsts = groups.flatMap(
    (group) => session.get<{ no: number | null }>(sql, group.no, nextNo)?.no ?? [],
  );
  return firsts.reduce((least, no) => Math.min(least, no - 1), lastNo); // there may be too many for one call
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
