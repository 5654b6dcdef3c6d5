/**
 * The selection of an operation: one row per letter, written when the operation begins or while letters are
 * enlisted. This ensures that "selected = done + refused + pending" always holds, and that letters buried
 * later are never included.
 */
import type { LetterFilter } from "../../engine.ts";
import { KIND_RULES, type NewOperation, type Operation, type SelectedLetter } from "../../item/operation.ts";
import { assert } from "../../std/assert.ts";
import { compact, stringifyJson } from "../../std/json.ts";
import type { Db, Step } from "./db.ts";
import { queueNo } from "./jobs.ts";
import {
  endRedrives,
  operationOf,
  requireOperation,
  requireRow,
  type StoredOperation,
} from "./operations.ts";

/** The newest letter limits the selection: letters that are buried later have higher numbers. */
export function* beginOperation(db: Db, operation: NewOperation): Step<Operation> {
  const { undoes } = operation;
  const undone = undoes === undefined ? null : yield* requireRow(db, undoes);
  const isOurs = undone === null || undone.queue === operation.queue;
  assert(isOurs, `operation ${operation.id} undoes one of another queue`);
  const no = yield* insertOperation(db, operation, undone);
  const selected = yield* select(db, no, operation, undone);
  yield* db.run("UPDATE operations SET selected = ? WHERE no = ?", selected, no);
  yield* endRedrives(db, [no]);
  return yield* requireOperation(db, operation.id);
}

function* insertOperation(db: Db, operation: NewOperation, undone: StoredOperation | null): Step<number> {
  const { id, kind, queue, filter, force, author, reason, selection, plan } = operation;
  const isEnlisted = selection === "enlisted";
  const columns = {
    ...{ id, kind, queue: yield* queueNo(db, queue), filter: stringifyJson(filter), force: force ? 1 : 0 },
    ...{ author, reason: reason ?? null, selection: selection ?? null, undoes: undone?.no ?? null },
    plan: stringifyJson(plan),
    status: isEnlisted ? "selecting" : "open",
    complete: isEnlisted ? 0 : 1,
    ...{ created_at: db.now, bound: yield* db.lastBurial(), selected: 0, listed: 1 },
  };
  const names = Object.keys(columns);
  const made = yield* db.get<{ no: number }>(
    `INSERT INTO operations (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) RETURNING no`,
    ...Object.values(columns),
  );
  assert(made, `operation ${id} was not written`);
  return made.no;
}

function* select(db: Db, no: number, operation: NewOperation, undone: StoredOperation | null): Step<number> {
  if (operation.selection === "enlisted") return 0;
  return undone === null ? yield* selectMatching(db, no, operation) : yield* selectDone(db, no, undone);
}

const INTO = "INSERT INTO selections (operation, no, ref, grp, state)";

/** Selects matching letters in order of their numbers. Selects none if the filter names another queue. */
function* selectMatching(db: Db, no: number, { kind, queue, filter }: NewOperation): Step<number> {
  if (filter.queue !== undefined && filter.queue !== queue) return 0;
  const states = filter.states ?? KIND_RULES[kind].states.slice(0, 1);
  const chosen: LetterFilter = { ...filter, queue, states };
  let selected = 0;
  for (const { sql, values, state } of yield* db.lettersMatching(chosen)) {
    selected += yield* db.run(
      `${INTO} SELECT ${db.sql.typed("?", "bigint")}, l.no, l.ref, l.grp, ${state} ${sql} ORDER BY l.no`,
      no,
      ...values,
    );
  }
  return selected;
}

function selectDone(db: Db, no: number, undone: StoredOperation): Step<number> {
  return db.run(
    `${INTO} SELECT ${db.sql.typed("?", "bigint")}, s.no, s.ref, s.grp, i.state
       FROM ${db.sql.selected} s ${db.sql.joinInOrder} items i ON i.ref = s.ref
      WHERE s.operation = ? AND s.status = 'done' ORDER BY s.no`,
    no,
    undone.no,
  );
}

export function* enlist(
  db: Db,
  id: string,
  found: { readonly letterSequences: readonly number[]; readonly cursor: string | null },
): Step<Operation> {
  const row = yield* requireRow(db, id);
  if (row.status !== "selecting") return operationOf(row);
  const added = yield* enlistAll(db, row, found.letterSequences);
  const isComplete = found.cursor === null;
  yield* db.run(
    "UPDATE operations SET selected = selected + ?, cursor = ?, complete = ?, status = ? WHERE no = ?",
    ...[added, found.cursor, isComplete ? 1 : 0, isComplete ? "open" : "selecting", row.no],
  );
  yield* endRedrives(db, [row.no]);
  return yield* requireOperation(db, id);
}

/** Searches both tables, because a letter is either waiting or resolved. */
function enlistAll(db: Db, row: StoredOperation, letterSequences: readonly number[]): Step<number> {
  const { among, joinInOrder, typed } = db.sql;
  const from = (table: string) => `SELECT no, ref, grp FROM ${table} WHERE ${among("no", "?2")}`;
  return db.run(
    `${INTO} SELECT ${typed("?1", "bigint")}, l.no, l.ref, l.grp, i.state
       FROM (${from("letters")} UNION ALL ${from("resolved_letters")}) l ${joinInOrder} items i ON i.ref = l.ref
      WHERE i.queue = ?3 AND l.no <= ?4 ORDER BY l.no ON CONFLICT DO NOTHING`,
    ...[row.no, letterSequences, row.queueNo, row.bound],
  );
}

interface SelectedRow {
  readonly no: number;
  readonly ref: number;
  readonly item_id: string;
  readonly signature: string;
  readonly status: SelectedLetter["status"];
  readonly reason: string | null;
}

/** If only pending letters are requested, starts after `next_no`, because no letter before it is pending. */
export function* listSelected(
  db: Db,
  id: string,
  query: { readonly status?: SelectedLetter["status"]; readonly after?: number; readonly limit: number },
): Step<SelectedLetter[]> {
  const { no, nextNo: worked } = yield* requireRow(db, id);
  const after = query.after ?? 0;
  const { joinInOrder, typed, selected } = db.sql;
  const rows = yield* db.all<SelectedRow>(
    `SELECT s.no, s.ref, i.item_id, g.signature, s.status, s.reason
       FROM ${selected} s ${joinInOrder} items i ON i.ref = s.ref ${joinInOrder} groups g ON g.no = s.grp
      WHERE s.operation = ?1 AND s.no > ?2 AND (${typed("?3", "text")} IS NULL OR s.status = ?3) ORDER BY s.no LIMIT ?4`,
    no,
    query.status === "pending" ? Math.max(after, worked) : after,
    query.status ?? null,
    query.limit,
  );
  return rows.map(({ no: letterSequence, ref, item_id, signature, status, reason }) =>
    compact({ letterSequence, ref, itemId: item_id, signature, status, reason: reason ?? undefined }),
  );
}

export function* listRefusals(db: Db, id: string): Step<{ reason: string; count: number }[]> {
  const { no } = yield* requireRow(db, id);
  return yield* db.all<{ reason: string; count: number }>(
    `SELECT reason, count(*) AS count FROM selections WHERE operation = ? AND status = 'refused'
      GROUP BY reason ORDER BY count(*) DESC, ${db.sql.inBytes("reason")}`,
    no,
  );
}
