/**
 * The work of an operation in PostgreSQL, one step at a time: which letters are next, which of them are refused, and what
 * is done to the others. The totals change in the same transaction, so a step has happened with all that it says or not
 * at all. However many letters a step has, it takes the same few statements.
 */
import { rankOf } from "../../item/item.ts";
import type { Amendment } from "../../item/letter.ts";
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
import { stringifyJson } from "../../std/json.ts";
import { type CandidateRow, judge } from "../judge.ts";
import { type OperationRow, operationOf } from "../operation-row.ts";
import { amendAll } from "../sql/amendments.ts";
import { runAwaiting } from "../sql/db.ts";
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
import { PostgresDb, runOn } from "./db.ts";
import { writeEvents } from "./events.ts";
import { joinLine } from "./ready-items.ts";
import { type SentBack, sendBack } from "./send-back.ts";
import type { Tx } from "./session.ts";

export async function advance(tx: Tx, id: string, step: OperationStep): Promise<Operation> {
  const operation = await runOn(tx, (db) => requireRow(db, id));
  assertStep(operation, step);
  if (operation.status !== "open") return operationOf(operation);
  // Of one that is named twice, the first naming counts.
  const named = new Map([...(step.letters ?? [])].reverse().map((letter) => [letter.letterSequence, letter]));
  const work: Work = {
    tx,
    operation,
    step,
    named,
    deltas: new CounterDeltas(),
    events: new EventLog(tx.now),
  };
  const isMany = operation.kind === "redrive" && step.letters === undefined;
  const worked = await (isMany ? sendBack(tx, work.deltas, work) : workOn(work));
  for (const [reason, numbers] of worked.refused) await mark(work, numbers, reason);
  const [, , , after] = await Promise.all([
    updateTotals(work, worked),
    work.deltas.write(tx),
    writeEvents(tx, work.events),
    runOn(tx, (db) => requireOperation(db, id)),
  ]);
  return after;
}

async function workOn(work: Work): Promise<SentBack> {
  const { accepted, refused } = judge(work, await nextCandidates(work));
  if (accepted.length > 0) await carryOut(work, accepted);
  await mark(
    work,
    accepted.map(({ no }) => no),
    null,
  );
  return { done: accepted.length, refused };
}

interface Work {
  readonly tx: Tx;
  readonly operation: OperationRow;
  readonly step: OperationStep;
  /** The letters that the step names, by number. */
  readonly named: ReadonlyMap<number, LetterStep>;
  readonly deltas: CounterDeltas;
  readonly events: EventLog;
}

type Candidate = CandidateRow & BulkLetter;

/**
 * The group is the one that the letter is in now: it may have been regrouped since. The subqueries with OFFSET 0 keep it at
 * one seek for each letter: a join would be free to read the whole table.
 */
const CANDIDATE_SQL = `
  SELECT s.no, s.ref, g.no AS grp, s.state AS was, i.state, coalesce(l.no, c.no) IS NOT NULL AS here,
         coalesce(l.buried_at, c.buried_at, 0) AS buried_at, coalesce(l.first_at, c.first_at, 0) AS first_at,
         i.revision, g.eligible, g.signature
    FROM next s CROSS JOIN LATERAL (SELECT state, revision FROM items WHERE ref = s.ref OFFSET 0) i
         LEFT JOIN LATERAL (SELECT no, grp, buried_at, first_at FROM letters WHERE no = s.no OFFSET 0) l ON true
         LEFT JOIN LATERAL (SELECT no, grp, buried_at, first_at FROM resolved_letters WHERE no = s.no OFFSET 0) c ON true
         JOIN groups g ON g.no = coalesce(l.grp, c.grp, s.grp) ORDER BY s.no`;

/** Oldest burial first; nothing up to `next_no` is pending. */
async function nextCandidates({ tx, operation: { no, next_no }, step }: Work): Promise<Candidate[]> {
  const pending =
    "SELECT no, ref, grp, state FROM selections WHERE operation = ? AND no > ? AND status = 'pending'";
  if (step.letters !== undefined) {
    const letterSequences = step.letters.map(({ letterSequence }) => letterSequence);
    const next = `WITH next AS MATERIALIZED (${pending} AND no = ANY (?::bigint[]))`;
    return tx.all<Candidate>(next + CANDIDATE_SQL, no, next_no, letterSequences);
  }
  if (step.max === undefined) return [];
  const next = `WITH next AS MATERIALIZED (${pending} ORDER BY no LIMIT ?)`;
  return tx.all<Candidate>(next + CANDIDATE_SQL, no, next_no, step.max);
}

async function carryOut(work: Work, letters: readonly Candidate[]): Promise<void> {
  const { tx, operation } = work;
  const bulk = bulkOf(work, letters);
  switch (operation.kind) {
    case "redrive":
      return redrive(work, bulk);
    case "edit":
      return edit(work, letters);
    case "requeue":
      return requeue(work, letters);
    case "discard":
      await runAwaiting(
        discardLetters(bulk, { at: tx.now, operationId: operation.id, ...byWhom(operation) }),
      );
      break;
    case "restore":
      await runAwaiting(restoreLetters(bulk));
      break;
    default:
      await remove(work, letters);
  }
  for (const { ref, signature } of letters) {
    for (const draft of letterEvent(operation, signature)) {
      work.events.add(draft, { queue: operation.queue_no, ref });
    }
  }
}

function bulkOf({ tx, deltas, operation }: Work, letters: readonly Candidate[]): Bulk {
  return { db: new PostgresDb(tx), deltas, queue: operation.queue_no, letters };
}

function byWhom({ author, reason }: OperationRow): { author: string; reason?: string } {
  return reason === null ? { author } : { author, reason };
}

/** Attempts start anew for the policy; the history stays, and so does the letter until its item is done. */
async function redrive({ tx, operation, step }: Work, { deltas, queue, letters }: Bulk): Promise<void> {
  const since = step.due?.sinceBurialMs ?? [];
  const due = tx.now + (step.due?.delayMs ?? 0);
  await tx.run(
    `UPDATE items SET state = 'ready', spent = 0, losses = 0, redrives = redrives + 1, operation = ?1, expires_at = NULL,
            priority = coalesce(?6::integer, priority), due_at = greatest(?2::bigint, n.buried_at + (?3::bigint[])[least(redrives, cardinality(?3::bigint[]) - 1) + 1])
       FROM unnest(?4::bigint[], ?5::bigint[]) n (ref, buried_at) WHERE items.ref = n.ref`,
    ...[operation.no, due, since],
    letters.map(({ ref }) => ref),
    letters.map(({ buried_at }) => buried_at),
    step.priority === undefined ? null : rankOf(step.priority),
  );
  await joinLine(
    tx,
    letters.map(({ ref }) => ref),
  );
  for (const { grp } of letters) deltas.group(grp, "away", 1);
  deltas.queue(queue, "dead", -letters.length);
  deltas.queue(queue, "ready", letters.length);
}

async function edit({ tx, operation, named, events }: Work, letters: readonly Candidate[]): Promise<void> {
  const { author, id: operationId } = operation;
  const changes = letters.map(({ no, ref }) => {
    const asked = named.get(no);
    assert(asked?.data !== undefined, `the edit of letter ${no} has no data`);
    const { data, rule, note } = asked;
    return {
      ...{ ref, letter: no, data, at: tx.now, author, operationId },
      ...(rule === undefined ? {} : { rule }),
      ...(note === undefined ? {} : { note }),
    };
  });
  const amendments: readonly (Amendment | null)[] = await runOn(tx, (db) => amendAll(db, changes));
  for (const [at, { ref }] of letters.entries()) {
    const amendment = amendments[at];
    if (amendment) events.add(amendmentEvent(amendment), { queue: operation.queue_no, ref });
  }
}

/** Other items take the letters' places; each tells of itself before its letter does. */
async function requeue(work: Work, letters: readonly Candidate[]): Promise<void> {
  const { operation, named, events } = work;
  const asked = letters.map(({ no }) => named.get(no) ?? {});
  const by = { author: operation.author, operationId: operation.id };
  const made = await runAwaiting(requeueLetters(bulkOf(work, letters), asked, by));
  for (const [at, { ref, signature }] of letters.entries()) {
    const other = made[at];
    assert(other, `letter ${letters[at]?.no} was sent anew as nothing`);
    events.add({ type: "item_queued" }, { queue: operation.queue_no, ref: other.ref });
    for (const draft of letterEvent(operation, signature, other.itemId)) {
      events.add(draft, { queue: operation.queue_no, ref });
    }
  }
}

async function remove(work: Work, letters: readonly Candidate[]): Promise<void> {
  const { deltas, operation } = work;
  const inState = (state: ItemState) =>
    bulkOf(
      work,
      letters.filter((letter) => letter.state === state),
    );
  await runAwaiting(purgeDead(inState("dead")));
  await runAwaiting(purgeDiscarded(inState("discarded")));
  await runAwaiting(purgeResolved(inState("done")));
  deltas.queue(operation.queue_no, operation.kind === "evict" ? "evicted" : "purged", letters.length);
}

async function updateTotals(work: Work, { done, refused, workedTo = 0 }: SentBack): Promise<void> {
  const { tx, operation, step, events } = work;
  const refusals = [...refused.values()].reduce((sum, numbers) => sum + numbers.length, 0);
  for (const draft of stepEvent(operation, { done, refused: refusals })) {
    events.add(draft, { queue: operation.queue_no });
  }
  const written = tx.run(
    `UPDATE operations SET done = done + ?1, refused = refused + ?2, progress = ?3,
            next_no = coalesce((SELECT s.no - 1 FROM selections s WHERE s.operation = ?4 AND s.no > greatest(operations.next_no, ?5::bigint)
                                   AND s.status = 'pending' ORDER BY s.no LIMIT 1), bound)
      WHERE no = ?4`,
    done,
    refusals,
    step.progress === undefined ? operation.progress : stringifyJson(step.progress),
    operation.no,
    workedTo,
  );
  await Promise.all([written, runOn(tx, (db) => endRedrives(db, [operation.no]))]);
}

async function mark(
  { tx, operation }: Work,
  numbers: readonly number[],
  reason: string | null,
): Promise<void> {
  if (numbers.length === 0) return;
  await tx.run(
    "UPDATE selections SET status = ?, reason = ? WHERE operation = ? AND no = ANY(?::bigint[])",
    reason === null ? "done" : "refused",
    reason,
    operation.no,
    numbers,
  );
}
