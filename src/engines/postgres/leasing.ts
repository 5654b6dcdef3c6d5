/**
 * Leases items by priority, due time and age. One statement locks rows of `ready_items`, skips those locked by others,
 * deletes them and starts the attempts. Pause, rate and breaker are checked in the same transaction.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { allow, spend } from "../../item/rate.ts";
import { gateName } from "../../item/store-queries.ts";
import { assert } from "../../std/assert.ts";
import { type JsonObject, parseJson } from "../../std/json.ts";
import { noQueue } from "../sql/jobs.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { recordAll } from "./events.ts";
import { gatherLeases, holderGone } from "./lease.ts";
import {
  comingIn,
  itemOf,
  kindOf,
  leaseParts,
  ofOperation,
  RANKS,
  STARTED,
  TAKEN_COLUMNS,
  type TakenRow,
} from "./lease-sql.ts";
import { leaseOrdered } from "./ordering-keys.ts";
import type { KnownLessee, PlainLeases } from "./plain-leases.ts";
import { type Tx, timeIn } from "./session.ts";

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

/** Evaluated once: the queue is not paused, and its breaker has the version that was read. */
const IS_OPEN = `(SELECT j.paused_at IS NULL AND (?5::bigint IS NULL OR coalesce(d.version, 0) = ?5::bigint)
  FROM queues q LEFT JOIN jobs j ON j.id = q.name LEFT JOIN documents d ON d.name = '${gateName("")}' || q.name
 WHERE q.no = ?1::bigint)`;

/** A revoked holder leases nothing. Once items are found, the holder's row stays locked until the transaction ends. */
const IS_HERE =
  "(SELECT true FROM holders WHERE no = ?4::bigint AND gone = 0 AND expires_at > 0 FOR KEY SHARE)";

const leaseSql = (condition: string) => `
  WITH ${leaseParts({ isOpen: IS_OPEN, isHere: IS_HERE, turn: "NULL::bigint", condition })},
       recorded AS (${recordAll(timeIn("?2"), STARTED)})
  SELECT ${TAKEN_COLUMNS} FROM moved m JOIN payloads p ON p.ref = m.ref ORDER BY m.priority, m.due_at, m.ref`;

const LEASE = leaseSql("");
const LEASE_OF_OPERATION = leaseSql(ofOperation("?6"));

interface Taking {
  readonly lessee: KnownLessee;
  readonly request: LeaseRequest;
  readonly max: number;
  readonly seen: number | null;
}

async function takeDue(tx: Tx, { lessee, request, max, seen }: Taking): Promise<TakenRow[]> {
  if (max === 0) return [];
  const values = [lessee.queue, tx.timeIfKnown, max, lessee.holder, seen];
  const { operationId } = request;
  return operationId === undefined
    ? tx.tuples<TakenRow>(LEASE, ...values)
    : tx.tuples<TakenRow>(LEASE_OF_OPERATION, ...values, operationId);
}

async function begin(
  { tx, deltas, plain }: Pick<Leasing, "tx" | "deltas" | "plain">,
  lessee: KnownLessee,
  rows: readonly TakenRow[],
): Promise<void> {
  const { holder, queue } = lessee;
  deltas.queue(queue, "ready", -rows.length);
  deltas.queue(queue, "leased", rows.length);
  deltas.queue(queue, "attempts", rows.length);
  await leaseOrdered(tx, noteLeases(plain, lessee, rows));
  if (!plain.isTimeToGather(holder)) return;
  plain.countGathered(holder);
  tx.part(gatherLeases(tx, holder));
}

/** Records which leases are plain. Returns the items with an ordering key. */
export function noteLeases(
  plain: PlainLeases,
  { holder, queue }: KnownLessee,
  rows: readonly TakenRow[],
): number[] {
  const ordered: number[] = [];
  if (rows.length > 0) plain.countGiven(holder);
  for (const row of rows) {
    const [ref, attempt] = row;
    const { isOrdered, isPlain } = kindOf(row);
    plain.note({ ref, attempt, queue }, isPlain);
    if (isOrdered) ordered.push(ref);
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
