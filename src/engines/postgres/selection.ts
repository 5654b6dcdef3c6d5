/**
 * The selection of an operation in PostgreSQL: written down letter by letter when it begins, or as it is enlisted, so that
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
import { lastBurial } from "./bury.ts";
import { runOn } from "./db.ts";
import { endRedrives } from "./end-redrive.ts";
import { countAway } from "./groups.ts";
import { queueNo } from "./jobs.ts";
import { DEAD, matching, type Source, sourcesOf, WAITING } from "./letter-search.ts";
import type { Tx } from "./session.ts";

/** The newest letter of this moment is the bound: whatever is buried later gets a higher number. */
export async function beginOperation(tx: Tx, operation: NewOperation): Promise<Operation> {
  const { undoes } = operation;
  const undone = undoes === undefined ? null : await runOn(tx, (db) => requireRow(db, undoes));
  const isOurs = undone === null || undone.queue === operation.queue;
  assert(isOurs, `operation ${operation.id} undoes one of another queue`);
  const no = await insertOperation(tx, operation, undone);
  const selected = await select(tx, no, operation, undone);
  const [, , begun] = await Promise.all([
    tx.run("UPDATE operations SET selected = ? WHERE no = ?", selected, no),
    endRedrives(tx, [no]),
    runOn(tx, (db) => requireOperation(db, operation.id)),
  ]);
  return begun;
}

async function insertOperation(
  tx: Tx,
  operation: NewOperation,
  undone: OperationRow | null,
): Promise<number> {
  const { id, kind, queue, filter, force, author, reason, selection, plan } = operation;
  const isEnlisted = selection === "enlisted";
  const [queueOf, bound] = await Promise.all([queueNo(tx, queue), lastBurial(tx)]);
  const columns = {
    ...{ id, kind, queue: queueOf, filter: stringifyJson(filter), force: force ? 1 : 0 },
    ...{ author, reason: reason ?? null, selection: selection ?? null, undoes: undone?.no ?? null },
    plan: stringifyJson(plan),
    status: isEnlisted ? "selecting" : "open",
    complete: isEnlisted ? 0 : 1,
    ...{ created_at: tx.now, bound, selected: 0, listed: 1 },
  };
  const names = Object.keys(columns);
  const made = await tx.get<{ no: number }>(
    `INSERT INTO operations (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) RETURNING no`,
    ...Object.values(columns),
  );
  assert(made, `operation ${id} was not written`);
  return made.no;
}

async function select(
  tx: Tx,
  no: number,
  operation: NewOperation,
  undone: OperationRow | null,
): Promise<number> {
  if (operation.selection === "enlisted") return 0;
  return undone === null ? selectMatching(tx, no, operation) : selectDone(tx, no, undone);
}

/** In the order of their numbers, which is the order of the rows. The operation's queue must hold, and the filter's. */
async function selectMatching(tx: Tx, no: number, { kind, queue, filter }: NewOperation): Promise<number> {
  if (filter.queue !== undefined && filter.queue !== queue) return 0;
  const states = filter.states ?? STATES_OF_KIND[kind].slice(0, 1);
  const chosen: LetterFilter = { ...filter, queue, states };
  let selected = 0;
  for (const source of sourcesOf(chosen)) {
    const place = await placeOf(tx, source, chosen);
    const { sql, values } = matching(tx, place.source, chosen, place.state);
    selected += await tx.run(
      `INSERT INTO selections (operation, no, ref, grp, state)
       SELECT ?::bigint, l.no, l.ref, l.grp, ${place.state} ${sql} ORDER BY l.no`,
      no,
      ...values,
    );
  }
  return selected;
}

/** Where no letter of the chosen groups is on its way all are dead, and no item is looked at. */
async function placeOf(
  tx: Tx,
  source: Source,
  filter: LetterFilter,
): Promise<{ readonly source: Source; readonly state: string }> {
  const asItems = { source, state: "i.state" };
  if (source !== DEAD) return asItems;
  return (await countAway(tx, filter)) === 0 ? { source: WAITING, state: "'dead'" } : asItems;
}

function selectDone(tx: Tx, no: number, undone: OperationRow): Promise<number> {
  return tx.run(
    `INSERT INTO selections (operation, no, ref, grp, state)
     SELECT ?::bigint, s.no, s.ref, s.grp, i.state FROM selected s JOIN items i ON i.ref = s.ref
      WHERE s.operation = ? AND s.status = 'done' ORDER BY s.no`,
    no,
    undone.no,
  );
}

export async function enlist(
  tx: Tx,
  id: string,
  found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
): Promise<Operation> {
  const row = await runOn(tx, (db) => requireRow(db, id));
  if (row.status !== "selecting") return operationOf(row);
  const added = await enlistAll(tx, row, found.letterSequences);
  const isComplete = found.cursor === null;
  await tx.run(
    "UPDATE operations SET selected = selected + ?, cursor = ?, complete = ?, status = ? WHERE no = ?",
    added,
    found.cursor,
    isComplete ? 1 : 0,
    isComplete ? "open" : "selecting",
    row.no,
  );
  await endRedrives(tx, [row.no]);
  return runOn(tx, (db) => requireOperation(db, id));
}

/** A letter waits or is closed; its number is in one of the two tables. */
function enlistAll(tx: Tx, row: OperationRow, letterSequences: readonly number[]): Promise<number> {
  return tx.run(
    `INSERT INTO selections (operation, no, ref, grp, state)
     SELECT ?1::bigint, l.no, l.ref, l.grp, i.state
       FROM (SELECT no, ref, grp FROM letters WHERE no = ANY(?2::bigint[])
             UNION ALL SELECT no, ref, grp FROM resolved_letters WHERE no = ANY(?2::bigint[])) l JOIN items i ON i.ref = l.ref
      WHERE i.queue = ?3 AND l.no <= ?4 ORDER BY l.no ON CONFLICT DO NOTHING`,
    row.no,
    letterSequences,
    row.queue_no,
    row.bound,
  );
}

/** Nothing up to `next_no` is pending, so that what is done need not be walked to find it. */
export async function listSelected(
  tx: Tx,
  id: string,
  query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
): Promise<SelectedLetter[]> {
  const { no, next_no: worked } = await runOn(tx, (db) => requireRow(db, id));
  const after = query.after ?? 0;
  const rows = await tx.all<SelectedRow>(
    `SELECT s.no, s.ref, i.item_id, g.signature, s.status, s.reason
       FROM selected s JOIN items i ON i.ref = s.ref JOIN groups g ON g.no = s.grp
      WHERE s.operation = ?1 AND s.no > ?2 AND (?3::text IS NULL OR s.status = ?3) ORDER BY s.no LIMIT ?4`,
    no,
    query.status === "pending" ? Math.max(after, worked) : after,
    query.status ?? null,
    query.limit,
  );
  return rows.map(selectedOf);
}

export async function listRefusals(tx: Tx, id: string): Promise<{ reason: string; count: number }[]> {
  const { no } = await runOn(tx, (db) => requireRow(db, id));
  return tx.all<{ reason: string; count: number }>(
    `SELECT reason, count(*) AS count FROM selections WHERE operation = ? AND status = 'refused'
      GROUP BY reason ORDER BY count(*) DESC, reason COLLATE "C"`,
    no,
  );
}
