/**
 * Carries out an operation step by step: reads the next letters, refuses those that cannot be processed and
 * processes the others. The totals change in the same transaction. A step needs the same few statements for
 * any number of letters.
 */
import { rankOf } from "../../item/item.ts";
import {
  amendmentEvent,
  assertStep,
  type LetterStep,
  letterEvent,
  type Operation,
  type OperationStep,
  stepEvent,
} from "../../item/operation.ts";
import type { ItemState } from "../../item/state.ts";
import { assert } from "../../std/assert.ts";
import { compact, stringifyJson } from "../../std/json.ts";
import { amendAll } from "./amendments.ts";
import { type Db, type Step, together } from "./db.ts";
import type { Deltas } from "./deltas.ts";
import { judgeEdited } from "./edited-letters.ts";
import { EventLog } from "./events.ts";
import { type CandidateRow, judge, type Refused } from "./judge.ts";
import {
  endRedrives,
  operationOf,
  requireOperation,
  requireRow,
  type StoredOperation,
} from "./operations.ts";
import { requeueLetters } from "./requeue.ts";
import {
  type Bulk,
  type BulkLetter,
  discardLetters,
  purgeDead,
  purgeDiscarded,
  purgeResolved,
  restoreLetters,
} from "./resolved-letters.ts";

/** The outcome of a step. */
export interface Worked {
  readonly done: number;
  /** Letters whose rows the caller must still mark as refused. */
  readonly refused: Refused;
  /** No letter up to this number is pending, even if the rows of `selections` were not updated. */
  readonly workedTo?: number;
}

export interface Work {
  readonly db: Db;
  readonly operation: StoredOperation;
  readonly step: OperationStep;
  /** The letters listed in the step, by number. */
  readonly named: ReadonlyMap<number, LetterStep>;
  readonly deltas: Deltas;
  readonly events: EventLog;
}

export function* advance(db: Db, id: string, step: OperationStep): Step<Operation> {
  const operation = yield* requireRow(db, id);
  assertStep(operation, step);
  if (operation.status !== "open") return operationOf(operation);
  // If a letter is listed twice, the first entry wins.
  const named = new Map([...(step.letters ?? [])].reverse().map((letter) => [letter.letterSequence, letter]));
  const work = { db, operation, step, named, deltas: db.newDeltas(), events: new EventLog(db.now) };
  const isMany = operation.kind === "redrive" && step.letters === undefined;
  const worked = (isMany ? yield* db.redriveNext(work) : null) ?? (yield* workOn(work));
  for (const [reason, numbers] of worked.refused) yield* setStatus(work, numbers, reason);
  const { done, workedTo = 0 } = worked;
  const refused = [...worked.refused.values()].reduce((sum, numbers) => sum + numbers.length, 0);
  for (const draft of stepEvent(operation, { done, refused })) {
    work.events.add(draft, { queue: operation.queueNo });
  }
  const [, , , after] = yield* together(
    updateTotals(work, { done, refused, workedTo }),
    db.writeDeltas(work.deltas),
    db.writeEvents(work.events),
    requireOperation(db, id),
  );
  return after;
}

function* workOn(work: Work): Step<Worked> {
  const { accepted, refused } = judge(work, yield* nextCandidates(work));
  if (accepted.length > 0) yield* carryOut(work, accepted);
  const numbers = accepted.map(({ no }) => no);
  yield* setStatus(work, numbers, null);
  return { done: accepted.length, refused };
}

type Candidate = CandidateRow & BulkLetter;

/** Reads the next pending letters, oldest first, with their current groups, because letters may have been regrouped. */
function* nextCandidates({ db, operation: { no, nextNo }, step }: Work): Step<Candidate[]> {
  const { among, lookUp, lookUpAny, joinInOrder } = db.sql;
  if (step.letters === undefined && step.max === undefined) return [];
  const [limit, values] =
    step.letters === undefined
      ? ["", [step.max ?? 0]]
      : [`AND ${among("no", "?")}`, [step.letters.map(({ letterSequence }) => letterSequence)]];
  return yield* db.all<Candidate>(
    `WITH next AS MATERIALIZED (
       SELECT no, ref, grp, state FROM selections WHERE operation = ? AND no > ? AND status = 'pending' ${limit}
        ORDER BY no ${limit === "" ? "LIMIT ?" : ""})
     SELECT s.no, s.ref, g.no AS grp, s.state AS was, i.state, coalesce(l.no, c.no) IS NOT NULL AS here,
            coalesce(l.buried_at, c.buried_at, 0) AS buried_at, coalesce(l.first_at, c.first_at, 0) AS first_at,
            i.revision, g.eligible, g.signature
       FROM next s ${lookUp("items i", "ref", "s.ref")}
            ${lookUpAny("letters l", "no", "s.no")} ${lookUpAny("resolved_letters c", "no", "s.no")}
            ${joinInOrder} groups g ON g.no = coalesce(l.grp, c.grp, s.grp)
      ORDER BY s.no`,
    no,
    nextNo,
    ...values,
  );
}

function* carryOut(work: Work, letters: readonly Candidate[]): Step<void> {
  const { db, operation, events } = work;
  const bulk = bulkOf(work, letters);
  const { kind, id: operationId, author, reason } = operation;
  if (kind === "requeue") return yield* requeue(work, letters);
  if (kind === "redrive") yield* redrive(work, bulk);
  else if (kind === "edit") yield* edit(work, letters);
  else if (kind === "restore") yield* restoreLetters(bulk);
  else if (kind === "discard") {
    yield* discardLetters(bulk, compact({ at: db.now, operationId, author, reason }));
  } else yield* remove(work, letters);
  for (const { ref, signature } of letters) {
    for (const draft of letterEvent(operation, signature)) {
      events.add(draft, { queue: operation.queueNo, ref });
    }
  }
}

function bulkOf({ db, deltas, operation }: Work, letters: readonly Candidate[]): Bulk {
  return { db, deltas, queue: operation.queueNo, letters };
}

/** Resets the attempt count. The history is kept, and the letter remains until its item is done. */
function* redrive({ db, operation, step }: Work, { deltas, queue, letters }: Bulk): Step<void> {
  const { among, typed, larger, smaller, element } = db.sql;
  const since = step.due?.sinceBurialMs ?? [];
  const refs = letters.map(({ ref }) => ref);
  const now = typed("?2", "bigint");
  // The item is not due until its wait since the burial is over; the wait depends on the number of redrives.
  const waited = `(SELECT buried_at FROM letters l WHERE l.ref = items.ref)
    + ${element("?4", smaller("redrives", String(since.length - 1)))}`;
  yield* db.run(
    `UPDATE items SET state = 'ready', attempts_counted = 0, lost_count = 0, redrives = redrives + 1, operation = ?1, expires_at = NULL,
            due_at = ${since.length === 0 ? now : larger(now, waited)}
            ${step.priority === undefined ? "" : `, priority = ${rankOf(step.priority)}`}
      WHERE ${among("ref", "?3")}`,
    ...[operation.no, db.now + (step.due?.delayMs ?? 0), refs],
    ...(since.length === 0 ? [] : [since]),
  );
  yield* db.offer(refs);
  for (const { grp } of letters) deltas.group(grp, "in_retry", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "ready", letters.length);
}

function* edit(work: Work, letters: readonly Candidate[]): Step<void> {
  const { db, operation, named, events } = work;
  const { author, id: operationId } = operation;
  const changes = letters.map(({ no, ref }) => {
    const asked = named.get(no);
    assert(asked?.data !== undefined, `the edit of letter ${no} has no data`);
    const { data, rule, note } = asked;
    return compact({ ref, letter: no, data, at: db.now, author, operationId, rule, note });
  });
  const amendments = yield* amendAll(db, changes);
  for (const [at, { ref }] of letters.entries()) {
    const amendment = amendments[at];
    if (amendment) events.add(amendmentEvent(amendment), { queue: operation.queueNo, ref });
  }
  yield* judgeEdited(
    work,
    changes.flatMap(({ letter, data }, at) => (amendments[at] ? { no: letter, data } : [])),
  );
}

/** The event of each new item comes before the event of its letter. */
function* requeue(work: Work, letters: readonly Candidate[]): Step<void> {
  const { operation, named, events } = work;
  const { author, id: operationId, queueNo: queue } = operation;
  const asked = letters.map(({ no }) => named.get(no) ?? {});
  const made = yield* requeueLetters(bulkOf(work, letters), asked, { author, operationId });
  for (const [at, { no, ref, signature }] of letters.entries()) {
    const other = made[at];
    assert(other, `letter ${no} was requeued as nothing`);
    events.add({ type: "item_queued" }, { queue, ref: other.ref });
    for (const draft of letterEvent(operation, signature, other.itemId)) events.add(draft, { queue, ref });
  }
}

function* remove(work: Work, letters: readonly Candidate[]): Step<void> {
  const { deltas, operation } = work;
  const inState = (state: ItemState) => {
    const some = letters.filter((letter) => letter.state === state);
    return bulkOf(work, some);
  };
  yield* purgeDead(inState("dead"));
  yield* purgeDiscarded(inState("discarded"));
  yield* purgeResolved(inState("done"));
  deltas.queue(operation.queueNo, operation.kind === "evict" ? "evicted" : "purged", letters.length);
}

function* updateTotals(
  { db, operation, step }: Work,
  { done, refused, workedTo }: { readonly done: number; readonly refused: number; readonly workedTo: number },
): Step<void> {
  const { typed, larger } = db.sql;
  const written = db.run(
    `UPDATE operations SET done = done + ?1, refused = refused + ?2, progress = ?3,
            next_no = coalesce((SELECT s.no - 1 FROM selections s
              WHERE s.operation = ?4 AND s.no > ${larger("operations.next_no", typed("?5", "bigint"))} AND s.status = 'pending'
              ORDER BY s.no LIMIT 1), bound)
      WHERE no = ?4`,
    done,
    refused,
    stringifyJson(step.progress ?? operation.progress),
    operation.no,
    workedTo,
  );
  yield* together(written, endRedrives(db, [operation.no]));
}

function* setStatus({ db, operation }: Work, numbers: readonly number[], reason: string | null): Step<void> {
  if (numbers.length === 0) return;
  yield* db.run(
    `UPDATE selections SET status = ?, reason = ? WHERE operation = ? AND ${db.sql.among("no", "?")}`,
    reason === null ? "done" : "refused",
    reason,
    operation.no,
    numbers,
  );
}
