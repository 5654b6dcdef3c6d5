/**
 * Leases items by priority, due time and age. One statement locks rows of `ready_items`, skips those locked by others,
 * deletes them and starts the attempts. Pause, rate and breaker are checked in the same transaction.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import type { LeasedItem } from "../../item/item.ts";
import { PRIORITIES } from "../../item/item.ts";
import { readOptions } from "../../item/item-options.ts";
import { allow, spend } from "../../item/rate.ts";
import { gateName } from "../../item/store-queries.ts";
import { assert } from "../../std/assert.ts";
import { type Json, type JsonObject, parseJson } from "../../std/json.ts";
import { noQueue } from "../sql/jobs.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { recordAll } from "./events.ts";
import { gatherLeases, holderGone } from "./lease.ts";
import { leaseOrdered } from "./ordering-keys.ts";
import type { KnownLessee, PlainLeases } from "./plain-leases.ts";
import { type Tx, timeIn } from "./session.ts";
import { EVENTS_LOCKED } from "./tx.ts";

type LeaseRequest = NonNullable<SettleAndLease["lease"]>;
type Leased = Pick<SettleAndLeaseResult, "leased" | "nextDueAt" | "isPaused">;

export const NOTHING: Leased = { leased: [], nextDueAt: null, isPaused: false };

/** The holder and the queue of a lease request, as read from the store. */
export interface Lessee extends KnownLessee {
  readonly spentUntil: number;
  readonly isPaused: boolean;
  readonly gate: SettleAndLeaseResult["gate"];
  /** When the next ready item becomes due; null if no item is waiting. */
  readonly coming: number | null;
  /** When the row was read. */
  readonly now: number;
}

/** The context of the lease statement. */
interface Leasing {
  readonly tx: Tx;
  readonly deltas: CounterDeltas;
  readonly plain: PlainLeases;
  /** When the next item becomes due, if a statement that was already sent determines it. */
  readonly coming?: Promise<number | null> | undefined;
  /**
   * Whether the statement will probably lease fewer items than wanted, so that the next due time is queried
   * immediately.
   */
  readonly expectsFew: boolean;
  /** The version that the breaker must still have; null if it is known to be current. */
  readonly seen: number | null;
}

interface LesseeRow {
  readonly no: number;
  readonly used_until: number;
  readonly paused: number | null;
  readonly holder: number | null;
  readonly version: number | null;
  readonly body: string | null;
  readonly coming: number | null;
  readonly now: number;
}

/** Items of an operation are not leased while it is paused or still selecting letters. */
const ofOperation = (parameter: string) =>
  `AND l.operation = (SELECT no FROM operations WHERE id = ${parameter} AND status = 'open')`;

/** Ready items are ordered by priority first. */
const RANKS = `(VALUES ${PRIORITIES.map((_, rank) => `(${rank})`).join(", ")}) AS p (rank)`;

/** The due time of the first item of each priority that is not due yet. */
const comingIn = (queue: string, time: string, condition: string) => `(
  SELECT l.due_at FROM ready_items l WHERE l.queue = ${queue} AND l.priority = p.rank AND l.due_at > ${timeIn(time)} ${condition}
   ORDER BY l.due_at LIMIT 1)`;

/** Throws `lease_lost` for an unknown holder. Locks a queue with a rate limit, because all workers share the rate. */
export async function findLessee(
  tx: Tx,
  holderId: string | null,
  { queue, rate, operationId }: LeaseRequest,
): Promise<Lessee> {
  assert(holderId !== null, "a lease needs a holder");
  const condition = operationId === undefined ? "" : ofOperation("?5");
  const row = await tx.get<LesseeRow>(
    `SELECT q.no, q.spent_until AS used_until, j.paused_at AS paused, d.version, d.body, ${timeIn("?4")} AS now,
            (SELECT h.no FROM holders h WHERE h.id = ?1 AND h.gone = 0 AND h.expires_at > 0) AS holder,
            (SELECT min(${comingIn("q.no", "?4", condition)}) FROM ${RANKS}) AS coming
       FROM queues q LEFT JOIN jobs j ON j.id = q.name LEFT JOIN documents d ON d.name = ?2
      WHERE q.name = ?3 ${rate ? "FOR NO KEY UPDATE OF q" : ""}`,
    ...[holderId, gateName(queue), queue, tx.timeIfKnown],
    ...(operationId === undefined ? [] : [operationId]),
  );
  if (row !== undefined && row.holder === null) throw holderGone(holderId);
  if (row === undefined || row.holder === null) throw noQueue(queue);
  const { no, used_until, paused, holder, version, body, coming, now } = row;
  const gate = version === null || body === null ? null : { version, body: parseJson(body) as JsonObject };
  return {
    holderId,
    holder,
    queue: no,
    spentUntil: used_until,
    isPaused: paused !== null,
    gate,
    coming,
    now,
  };
}

/**
 * Leases in one round trip without a transaction, for a step that only leases and has no rate. If the answer is lost, the
 * leases are found by the number of the step.
 */
export async function leaseAutocommit(
  { tx, plain, seen }: Pick<Leasing, "tx" | "plain" | "seen">,
  lessee: KnownLessee,
  { request, turn }: { readonly request: LeaseRequest; readonly turn: number },
): Promise<Leased & { readonly lessee: Lessee }> {
  const { max } = request;
  const [rows, found] = await Promise.all([
    takeDue(tx, { lessee, request, max, seen, turn }),
    findLessee(tx, lessee.holderId, request),
  ]);
  note(plain, lessee.holder, rows);
  const leased = rows.map((row) => itemOf(row, request.queue));
  const isPaused = found.isPaused && leased.length === 0;
  return { lessee: found, leased, nextDueAt: leased.length === max ? null : found.coming, isPaused };
}

/** May be called before BEGIN is answered, unless there is a rate. */
export async function leaseDue(
  { tx, deltas, plain, coming, expectsFew, seen }: Leasing,
  lessee: KnownLessee & Partial<Lessee>,
  request: LeaseRequest,
): Promise<Leased> {
  if (lessee.isPaused) return { ...NOTHING, isPaused: true };
  const { rate, max } = request;
  const spentUntil = lessee.spentUntil ?? 0;
  const allowed = rate ? allow(spentUntil, tx.now, rate, max) : { granted: max, nextAt: null };
  const asked = { lessee, request, rateAt: allowed.nextAt };
  const [rows, , soon] = await Promise.all([
    takeDue(tx, { lessee, request, max: allowed.granted, seen }),
    tx.number(),
    coming ?? (expectsFew ? nextDue(tx, asked) : undefined),
    tx.begun(),
  ]);
  if (rows.length > 0) await begin({ tx, deltas, plain }, lessee, rows);
  if (rate && rows.length > 0) {
    const usedUntil = spend(spentUntil, tx.now, rate, rows.length);
    await tx.run("UPDATE queues SET spent_until = ? WHERE no = ?", usedUntil, lessee.queue);
  }
  const nextDueAt = rows.length === max ? null : soon === undefined ? await nextDue(tx, asked) : soon;
  return { leased: rows.map((row) => itemOf(row, request.queue)), nextDueAt, isPaused: false };
}

/**
 * The last column is null unless one of its fields differs from its default, which makes most rows much
 * smaller.
 */
type TakenRow = readonly [
  ref: number,
  attempts: number,
  position: number,
  itemId: string,
  data: string,
  startedAt: number,
  rare: string | null,
];

type Rare = [
  attemptsCounted: number,
  lostCount: number,
  revision: number,
  redrives: number,
  expiresAt: number | null,
  name: string | null,
  ordering_key: string | null,
  options: string | null,
];

const USUAL: Rare = [0, 0, 1, 0, null, null, null, null];

const RARE = `CASE WHEN m.attempts_counted > 0 OR m.lost_count > 0 OR m.revision > 1 OR m.redrives > 0 OR m.expires_at IS NOT NULL
    OR m.ordering_key IS NOT NULL OR p.name IS NOT NULL OR p.options IS NOT NULL
  THEN json_build_array(m.attempts_counted, m.lost_count, m.revision, m.redrives, m.expires_at, p.name, m.ordering_key, p.options)::text END`;

/** Runs thousands of times a second: one object literal is ten times faster than spreads. */
function itemOf(row: TakenRow, queue: string): LeasedItem {
  const [ref, attempt, index, itemId, text, startedAt, rare] = row;
  const usual = {
    ref,
    attempt,
    queue,
    itemId,
    data: parseJson(text) as Json,
    index,
    startedAt,
    attemptsCounted: 0,
    lostCount: 0,
    revision: 1,
    redriveCount: 0,
  };
  if (rare === null) return usual;
  const [attemptsCounted, lostCount, revision, redriveCount, expiresAt, name, , options] = JSON.parse(
    rare,
  ) as Rare;
  return {
    ...usual,
    ...{ attemptsCounted, lostCount, revision, redriveCount },
    ...(name !== null && { name }),
    ...(options !== null && readOptions(options)),
    ...(expiresAt !== null && { expiresAt }),
  };
}

/** Evaluated once: the queue is not paused, and its breaker has the version that was read. */
const IS_OPEN = `(SELECT j.paused_at IS NULL AND (?5::bigint IS NULL OR coalesce(d.version, 0) = ?5::bigint)
  FROM queues q LEFT JOIN jobs j ON j.id = q.name LEFT JOIN documents d ON d.name = '${gateName("")}' || q.name
 WHERE q.no = ?1::bigint)`;

/** Reads one priority after another, and locks no more rows than are leased. */
const dueRows = (condition: string) => `
  ${RANKS} CROSS JOIN LATERAL
     (SELECT l.ctid AS row_id FROM ready_items l
       WHERE ${IS_OPEN} AND l.queue = ?1::bigint AND l.priority = p.rank AND l.due_at <= ${timeIn("?2")} ${condition}
       ORDER BY l.due_at, l.ref LIMIT ?3::bigint FOR UPDATE SKIP LOCKED) d`;

/**
 * A revoked holder leases nothing, and neither does a step with an old number. Once items are found, the
 * holder's row stays locked until the transaction ends.
 */
const IS_HERE =
  "(SELECT true FROM holders WHERE no = ?4::bigint AND gone = 0 AND expires_at > 0 AND turn <= coalesce(?6::bigint, turn) FOR KEY SHARE)";

/** A step without a transaction has a number and a shard: the statement updates counters and ordering keys itself. */
const leaseSql = (condition: string) => `
  WITH found AS MATERIALIZED (
         SELECT ARRAY(SELECT d.row_id FROM ${dueRows(condition)} LIMIT ?3::bigint) AS row_ids),
       taken AS (
         DELETE FROM ready_items WHERE ctid = ANY (
           (SELECT CASE WHEN cardinality(row_ids) > 0 THEN CASE WHEN ${IS_HERE} AND ${EVENTS_LOCKED} THEN row_ids END END FROM found)::tid[])
         RETURNING ref),
       moved AS (
         UPDATE items i SET state = 'leased', holder = ?4::bigint, started_at = ${timeIn("?2")}, attempts = i.attempts + 1
           FROM taken t WHERE i.ref = t.ref
         RETURNING i.ref, i.item_id, i.attempts, i.attempts_counted, i.lost_count, i.revision, i.redrives, i.position, i.expires_at,
                   i.started_at, i.ordering_key, i.priority, i.due_at),
       given AS (
         INSERT INTO leases (holder, refs, exchange)
         SELECT ?4::bigint, array_agg(ref), ?6::bigint FROM taken HAVING count(*) > 0),
       counted AS (
         INSERT INTO queue_counts (shard, queue, ready, leased, attempts)
         SELECT ?7::integer, ?1::bigint, -count(*), count(*), count(*) FROM taken
         HAVING count(*) > 0 AND ?7::integer IS NOT NULL
         ON CONFLICT (queue, shard) DO UPDATE SET ready = queue_counts.ready + excluded.ready,
            leased = queue_counts.leased + excluded.leased, attempts = queue_counts.attempts + excluded.attempts),
       ordered AS (
         UPDATE ordered_items l SET leased = 1 FROM moved m
          WHERE ?7::integer IS NOT NULL AND m.ordering_key IS NOT NULL AND l.queue = ?1::bigint AND l.ordering_key = m.ordering_key AND l.ref = m.ref),
       recorded AS (${recordAll("attempt_started", {
         relation: "(SELECT ?1::bigint AS queue, ref, attempts AS attempt, priority, due_at FROM moved)",
         order: "priority, due_at, ref",
         at: timeIn("?2"),
       })})
  SELECT m.ref, m.attempts, m.position, m.item_id, p.data, m.started_at, ${RARE}
    FROM moved m JOIN payloads p ON p.ref = m.ref ORDER BY m.priority, m.due_at, m.ref`;

const LEASE = leaseSql("");
const LEASE_OF_OPERATION = leaseSql(ofOperation("?8"));

interface Taking {
  readonly lessee: KnownLessee;
  readonly request: LeaseRequest;
  readonly max: number;
  readonly seen: number | null;
  /** The number of a step that is sent without a transaction. */
  readonly turn?: number;
}

async function takeDue(tx: Tx, { lessee, request, max, seen, turn }: Taking): Promise<TakenRow[]> {
  if (max === 0) return [];
  const atOnce = turn === undefined ? [null, null] : [turn, tx.shard];
  const values = [lessee.queue, tx.timeIfKnown, max, lessee.holder, seen, ...atOnce];
  const { operationId } = request;
  return operationId === undefined
    ? tx.tuples<TakenRow>(LEASE, ...values)
    : tx.tuples<TakenRow>(LEASE_OF_OPERATION, ...values, operationId);
}

async function begin(
  { tx, deltas, plain }: Pick<Leasing, "tx" | "deltas" | "plain">,
  { holder, queue }: KnownLessee,
  rows: readonly TakenRow[],
): Promise<void> {
  deltas.queue(queue, "ready", -rows.length);
  deltas.queue(queue, "leased", rows.length);
  deltas.queue(queue, "attempts", rows.length);
  await leaseOrdered(tx, note(plain, holder, rows));
  if (!plain.isTimeToGather(holder)) return;
  plain.countGathered(holder);
  tx.part(gatherLeases(tx, holder));
}

/** Records which leases are plain. Returns the items with an ordering key. */
function note(plain: PlainLeases, holder: number, rows: readonly TakenRow[]): number[] {
  const ordered: number[] = [];
  if (rows.length > 0) plain.countGiven(holder);
  for (const [ref, attempt, , , , , rare] of rows) {
    const [, , , redrives, , , ordering_key] = rare === null ? USUAL : (JSON.parse(rare) as Rare);
    plain.note(ref, attempt, redrives === 0 && ordering_key === null);
    if (ordering_key !== null) ordered.push(ref);
  }
  return ordered;
}

/** When the next item becomes due, or when the rate allows one that is already due. */
async function nextDue(
  tx: Tx,
  asked: { readonly lessee: KnownLessee; readonly request: LeaseRequest; readonly rateAt: number | null },
): Promise<number | null> {
  const { lessee, request, rateAt } = asked;
  const { operationId } = request;
  const condition = operationId === undefined ? "" : ofOperation("?3");
  const row = await tx.get<{ coming: number | null; is_due: boolean }>(
    `SELECT min(${comingIn("?1", "?2", condition)}) AS coming,
            bool_or(EXISTS (SELECT 1 FROM ready_items l WHERE l.queue = ?1 AND l.priority = p.rank ${condition}
                               AND l.due_at <= ${timeIn("?2")})) AS is_due
       FROM ${RANKS}`,
    ...[lessee.queue, tx.timeIfKnown, ...(operationId === undefined ? [] : [operationId])],
  );
  const coming = row?.coming ?? null;
  const allowed = row?.is_due ? rateAt : null;
  if (coming === null || allowed === null) return coming ?? allowed;
  return Math.min(coming, allowed);
}
