/**
 * The runner's usual step as one statement that is its own transaction, in one round trip: it settles plain successes and leases
 * due items. If the answer is lost, in-doubt.ts finds the settlements by their attempts and the leases by the number of the step.
 */
import type { SettleAndLease, SettleAndLeaseResult } from "../../engine.ts";
import { gateName } from "../../item/store-queries.ts";
import { type JsonObject, parseJson } from "../../std/json.ts";
import { noQueue } from "../sql/jobs.ts";
import { recordAll } from "./events.ts";
import { holderGone } from "./lease.ts";
import {
  comingIn,
  itemOf,
  leaseParts,
  ofOperation,
  RANKS,
  STARTED,
  TAKEN_COLUMNS,
  type TakenRow,
} from "./lease-sql.ts";
import { noteLeases } from "./leasing.ts";
import type { KnownLessee, PlainLeases } from "./plain-leases.ts";
import { type Tx, timeIn } from "./session.ts";
import { answerOf, isQuick, type QuickStep } from "./settle-and-lease.ts";
import { SUCCEEDED, successColumns, successParts } from "./successes.ts";
import { EVENTS_LOCKED } from "./tx.ts";

/** Larger steps are rare, and their answers would repeat the state of the queue in each row. */
const SETTLED_MAX = 100;

/** A step that can be one statement, and the holder that it is for. */
export interface AutocommitStep {
  readonly lessee: KnownLessee;
  readonly request: QuickStep;
}

/** Returns undefined if the step needs a transaction, or the holder is not known yet. */
export function autocommitStepOf(
  holderId: string | null,
  request: SettleAndLease,
  plain: PlainLeases,
): AutocommitStep | undefined {
  if (!isQuick(request, plain) || request.lease.rate !== undefined) return undefined;
  const { settle, lease } = request;
  const lessee = plain.lesseeOf(holderId, lease.queue);
  if (lessee === undefined || plain.isTimeToGather(lessee.holder)) return undefined;
  const isSmall = settle.length <= SETTLED_MAX && lease.max <= SETTLED_MAX;
  const isCountedAlike = settle.every(({ counts }) => counts === undefined);
  return isSmall && isCountedAlike && plain.has(settle, lessee.queue) ? { lessee, request } : undefined;
}

/** The state of the holder and the queue, the same in each row. */
type StateColumns = readonly [
  holder: number | null,
  settled: number,
  pausedAt: number | null,
  version: number | null,
  body: string | null,
  coming: number | null,
  now: number,
];
/** The columns of the item are null if none was leased. */
type StepRow = readonly [...StateColumns, ...Partial<TakenRow>];

/**
 * Runs in `Session.writeAutocommit`. `turn` identifies the step of the holder. Returns null if some of the settlements had lost
 * their leases; the caller then resolves the step like one without an answer.
 */
export async function stepAutocommit(
  tx: Tx,
  { lessee, request }: AutocommitStep,
  { plain, turn }: { readonly plain: PlainLeases; readonly turn: number },
): Promise<SettleAndLeaseResult | null> {
  const { settle, lease, gate: asked } = request;
  const { operationId } = lease;
  const rows = await tx.tuples<StepRow>(
    operationId === undefined ? STEP : STEP_OF_OPERATION,
    ...[lessee.queue, tx.timeIfKnown, lease.max, lessee.holder, asked?.seen ?? null, turn, tx.shard],
    ...successColumns(settle),
    ...(operationId === undefined ? [] : [operationId]),
  );
  const [first] = rows;
  if (first === undefined) throw noQueue(lease.queue);
  const [holder, settled, pausedAt, version, body, coming, now] = first;
  if (holder === null) throw holderGone(lessee.holderId);
  const taken = rows.flatMap(takenIn);
  noteLeases(plain, lessee, taken);
  if (settled < settle.length) return null;
  const gate = version === null || body === null ? null : { version, body: parseJson(body) as JsonObject };
  const leased = taken.map((row) => itemOf(row, lease.queue));
  const nextDueAt = leased.length === lease.max ? null : coming;
  return answerOf({ leased, nextDueAt }, { asked, found: { gate, isPaused: pausedAt !== null }, now });
}

function takenIn([, , , , , , , ...item]: StepRow): readonly TakenRow[] {
  return item[0] === null ? [] : [item as unknown as TakenRow];
}

/**
 * The holder, whose row stays locked: a revoked one settles and leases nothing, and neither does a step with an old number. Read
 * only if there is something to settle or to lease, so that polling writes nothing.
 */
const LESSEE = `
  SELECT true FROM holders
   WHERE no = ?4::bigint AND gone = 0 AND expires_at > 0 AND turn <= ?6::bigint AND ${EVENTS_LOCKED} FOR KEY SHARE`;
const IS_HERE = "(SELECT true FROM lessee)";

const GATE = `
  SELECT j.paused_at, d.version, d.body,
         j.paused_at IS NULL AND (?5::bigint IS NULL OR coalesce(d.version, 0) = ?5::bigint) AS is_open
    FROM queues q LEFT JOIN jobs j ON j.id = q.name LEFT JOIN documents d ON d.name = '${gateName("")}' || q.name
   WHERE q.no = ?1::bigint`;

/** The counters are written in the order of transactions that write both, so that the two cannot deadlock. */
const COUNTED = `
       counted AS (
         INSERT INTO queue_counts (shard, queue, ready, leased, done, attempts)
         SELECT ?7::integer, ?1::bigint, -started, started - ended, ended, started
           FROM (SELECT (SELECT count(*) FROM taken) AS started, (SELECT count(*) FROM settled) AS ended) n
          WHERE started + ended > 0
         ON CONFLICT (queue, shard) DO UPDATE SET ready = queue_counts.ready + excluded.ready,
            leased = queue_counts.leased + excluded.leased, done = queue_counts.done + excluded.done,
            attempts = queue_counts.attempts + excluded.attempts
         RETURNING 1),
       tallied AS (
         INSERT INTO counters (queue, name, shard, value)
         SELECT ?1::bigint, 'attempts.succeeded', ?7::integer, count(*) FROM settled
         HAVING count(*) > 0 AND (SELECT count(*) FROM counted) > 0
         ON CONFLICT (queue, name, shard) DO UPDATE SET value = counters.value + excluded.value)`;

const stepSql = (condition: string) => `
  WITH lessee AS MATERIALIZED (${LESSEE}),
       gate AS MATERIALIZED (${GATE}),${successParts({
         first: 8,
         at: timeIn("?2"),
         condition: `AND CASE WHEN cardinality(?8::bigint[]) > 0 THEN ${IS_HERE} END`,
       })},${leaseParts({ isOpen: "(SELECT is_open FROM gate)", isHere: IS_HERE, turn: "?6::bigint", condition })},${COUNTED},
       ordered AS (
         UPDATE ordered_items l SET leased = 1 FROM moved m
          WHERE m.ordering_key IS NOT NULL AND l.queue = ?1::bigint AND l.ordering_key = m.ordering_key AND l.ref = m.ref),
       recorded AS (${recordAll(timeIn("?2"), SUCCEEDED, STARTED)})
  SELECT (SELECT no FROM holders WHERE no = ?4::bigint AND gone = 0 AND expires_at > 0), (SELECT count(*) FROM settled),
         g.paused_at, g.version, g.body,
         CASE WHEN (SELECT count(*) FROM moved) < ?3::bigint
              THEN (SELECT min(${comingIn("?1::bigint", "?2", condition)}) FROM ${RANKS}) END,
         ${timeIn("?2")}, ${TAKEN_COLUMNS}
    FROM gate g LEFT JOIN (moved m JOIN payloads p ON p.ref = m.ref) ON true
   ORDER BY m.priority, m.due_at, m.ref`;

const STEP = stepSql("");
const STEP_OF_OPERATION = stepSql(ofOperation("?12"));
