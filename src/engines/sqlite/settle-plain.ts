/**
 * Settles plain successes and failures in batches, because a statement costs more than the row that it writes.
 * Other or stale settlements are left to the caller, which also writes events, counters and letters.
 */

import { failureToJson } from "../../item/failure.ts";
import type { Settlement } from "../../item/item.ts";
import { stringifyJson } from "../../std/json.ts";
import type { Session } from "./session.ts";

/** Below this number, separate statements are faster. */
const FEW = 4;

/** Returns the item's queue if the settlement was applied here; otherwise undefined. */
export type TakePlain = (settlement: Settlement) => number | undefined;

export function settlePlain(session: Session, now: number, settlements: readonly Settlement[]): TakePlain {
  if (settlements.length < FEW) return takeNone;
  const successes = settlements.filter(isSuccess);
  const failures = settlements.filter(isFailure);
  if (successes.length + failures.length < FEW || isAnyNamedTwice(settlements)) return takeNone;
  const queues = new Map<number, number>();
  if (successes.length > 0) succeed(session, now, successes, queues);
  if (failures.length > 0) fail(session, now, failures, queues);
  return ({ lease }) => queues.get(lease.ref);
}

function takeNone(): undefined {
  return undefined;
}

/** If an item is settled twice, the first settlement counts; in this case all are settled one by one. */
function isAnyNamedTwice(settlements: readonly Settlement[]): boolean {
  return new Set(settlements.map(({ lease }) => lease.ref)).size < settlements.length;
}

function isSuccess({ outcome, verdict }: Settlement): boolean {
  return outcome === "succeeded" && verdict.kind === "done";
}

function isFailure({ outcome, verdict }: Settlement): boolean {
  return outcome === "failed" && (isBurial(verdict) || verdict.kind === "retry");
}

function isBurial({ kind }: Settlement["verdict"]): boolean {
  return kind === "bury" || kind === "stop";
}

/** Groups by attempt number. Most attempts are first ones, so there are few groups. */
function refsByAttempt(settlements: readonly Settlement[]): Map<number, number[]> {
  const lists = new Map<number, number[]>();
  for (const { lease } of settlements) {
    const refs = lists.get(lease.attempt);
    if (refs === undefined) lists.set(lease.attempt, [lease.ref]);
    else refs.push(lease.ref);
  }
  return lists;
}

/**
 * The held items, fenced by attempt number. Excludes letters, ordering keys and operations, which need more
 * writes.
 */
const HELD = `FROM json_each(?) refs CROSS JOIN items i ON i.ref = refs.value
  WHERE i.attempts = ? AND i.state = 'leased' AND i.operation IS NULL AND i.redrives = 0 AND i.ordering_key IS NULL`;

/** The write transaction is exclusive, so the items do not change between the statements. */
function succeed(
  session: Session,
  now: number,
  settlements: readonly Settlement[],
  queues: Map<number, number>,
): void {
  for (const [attempt, refs] of refsByAttempt(settlements)) {
    for (const [ref, queue] of heldOf(session, attempt, refs)) queues.set(ref, queue);
  }
  const held = settlements.filter(({ lease }) => queues.has(lease.ref));
  const refs = JSON.stringify(held.map(({ lease }) => lease.ref));
  if (held.every(({ log, result }) => log === undefined && result === undefined)) {
    session.run(successesOf("refs.value", "NULL, NULL"), now, refs);
  } else {
    session.run(successesOf("refs.value ->> 0", "refs.value ->> 1, refs.value ->> 2"), now, reportsOf(held));
  }
  session.run(`UPDATE items SET state = 'done', holder = NULL ${THESE}`, refs);
}

/** Passes all items as one parameter, so that one prepared statement serves every number of rows. */
const THESE = "WHERE ref IN (SELECT value FROM json_each(?))";

/**
 * Returns the held items with their queues. A single aggregate covers the usual case: all are held, in one
 * queue.
 */
function heldOf(
  session: Session,
  attempt: number,
  refs: readonly number[],
): readonly (readonly [ref: number, queue: number])[] {
  const list = JSON.stringify(refs);
  const sum = session.get<{ count: number; queue: number; last: number }>(
    `SELECT count(*) AS count, min(i.queue) AS queue, max(i.queue) AS last ${HELD}`,
    list,
    attempt,
  );
  if (sum?.count === refs.length && sum.queue === sum.last) return refs.map((ref) => [ref, sum.queue]);
  return session.tuples<[number, number]>(`SELECT i.ref, i.queue ${HELD}`, list, attempt);
}

function successesOf(ref: string, report: string): string {
  return `INSERT INTO attempts (ref, number, holder, started_at, outcome, ended_at, log, result)
    SELECT i.ref, i.attempts, i.holder, i.started_at, 'succeeded', ?, ${report}
      FROM json_each(?) refs CROSS JOIN items i ON i.ref = ${ref}`;
}

function reportsOf(settlements: readonly Settlement[]): string {
  return JSON.stringify(
    settlements.map(({ lease, log = null, result }) => [
      ...[lease.ref, log, result === undefined ? null : stringifyJson(result)],
    ]),
  );
}

/** Binds failures one by one, because packing their texts into one JSON document costs more. */
function fail(
  session: Session,
  now: number,
  settlements: readonly Settlement[],
  queues: Map<number, number>,
): void {
  const begun = new Map<number, readonly [holder: number, startedAt: number]>();
  for (const [attempt, refs] of refsByAttempt(settlements)) {
    const rows = session.tuples<[ref: number, queue: number, holder: number, startedAt: number]>(
      `SELECT i.ref, i.queue, i.holder, i.started_at ${HELD}`,
      ...[JSON.stringify(refs), attempt],
    );
    for (const [ref, queue, holder, startedAt] of rows) {
      queues.set(ref, queue);
      begun.set(ref, [holder, startedAt]);
    }
  }
  session.insert(
    "attempts (ref, number, holder, started_at, outcome, ended_at, failure, log)",
    settlements.flatMap(({ lease, failure, log = null }) => {
      const begin = begun.get(lease.ref);
      if (begin === undefined || failure === undefined) return [];
      const text = stringifyJson(failureToJson(failure));
      return [[lease.ref, lease.attempt, ...begin, "failed", now, text, log]];
    }),
  );
  moveFailed(
    session,
    now,
    settlements.filter(({ lease }) => begun.has(lease.ref)),
  );
}

function moveFailed(session: Session, now: number, settlements: readonly Settlement[]): void {
  const [dead, again]: [number[], [ref: number, dueAt: number][]] = [[], []];
  for (const { lease, verdict } of settlements) {
    if (verdict.kind === "retry") again.push([lease.ref, now + verdict.delayMs]);
    else dead.push(lease.ref);
  }
  if (dead.length > 0) {
    const sql = `UPDATE items SET state = 'dead', attempts_counted = attempts_counted + 1, holder = NULL ${THESE}`;
    session.run(sql, JSON.stringify(dead));
  }
  if (again.length > 0) {
    session.run(
      `UPDATE items SET state = 'ready', due_at = given.due_at, attempts_counted = attempts_counted + 1, holder = NULL
         FROM (SELECT value ->> 0 AS ref, value ->> 1 AS due_at FROM json_each(?)) AS given WHERE items.ref = given.ref`,
      JSON.stringify(again),
    );
  }
}
