/**
 * The fast path for successes of items that are not letters and have no ordering key. One statement ends the
 * attempts, settles the items and records the events. The caller handles other settlements one by one.
 */

import type { Settlement } from "../../item/item.ts";
import { countersOf } from "../../item/settlement.ts";
import { stringifyJson } from "../../std/json.ts";
import { column } from "./arrays.ts";
import type { CounterDeltas } from "./counter-deltas.ts";
import { type EventRows, recordAll } from "./events.ts";
import { type Tx, timeIn } from "./session.ts";

/**
 * Whether the settlement does nothing but end the attempt. The caller checks that the item is not a letter and has no ordering
 * key.
 */
export function isPlainSuccess({ verdict, notes, mergedCommit, usage }: Settlement): boolean {
  return [notes, mergedCommit, usage].every((one) => one === undefined) && verdict.kind === "done";
}

/** Returns settlements whose leases were lost. Each lease may occur only once. May be called before BEGIN is answered. */
export async function settleSuccesses(
  tx: Tx,
  deltas: CounterDeltas,
  settlements: readonly Settlement[],
): Promise<Settlement[]> {
  if (settlements.length === 0) return [];
  const sums = await tx.all<{ queue: number; refs: number[] | null; count: number }>(
    SUCCEED,
    tx.timeIfKnown,
    ...successColumns(settlements),
  );
  const isWhole = sums.every(({ refs }) => refs === null) && sums.length > 0;
  const held = isWhole ? null : new Set(sums.flatMap(({ refs }) => refs ?? []));
  const isHeld = ({ lease }: Settlement) => held === null || held.has(lease.ref);
  for (const { queue, count } of sums) {
    deltas.queue(queue, "leased", -count);
    deltas.queue(queue, "done", count);
  }
  countAll(deltas, sums, settlements.filter(isHeld));
  return held === null ? [] : settlements.filter((settlement) => !isHeld(settlement));
}

interface SuccessParts {
  /** The parameter with the first of four columns: references, attempt numbers, logs and results. */
  readonly first: number;
  readonly at: string;
  /** Restricts the items `i`. */
  readonly condition: string;
}

/** Ends the attempts of the items. `settled` are those whose leases were not lost. */
export const successParts = ({ first, at, condition }: SuccessParts) => `
       settled AS (
         UPDATE items i SET state = 'done'
           FROM unnest(?${first}::bigint[], ?${first + 1}::integer[], ?${first + 2}::text[], ?${first + 3}::text[])
                WITH ORDINALITY AS g (ref, attempt, log, result, at)
          WHERE i.ref = g.ref AND i.attempts = g.attempt AND i.state = 'leased' ${condition}
         RETURNING i.ref, i.attempts, i.queue, i.holder, i.started_at, g.log, g.result, g.at),
       ended AS (
         INSERT INTO attempts (ref, number, holder, started_at, ended_at, outcome, log, result)
         SELECT ref, attempts, holder, started_at, ${at}, 'succeeded', log, result FROM settled)`;

/** The events of the settlements, after `successParts`. */
export const SUCCEEDED: EventRows = {
  type: "attempt_succeeded",
  relation: "(SELECT queue, ref, attempts AS attempt, at FROM settled)",
  order: "at",
};

/** The values of the four columns of `successParts`. */
export function successColumns(settlements: readonly Settlement[]) {
  return [
    settlements.map(({ lease }) => lease.ref),
    settlements.map(({ lease }) => lease.attempt),
    column(settlements, ({ log }) => log),
    column(settlements, ({ result }) => (result === undefined ? undefined : stringifyJson(result))),
  ] as const;
}

/** Returns the settled items only if some are missing or they belong to several queues. */
const SUCCEED = `
  WITH ${successParts({ first: 2, at: timeIn("?1"), condition: "" })},
       recorded AS (${recordAll(timeIn("?1"), SUCCEEDED)})
  SELECT queue, count(*) AS count,
         CASE WHEN count(*) < cardinality(?2::bigint[]) THEN array_agg(ref) END AS refs FROM settled GROUP BY queue`;

function countAll(
  deltas: CounterDeltas,
  sums: readonly { readonly queue: number; readonly refs: readonly number[] | null }[],
  settled: readonly Settlement[],
): void {
  const queueOf = new Map(
    sums.flatMap(({ queue, refs }) => (refs ?? []).map((ref) => [ref, queue] as const)),
  );
  const [only] = sums;
  for (const settlement of settled) {
    const queue = queueOf.get(settlement.lease.ref) ?? only?.queue;
    if (queue !== undefined) for (const name of countersOf(settlement, false)) deltas.counter(queue, name);
  }
}
