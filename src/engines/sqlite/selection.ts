/**
 * The selection of an operation in SQLite: written down letter by letter when it begins, or as it is enlisted, so that
 * "selected = done + refused + pending" is a fact of rows, and nothing that is buried later is ever among them.
 */
import type { LetterFilter } from "../../engine.ts";
import {
  type NewOperation,
  type Operation,
  type SelectedLetter,
  STATES_OF_KIND,
} from "../../item/operation.ts";
import { assert } from "../../std/assert.ts";
import { stringifyJson } from "../../std/json.ts";
import { type OperationRow, operationOf } from "../operation-row.ts";
import { type SelectedRow, selectedOf } from "../selected-row.ts";
import { requireOperation, requireRow } from "../sql/operations.ts";
import { runOn } from "./db.ts";
import { endRedrive } from "./end-redrive.ts";
import { queueNo } from "./jobs.ts";
import { matching, sourcesOf } from "./letter-search.ts";
import type { LetterTable } from "./letters.ts";
import type { Session } from "./session.ts";

/** The newest letter of this moment is the bound: whatever is buried later gets a higher number. */
export function beginOperation(session: Session, operation: NewOperation): Operation {
  const { undoes } = operation;
  const undone = undoes === undefined ? null : runOn(session, (db) => requireRow(db, undoes));
  const isOurs = undone === null || undone.queue === operation.queue;
  assert(isOurs, `operation ${operation.id} undoes one of another queue`);
  const no = insertOperation(session, operation, undone);
  const selected = select(session, no, operation, undone);
  session.run("UPDATE operations SET selected = ? WHERE no = ?", selected, no);
  endRedrive(session, no);
  return runOn(session, (db) => requireOperation(db, operation.id));
}

function insertOperation(session: Session, operation: NewOperation, undone: OperationRow | null): number {
  const { id, kind, queue, filter, force, author, reason, selection, plan } = operation;
  const isEnlisted = selection === "enlisted";
  const columns = {
    ...{ id, kind, queue: queueNo(session, queue), filter: stringifyJson(filter), force: force ? 1 : 0 },
    ...{ author, reason: reason ?? null, selection: selection ?? null, undoes: undone?.no ?? null },
    ...{
      plan: stringifyJson(plan),
      status: isEnlisted ? "selecting" : "open",
      complete: isEnlisted ? 0 : 1,
    },
    ...{ created_at: session.clock.now(), bound: lastBurial(session), selected: 0, listed: 1 },
  };
  session.insert(`operations (${Object.keys(columns).join(", ")})`, [Object.values(columns)]);
  return session.get<{ no: number }>("SELECT no FROM operations WHERE id = ?", id)?.no ?? 0;
}

function select(session: Session, no: number, operation: NewOperation, undone: OperationRow | null): number {
  if (operation.selection === "enlisted") return 0;
  return undone === null ? selectMatching(session, no, operation) : selectDone(session, no, undone);
}

/** The number of the newest burial, also when its letter has left. */
export function lastBurial(session: Session): number {
  return session.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'letters'")?.seq ?? 0;
}

/** In the order of their numbers, which is the order of the rows. The operation's queue must hold, and the filter's. */
function selectMatching(session: Session, no: number, { kind, queue, filter }: NewOperation): number {
  if (filter.queue !== undefined && filter.queue !== queue) return 0;
  const states = filter.states ?? STATES_OF_KIND[kind].slice(0, 1);
  const chosen: LetterFilter = { ...filter, queue, states };
  return sourcesOf(session, chosen).reduce((sum, source) => {
    const { sql, values } = matching(session, source, chosen);
    const { changes } = session.run(
      `INSERT INTO selections (operation, no, ref, grp, state) SELECT ${no}, l.no, l.ref, l.grp, i.state ${sql} ORDER BY l.no`,
      ...values,
    );
    return sum + changes;
  }, 0);
}

function selectDone(session: Session, no: number, undone: OperationRow): number {
  const { changes } = session.run(
    `INSERT INTO selections (operation, no, ref, grp, state)
     SELECT ?, s.no, s.ref, s.grp, i.state FROM selections s JOIN items i ON i.ref = s.ref
      WHERE s.operation = ? AND s.status = 'done' ORDER BY s.no`,
    no,
    undone.no,
  );
  return changes;
}

export function enlist(
  session: Session,
  id: string,
  found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
): Operation {
  const row = runOn(session, (db) => requireRow(db, id));
  if (row.status !== "selecting") return operationOf(row);
  const letterSequences = JSON.stringify(found.letterSequences);
  const added =
    enlistFrom(session, row, "letters", letterSequences) +
    enlistFrom(session, row, "resolved_letters", letterSequences);
  const isComplete = found.cursor === null;
  session.run(
    "UPDATE operations SET selected = selected + ?, cursor = ?, complete = ?, status = ? WHERE no = ?",
    added,
    found.cursor,
    isComplete ? 1 : 0,
    isComplete ? "open" : "selecting",
    row.no,
  );
  endRedrive(session, row.no);
  return runOn(session, (db) => requireOperation(db, id));
}

function enlistFrom(
  session: Session,
  row: OperationRow,
  table: LetterTable,
  letterSequences: string,
): number {
  const { changes } = session.run(
    `INSERT INTO selections (operation, no, ref, grp, state)
     SELECT ?, l.no, l.ref, l.grp, i.state FROM json_each(?) found CROSS JOIN ${table} l ON l.no = found.value
            CROSS JOIN items i ON i.ref = l.ref
      WHERE i.queue = ? AND l.no <= ? ON CONFLICT DO NOTHING`,
    row.no,
    letterSequences,
    row.queue_no,
    row.bound,
  );
  return changes;
}

/** Nothing up to `next_no` is pending, so that what is done need not be walked to find it. */
export function listSelected(
  session: Session,
  id: string,
  query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
): SelectedLetter[] {
  const { no, next_no: worked } = runOn(session, (db) => requireRow(db, id));
  const after = query.after ?? 0;
  const rows = session.all<SelectedRow>(
    `SELECT s.no, s.ref, i.item_id, g.signature, s.status, s.reason
       FROM selections s CROSS JOIN items i ON i.ref = s.ref CROSS JOIN groups g ON g.no = s.grp
      WHERE s.operation = ? AND s.no > ? AND (? IS NULL OR s.status = ?) ORDER BY s.no LIMIT ?`,
    no,
    query.status === "pending" ? Math.max(after, worked) : after,
    query.status ?? null,
    query.status ?? null,
    query.limit,
  );
  return rows.map(selectedOf);
}

export function listRefusals(session: Session, id: string): { reason: string; count: number }[] {
  return session.all<{ reason: string; count: number }>(
    `SELECT reason, count(*) AS count FROM selections WHERE operation = ? AND status = 'refused'
      GROUP BY reason ORDER BY count(*) DESC, reason`,
    runOn(session, (db) => requireRow(db, id)).no,
  );
}
