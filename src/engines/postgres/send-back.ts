/**
 * Redrives many letters with one statement: it checks the next letters of the selection, makes their items
 * ready, inserts them into `ready_items`, and returns only sums. It finds each letter by index, regardless of
 * the size of the store.
 */

import { rankOf } from "../../item/item.ts";
import { REFUSAL } from "../../item/operation.ts";
import type { Work, Worked } from "../sql/advance.ts";
import type { Refused } from "../sql/judge.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
import type { Tx } from "./session.ts";

interface Sum {
  readonly grp: number | null;
  readonly refusal: "gone" | "ineligible" | null;
  readonly count: number;
  /** The numbers of the refused letters. */
  readonly numbers: readonly number[] | null;
  /** The ordering keys of all redriven items. */
  readonly keys: readonly string[] | null;
  readonly last: number;
}

/**
 * The retry policy counts attempts from 0 again. The history is kept, and the letter remains until its item
 * is done.
 */
export async function sendBack(tx: Tx, { operation, step, deltas }: Work): Promise<Worked> {
  const { no, nextNo: worked, force, queueNo: queue } = operation;
  const due = tx.now + (step.due?.delayMs ?? 0);
  const wanted = [no, worked, step.max ?? 0, Number(force), due, step.due?.sinceBurialMs ?? []];
  const priority = step.priority === undefined ? null : rankOf(step.priority);
  const sums = await tx.all<Sum>(SEND_BACK, ...wanted, priority);
  const sent = sums.filter(({ refusal }) => refusal === null);
  const done = sent.reduce((sum, { count }) => sum + count, 0);
  for (const { grp, count } of sent) deltas.group(grp ?? 0, "in_retry", count);
  deltas.queue(queue, "dead", -done);
  deltas.queue(queue, "ready", done);
  await alignOrderingKeys(
    tx,
    (sums[0]?.keys ?? []).map((ordering_key) => ({ queue, ordering_key })),
  );
  if (done > 0) tx.part(tx.notify(operation.queue));
  return { done, refused: refusedOf(sums), workedTo: sums[0]?.last ?? worked };
}

function refusedOf(sums: readonly Sum[]): Refused {
  const refused = new Map<string, readonly number[]>();
  for (const { refusal, numbers } of sums) {
    if (refusal === null) continue;
    const reason = REFUSAL[refusal];
    refused.set(reason, [...(refused.get(reason) ?? []), ...(numbers ?? [])]);
  }
  return refused;
}

/** The columns of the result, summed by group and refusal. */
const SUMS = `grp, refusal, count(*) AS count, array_agg(no) FILTER (WHERE refusal IS NOT NULL) AS numbers,
         (SELECT array_agg(DISTINCT ordering_key::text) FROM sent WHERE ordering_key IS NOT NULL) AS keys, (SELECT max(no) FROM next) AS last`;

/** Groups whose letters are not eligible; none if the operation is forced. */
const INELIGIBLE = "(SELECT no FROM groups WHERE eligible = 0 AND ?4::integer = 0)";

/**
 * Usually all selected letters can be redriven; then they are counted and not checked one by one. The UPDATE
 * skips items that are no longer dead. The rows of the selection stay unchanged: `next_no` marks them as
 * done. The arrays and OFFSET 0 force one index lookup per letter, because the planner could turn a join into
 * a scan. An item is not due before its backoff since the burial has passed, which grows with the number of
 * redrives.
 */
const SEND_BACK = `
  WITH next AS MATERIALIZED (
         SELECT no, ref, state FROM selections WHERE operation = ?1 AND no > ?2 AND status = 'pending' ORDER BY no LIMIT ?3),
       here AS MATERIALIZED (
         SELECT ref, grp FROM letters
          WHERE no = ANY (ARRAY (SELECT no FROM next WHERE state = 'dead')) AND grp NOT IN ${INELIGIBLE}),
       sent AS (
         UPDATE items i SET state = 'ready', attempts_counted = 0, lost_count = 0, redrives = redrives + 1, operation = ?1, expires_at = NULL,
                priority = coalesce(?7::integer, priority), due_at = CASE WHEN cardinality(?6::bigint[]) = 0 THEN ?5::bigint ELSE
                  greatest(?5::bigint, (SELECT l.buried_at FROM letters l WHERE l.ref = i.ref)
                                       + (?6::bigint[])[least(redrives, cardinality(?6::bigint[]) - 1) + 1]) END
          WHERE ref = ANY (ARRAY (SELECT ref FROM here)) AND state = 'dead'
         RETURNING queue, priority, due_at, ref, operation, ordering_key),
       placed AS (
         INSERT INTO ready_items (queue, priority, due_at, ref, operation)
         SELECT queue, priority, due_at, ref, operation FROM sent WHERE ordering_key IS NULL),
       ordered AS (
         INSERT INTO ordered_items (queue, ordering_key, ref) SELECT queue, ordering_key, ref FROM sent WHERE ordering_key IS NOT NULL),
       compared AS MATERIALIZED (
         SELECT (SELECT count(*) FROM sent) = (SELECT count(*) FROM next) AS is_all)
  SELECT ${SUMS} FROM (SELECT NULL::bigint AS no, grp, NULL AS refusal FROM here WHERE (SELECT is_all FROM compared)) j
   GROUP BY grp, refusal
  UNION ALL
  SELECT ${SUMS}
    FROM (SELECT n.no, l.grp,
                 CASE WHEN (n.ref IN (SELECT ref FROM sent)) IS TRUE THEN NULL
                      WHEN n.state = 'dead' AND l.grp IN ${INELIGIBLE}
                        THEN CASE (SELECT i.state FROM items i WHERE i.ref = n.ref) WHEN 'dead' THEN 'ineligible' ELSE 'gone' END
                      ELSE 'gone' END AS refusal
            FROM next n LEFT JOIN LATERAL (SELECT grp FROM letters WHERE no = n.no OFFSET 0) l ON true
           WHERE NOT (SELECT is_all FROM compared)) j
   GROUP BY grp, refusal`;
