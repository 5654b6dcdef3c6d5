/**
 * The work of an operation in SQLite, one step at a time: which letters are next, which of them are refused, and what is
 * done to the others. The totals change in the same transaction, so a step has happened with all that it says or not at
 * all. Many letters are moved by a few statements.
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
import { type CandidateRow, judge, type Refused } from "../judge.ts";
import { type OperationRow, operationOf } from "../operation-row.ts";
import { amendAll } from "../sql/amendments.ts";
import { runNow } from "../sql/db.ts";
import { EventLog } from "../sql/event-log.ts";
import { endRedrives, requireOperation, requireRow } from "../sql/operations.ts";
import { requeueLetters } from "../sql/requeue.ts";
import {
  type Bulk,
  type BulkLetter,
  discardLetters,
  purgeDead,
  purgeDiscarded,
  purgeResolved,
  restoreLetters,
} from "../sql/resolved-letters.ts";
import { CounterDeltas } from "./counter-deltas.ts";
import { runOn, SqliteDb } from "./db.ts";
import { writeEvents } from "./events.ts";
import { putLanesInOrder } from "./lanes.ts";
import type { Session } from "./session.ts";

export function advance(session: Session, id: string, step: OperationStep): Operation {
  const operation = runOn(session, (db) => requireRow(db, id));
  assertStep(operation, step);
  if (operation.status !== "open") return operationOf(operation);
  const now = session.clock.now();
  // Of one that is named twice, the first naming counts.
  const named = new Map([...(step.letters ?? [])].reverse().map((letter) => [letter.letterSequence, letter]));
  const work: Work = {
    session,
    operation,
    step,
    named,
    now,
    deltas: new CounterDeltas(),
    events: new EventLog(now),
  };
  const candidates = nextCandidates(work);
  const { accepted, refused } = judge(work, candidates);
  if (accepted.length > 0) carryOut(work, accepted);
  updateTotals(work, accepted, refused);
  writeEvents(session, work.events);
  work.deltas.write(session);
  return runOn(session, (db) => requireOperation(db, id));
}

interface Work {
  readonly session: Session;
  readonly operation: OperationRow;
  readonly step: OperationStep;
  /** The letters that the step names, by number. */
  readonly named: ReadonlyMap<number, LetterStep>;
  readonly now: number;
  readonly deltas: CounterDeltas;
  readonly events: EventLog;
}

type Candidate = CandidateRow & BulkLetter;

/** The group is the one that the letter is in now: it may have been regrouped since. */
const CANDIDATE_SQL = `
  SELECT s.no, s.ref, g.no AS grp, s.state AS was, i.state, coalesce(l.no, c.no) IS NOT NULL AS here,
         coalesce(l.buried_at, c.buried_at, 0) AS buried_at, coalesce(l.first_at, c.first_at, 0) AS first_at,
         i.revision, g.eligible, g.signature
    FROM selections s CROSS JOIN items i ON i.ref = s.ref
         LEFT JOIN letters l ON l.no = s.no LEFT JOIN resolved_letters c ON c.no = s.no
         CROSS JOIN groups g ON g.no = coalesce(l.grp, c.grp, s.grp)
   WHERE s.operation = ? AND s.no > ? AND s.status = 'pending'`;

/** Oldest burial first; nothing up to `next_no` is pending. */
function nextCandidates({ session, operation: { no, next_no }, step }: Work): Candidate[] {
  if (step.letters !== undefined) {
    const letterSequences = JSON.stringify(step.letters.map(({ letterSequence }) => letterSequence));
    const sql = `${CANDIDATE_SQL} AND s.no IN (SELECT value FROM json_each(?)) ORDER BY s.no`;
    return session.all<Candidate>(sql, no, next_no, letterSequences);
  }
  if (step.max === undefined) return [];
  return session.all<Candidate>(`${CANDIDATE_SQL} ORDER BY s.no LIMIT ?`, no, next_no, step.max);
}

function carryOut(work: Work, letters: readonly Candidate[]): void {
  const { operation, now } = work;
  const bulk = bulkOf(work, letters);
  switch (operation.kind) {
    case "redrive":
      redrive(work, bulk);
      break;
    case "requeue":
      requeue(work, letters);
      return; // it has told of each
    case "edit":
      edit(work, letters);
      break;
    case "discard":
      runNow(discardLetters(bulk, { at: now, operationId: operation.id, ...byWhom(operation) }));
      break;
    case "restore":
      runNow(restoreLetters(bulk));
      break;
    default:
      remove(work, letters);
  }
  tellOfEach(work, letters);
}

function bulkOf({ session, deltas, operation }: Work, letters: readonly Candidate[]): Bulk {
  return { db: new SqliteDb(session), deltas, queue: operation.queue_no, letters };
}

function byWhom({ author, reason }: OperationRow): { author: string; reason?: string } {
  return reason === null ? { author } : { author, reason };
}

/** Attempts start anew for the policy; the history stays, and so does the letter until its item is done. */
function redrive({ session, operation, step, now }: Work, { deltas, queue, letters }: Bulk): void {
  const since = step.due?.sinceBurialMs ?? [];
  const priority = step.priority === undefined ? "" : `, priority = ${rankOf(step.priority)}`;
  session.run(
    `UPDATE items SET state = 'ready', spent = 0, losses = 0, redrives = redrives + 1, operation = ?1,
            due_at = ${since.length === 0 ? "?2" : DUE}, expires_at = NULL, waits = lane IS NOT NULL${priority}
      WHERE ref IN (SELECT value FROM json_each(?3))`,
    ...[operation.no, now + (step.due?.delayMs ?? 0), JSON.stringify(letters.map(({ ref }) => ref))],
    ...(since.length === 0 ? [] : [JSON.stringify(since), since.length - 1]),
  );
  for (const { grp } of letters) deltas.group(grp, "away", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "ready", letters.length);
  putLanesInOrder(
    session,
    letters.map(({ ref }) => ref),
  );
  session.notify(queue);
}

/** Not before the wait after its burial is over, which is the longer the oftener it was redriven. */
const DUE = `max(?2, (SELECT buried_at FROM letters WHERE letters.ref = items.ref)
  + json_extract(?4, '$[' || min(redrives, ?5) || ']'))`;

function edit({ session, operation, named, now, events }: Work, letters: readonly Candidate[]): void {
  const { author, id: operationId } = operation;
  const changes = letters.map(({ no, ref }) => {
    const asked = named.get(no);
    assert(asked?.data !== undefined, `the edit of letter ${no} has no data`);
    const { data, rule, note } = asked;
    return compact({ ref, letter: no, data, at: now, author, operationId, rule, note });
  });
  const amendments = runOn(session, (db) => amendAll(db, changes));
  for (const [at, { ref }] of letters.entries()) {
    const amendment = amendments[at];
    if (amendment) events.add(amendmentEvent(amendment), { queue: operation.queue_no, ref });
  }
}

/** Other items take the letters' places; each tells of itself before its letter does. */
function requeue(work: Work, letters: readonly Candidate[]): void {
  const { operation, named, events } = work;
  const asked = letters.map(({ no }) => named.get(no) ?? {});
  const by = { author: operation.author, operationId: operation.id };
  const made = runNow(requeueLetters(bulkOf(work, letters), asked, by));
  for (const [at, { ref, signature }] of letters.entries()) {
    const other = made[at];
    assert(other, `letter ${letters[at]?.no} was sent anew as nothing`);
    events.add({ type: "item_queued" }, { queue: operation.queue_no, ref: other.ref });
    for (const draft of letterEvent(operation, signature, other.itemId)) {
      events.add(draft, { queue: operation.queue_no, ref });
    }
  }
}

function remove(work: Work, letters: readonly Candidate[]): void {
  const { deltas, operation } = work;
  const inState = (state: ItemState) =>
    bulkOf(
      work,
      letters.filter((letter) => letter.state === state),
    );
  runNow(purgeDead(inState("dead")));
  runNow(purgeDiscarded(inState("discarded")));
  runNow(purgeResolved(inState("done")));
  deltas.queue(operation.queue_no, operation.kind === "evict" ? "evicted" : "purged", letters.length);
}

function tellOfEach({ operation, events }: Work, letters: readonly Candidate[]): void {
  for (const { ref, signature } of letters) {
    for (const draft of letterEvent(operation, signature)) {
      events.add(draft, { queue: operation.queue_no, ref });
    }
  }
}

function updateTotals(work: Work, accepted: readonly Candidate[], refused: Refused): void {
  const { session, operation, step, events } = work;
  mark(
    work,
    accepted.map(({ no }) => no),
    null,
  );
  for (const [reason, numbers] of refused) mark(work, numbers, reason);
  const refusals = [...refused.values()].reduce((sum, numbers) => sum + numbers.length, 0);
  session.run(
    `UPDATE operations SET done = done + ?1, refused = refused + ?2, progress = ?3,
            next_no = coalesce((SELECT s.no - 1 FROM selections s WHERE s.operation = ?4 AND s.no > next_no
                                   AND s.status = 'pending' ORDER BY s.no LIMIT 1), bound)
      WHERE no = ?4`,
    accepted.length,
    refusals,
    step.progress === undefined ? operation.progress : stringifyJson(step.progress),
    operation.no,
  );
  runOn(session, (db) => endRedrives(db, [operation.no]));
  for (const draft of stepEvent(operation, { done: accepted.length, refused: refusals })) {
    events.add(draft, { queue: operation.queue_no });
  }
}

function mark({ session, operation }: Work, numbers: readonly number[], reason: string | null): void {
  if (numbers.length === 0) return;
  session.run(
    `UPDATE selections SET status = ?, reason = ? WHERE operation = ? AND no IN (SELECT value FROM json_each(?))`,
    reason === null ? "done" : "refused",
    reason,
    operation.no,
    JSON.stringify(numbers),
  );
}
