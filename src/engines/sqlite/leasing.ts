/**
 * Leases items by priority, due time and age, with one index seek per priority. Items that are not due or wait for their ordering
 * key are never read. Pause, rate and breaker are checked in the same transaction.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { RedriveError } from "../../errors.ts";
import type { LeasedItem } from "../../item/item.ts";
import { PRIORITIES, rankOf } from "../../item/item.ts";
import { readOptions } from "../../item/item-options.ts";
import { allow, spend } from "../../item/rate.ts";
import { assert } from "../../std/assert.ts";
import { type Json, parseJson } from "../../std/json.ts";
import type { EventLog } from "../sql/events.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import type { Session } from "./session.ts";

interface Leasing {
  readonly session: Session;
  readonly now: number;
  readonly deltas: CounterDeltas;
  readonly events: EventLog;
}

type LeaseRequest = NonNullable<SettleAndLease["lease"]>;
type Leased = Pick<SettleAndLeaseResult, "leased" | "nextDueAt" | "isPaused">;

export const NOTHING: Leased = { leased: [], nextDueAt: null, isPaused: false };

export function leaseDue(
  step: Leasing,
  holderId: string | null,
  request: LeaseRequest,
  isOpen: boolean,
): Leased {
  assert(holderId !== null, "a lease needs a holder");
  const holder = holderNo(step.session, holderId);
  const { no, spent_until, paused_at } = queueNamed(step.session, request.queue);
  if (paused_at !== null) return { ...NOTHING, isPaused: true };
  if (!isOpen) return NOTHING;
  const { rate, max } = request;
  const { granted, nextAt } = rate ? allow(spent_until, step.now, rate, max) : { granted: max, nextAt: null };
  // Reads one more item than the rate allows, to determine whether the runner must ask again.
  const found = findDue(step, no, request, granted < max ? granted + 1 : granted);
  const leased = found.slice(0, granted);
  if (leased.length > 0) {
    begin(step, { holder, queue: no }, leased);
    if (rate) keepRate(step, no, spend(spent_until, step.now, rate, leased.length));
  }
  const isShort = leased.length < max;
  const nextDueAt = isShort
    ? earliest(nextDue(step, no, request), found.length > granted ? nextAt : null)
    : null;
  return { leased: leased.map((row) => itemOf(row, request.queue, step.now)), nextDueAt, isPaused: false };
}

interface QueueRow {
  readonly no: number;
  readonly spent_until: number;
  readonly paused_at: number | null;
}

function queueNamed(session: Session, name: string): QueueRow {
  const row = session.get<QueueRow>(
    "SELECT q.no, q.spent_until, j.paused_at FROM queues q LEFT JOIN jobs j ON j.id = q.name WHERE q.name = ?",
    name,
  );
  if (row === undefined) throw new RedriveError("job_not_found", `There is no job or queue ${name}.`);
  return row;
}

/** Rows are read as arrays, which cost half as much as objects, and by index, because destructuring costs as much again. */
type DueRow = readonly [
  ref: number,
  attempts: number,
  itemId: string,
  data: string,
  name: string | null,
  attemptsCounted: number,
  lostCount: number,
  revision: number,
  redrives: number,
  position: number,
  expiresAt: number | null,
  options: string | null,
];

const COLUMNS =
  "i.ref, i.attempts, i.item_id, p.data, p.name, i.attempts_counted, i.lost_count, i.revision, i.redrives, i.position, i.expires_at, p.options";

/** Items of an operation are not leased while it is paused or still selecting letters. */
const OPEN_OPERATION = "(SELECT no FROM operations WHERE id = ? AND status = 'open')";

/** Ready items of one priority that are not blocked by their ordering key. Uses the partial indexes of ready items. */
function inLine({ operationId }: LeaseRequest): string {
  const ready = "i.queue = ? AND i.priority = ? AND i.state = 'ready' AND i.waits = 0";
  return operationId === undefined ? ready : `i.operation = ${OPEN_OPERATION} AND ${ready}`;
}

function findDue({ session, now }: Leasing, queue: number, request: LeaseRequest, max: number): DueRow[] {
  // SQLite would plan a statement with a bare parameter as its limit again in each call.
  const sql = `SELECT ${COLUMNS} FROM items i JOIN payloads p ON p.ref = i.ref
                WHERE ${inLine(request)} AND i.due_at <= ? ORDER BY i.due_at, i.ref LIMIT ? + 0`;
  const found: DueRow[] = [];
  for (const priority of PRIORITIES) {
    if (found.length >= max) break;
    const values = [...operationOf(request), queue, rankOf(priority), now, max - found.length];
    found.push(...session.tuples<DueRow>(sql, ...values));
  }
  return found;
}

function nextDue({ session, now }: Leasing, queue: number, request: LeaseRequest): number | null {
  const sql = `SELECT min(i.due_at) AS due FROM items i WHERE ${inLine(request)} AND i.due_at > ?`;
  return PRIORITIES.map((priority) => {
    const values = [...operationOf(request), queue, rankOf(priority), now];
    return session.get<{ due: number | null }>(sql, ...values)?.due ?? null;
  }).reduce(earliest, null);
}

function operationOf({ operationId }: LeaseRequest): string[] {
  return operationId === undefined ? [] : [operationId];
}

function earliest(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** Starts the attempts. A running attempt is stored in the row of its item, before the worker sees it. */
function begin(
  { session, now, deltas, events }: Leasing,
  { holder, queue }: { readonly holder: number; readonly queue: number },
  rows: readonly DueRow[],
): void {
  session.run(
    `UPDATE items SET state = 'leased', holder = ?, started_at = ?, attempts = attempts + 1
      WHERE ref IN (SELECT value FROM json_each(?))`,
    holder,
    now,
    JSON.stringify(rows.map(([ref]) => ref)),
  );
  for (const [ref, attempts] of rows)
    events.add({ type: "attempt_started" }, { queue, ref, attempt: attempts + 1 });
  deltas.queue(queue, "ready", -rows.length);
  deltas.queue(queue, "leased", rows.length);
  deltas.queue(queue, "attempts", rows.length);
}

function keepRate({ session }: Leasing, queue: number, spentUntil: number): void {
  session.run("UPDATE queues SET spent_until = ? WHERE no = ?", spentUntil, queue);
}

function itemOf(row: DueRow, queue: string, startedAt: number): LeasedItem {
  const item = {
    ref: row[0],
    attempt: row[1] + 1,
    queue,
    itemId: row[2],
    data: parseJson(row[3]) as Json,
    attemptsCounted: row[5],
    lostCount: row[6],
    revision: row[7],
    redriveCount: row[8],
    index: row[9],
    startedAt,
  };
  const name = row[4];
  const expiresAt = row[10];
  const options = row[11];
  if (name === null && expiresAt === null && options === null) return item; // most items have none of these fields
  return {
    ...item,
    ...(name !== null && { name }),
    ...(expiresAt !== null && { expiresAt }),
    ...(options !== null && readOptions(options)),
  };
}

/** Returns the number of a holder; throws if it is no longer registered. */
function holderNo(session: Session, holderId: string): number {
  const sql = "SELECT no FROM holders WHERE id = ? AND gone = 0 AND expires_at > 0";
  const row = session.get<{ no: number }>(sql, holderId);
  if (row === undefined)
    throw new RedriveError("lease_lost", `The holder ${holderId} is no longer registered.`);
  return row.no;
}
