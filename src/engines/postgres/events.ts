/**
 * Appends events in the transaction of their change, and reads them in order by cursor. Ids are drawn before
 * a transaction commits, and transactions commit in any order. So each writer holds an advisory lock that
 * contains the lowest id it may still use (`takesEventsLock` in tx.ts), and readers stop below the lowest
 * such lock. A cursor therefore never skips an event.
 */

import type { EventQuery } from "../../engine.ts";
import type { Event, EventType } from "../../item/event.ts";
import { type EventRun, RUN_MAX } from "../../item/event.ts";
import { isCounted } from "../../item/settlement.ts";
import { stringifyJson } from "../../std/json.ts";
import { type EventLog, eventOf } from "../sql/events.ts";
import type { Scalar } from "./arrays.ts";
import { countUp } from "./counter-deltas.ts";
import type { Session } from "./session.ts";
import { eventsLock, type Tx } from "./tx.ts";

/** Writes the events collected so far. Events added later need another call. */
export async function writeEvents(tx: Tx, log: EventLog): Promise<void> {
  const runs = log.take();
  if (runs.length === 0) return;
  const counted = runs.filter(({ type }) => isCounted(type));
  const column = <T extends Scalar>(of: (run: EventRun) => T | undefined) =>
    runs.map((run) => of(run) ?? null);
  await Promise.all([
    tx.run(
      WRITE,
      log.at,
      column(({ type }) => type),
      column(({ queue }) => queue ?? 0),
      column(({ refs }) => (refs.length === 1 ? refs[0] : undefined)),
      column(({ attempt }) => attempt),
      column(({ refs }) => Math.max(1, refs.length)),
      column(({ data }) => (data === undefined ? undefined : stringifyJson(data))),
      column(({ refs }) => (refs.length > 1 ? `{${refs.join(",")}}` : undefined)),
    ),
    countUp(
      tx,
      counted.map(({ type, queue = 0, refs }) => ({ queue, name: type, by: Math.max(1, refs.length) })),
    ),
  ]);
}

/** The refs of a run are passed as text, because the elements of a nested array must have the same length. */
const WRITE = `
  INSERT INTO events (id, at, type, queue, ref, attempt, span, data, refs)
  SELECT nextval('event_ids') + span - 1, ?::bigint, type, queue, ref, attempt, span, data, run::bigint[]
    FROM unnest(?::text[], ?::bigint[], ?::bigint[], ?::integer[], ?::integer[], ?::text[], ?::text[])
         AS e (type, queue, ref, attempt, span, data, run)`;

/** Events of one type: their items as a relation (queue, ref, attempt), and their order. */
export interface EventRows {
  readonly type: EventType;
  readonly relation: string;
  readonly order: string;
}

/**
 * A statement that records the same event for all items, type by type: as runs if they have the same queue and attempt
 * number, else as rows.
 */
export function recordAll(at: string, ...types: readonly EventRows[]): string {
  const isMixed = "min(queue) < max(queue) OR min(attempt) < max(attempt)";
  const runs = types.map(
    (rows) => `${runsIn(rows, `HAVING count(*) > 0 AND (${isMixed}) IS NOT TRUE`)}
      UNION ALL
     (SELECT '${rows.type}', queue, attempt, ARRAY[ref] FROM ${rows.relation} e
       WHERE (SELECT ${isMixed} FROM ${rows.relation} e) ORDER BY ${rows.order})`,
  );
  return insertRuns(at, runs.join("\n      UNION ALL\n     "));
}

/** Like `recordAll`, for items that are known to have the same queue and attempt number. */
export function recordAlike(at: string, rows: EventRows): string {
  return insertRuns(at, runsIn(rows, "HAVING count(*) > 0"));
}

function insertRuns(at: string, runs: string): string {
  return `
    INSERT INTO events (id, at, type, queue, attempt, span, ref, refs)
    SELECT nextval('event_ids') + span - 1, ${at}, type, queue, attempt, span,
           CASE WHEN span = 1 THEN refs[1] END, CASE WHEN span > 1 THEN refs END
      FROM (SELECT r.*, cardinality(refs) AS span FROM (${runs}) r) r`;
}

function runsIn({ type, relation, order }: EventRows, having: string): string {
  return `SELECT '${type}' AS type, queue, attempt, refs[part * ${RUN_MAX} + 1 : (part + 1) * ${RUN_MAX}] AS refs
      FROM (SELECT min(queue) AS queue, min(attempt) AS attempt, array_agg(ref ORDER BY ${order}) AS refs FROM ${relation} e ${having}) alike
           CROSS JOIN LATERAL generate_series(0, (cardinality(refs) - 1) / ${RUN_MAX}) AS part`;
}

/** Events without a queue have the queue number 0. */
const EVERY_QUEUE = "(SELECT 0 AS no UNION ALL SELECT no FROM queues)";

/**
 * If no queue is given, reads up to the limit from each queue with the index (queue, id). Expands only the
 * runs that the page needs; the cursor may point into the middle of the first run.
 */
export async function listEvents(session: Session, query: EventQuery): Promise<Event[]> {
  const { queue, through = Number.MAX_SAFE_INTEGER } = query;
  const queues = queue === undefined ? EVERY_QUEUE : "(SELECT no FROM queues WHERE name = ?7)";
  return afterHorizon(session, async (tx, horizon) => {
    const rows = await tx.all<object>(
      `SELECT one.id, e.at, e.type, n.name AS queue, i.item_id, e.attempt, e.data
         FROM (SELECT e.*, sum(span) OVER (ORDER BY e.id) - span AS before
                 FROM (SELECT e.* FROM ${queues} q CROSS JOIN LATERAL
                         (SELECT * FROM events WHERE queue = q.no AND id > ?1 AND id <= ?2 AND id < ?6::bigint + ${RUN_MAX} AND at >= ?3
                             AND (?4::text[] IS NULL OR type = ANY (?4::text[]))
                           ORDER BY id LIMIT ?5) e
                        ORDER BY e.id LIMIT ?5) e) e
              CROSS JOIN LATERAL (SELECT e.id - e.span + r.position AS id, r.ref
                FROM unnest(coalesce(e.refs, ARRAY[e.ref])) WITH ORDINALITY AS r (ref, position)) one
              LEFT JOIN queues n ON n.no = e.queue LEFT JOIN items i ON i.ref = one.ref
        WHERE e.before < ?5 + ${RUN_MAX} AND one.id > ?1 AND one.id <= ?6::bigint
        ORDER BY one.id LIMIT ?5`,
      ...[query.after, horizon, query.since ?? 0, query.types ?? null, query.limit, through],
      ...(queue === undefined ? [] : [queue]),
    );
    return rows.map(eventOf);
  });
}

/** Reads only the last index entry of each queue. */
export async function newestEvent(session: Session): Promise<number> {
  return afterHorizon(session, async (tx, horizon) => {
    const row = await tx.get<{ id: number | null }>(
      `SELECT max(e.id) AS id FROM ${EVERY_QUEUE} q CROSS JOIN LATERAL
              (SELECT id FROM events WHERE queue = q.no AND id <= ? ORDER BY id DESC LIMIT 1) e`,
      horizon,
    );
    return row?.id ?? 0;
  });
}

/**
 * Open transactions hide newer events. They are short, so readers wait for them; this ensures that a caller
 * finds its own recent events.
 */
const HORIZON_TRIES = 10;
const HORIZON_PAUSE_MS = 4;

/** Calls `read` with the highest id up to which no open transaction can still add events. */
async function afterHorizon<T>(session: Session, read: (tx: Tx, horizon: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const answer = await session.readCommitted(async (tx) => {
      const { newest, horizon } = await horizonOf(tx);
      return horizon < newest && tries < HORIZON_TRIES ? null : { read: await read(tx, horizon) };
    });
    if (answer !== null) return answer.read;
    await new Promise((resolve) => setTimeout(resolve, HORIZON_PAUSE_MS));
  }
}

/** Reads the newest id before the locks: a transaction that drew an id up to it still holds its lock or has ended. */
async function horizonOf(tx: Tx): Promise<{ newest: number; horizon: number }> {
  const [newest, oldest] = await Promise.all([
    tx.get<{ id: number }>(
      `SELECT CASE WHEN is_called THEN last_value + ${RUN_MAX} - 1 ELSE 0 END AS id FROM event_ids`,
    ),
    tx.get<{ id: number | null }>(
      `SELECT min(objid::bigint) << 16 AS id FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 2 AND classid = (hashtext(?)::bigint & 4294967295)::oid
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      eventsLock(tx.schema),
    ),
  ]);
  const last = newest?.id ?? 0;
  return { newest: last, horizon: Math.min(last, oldest?.id ?? last) };
}
