/**
 * The line: the ready items that may be leased, in a table of their own. Whoever makes an item ready puts it in, and whoever
 * takes a ready item away takes it out first; so an item that stands in line is ready, and who has locked its place has it.
 */
import { alignLanes, type Lane } from "./lanes.ts";
import type { Tx } from "./session.ts";

/** The columns of a place, in the order of the key. */
const PLACE = "queue, priority, due_at, ref, operation";

/** Of items that are ready now. Notifies for their queues. */
export async function joinLine(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  const joined = await tx.all<{ queue: number; name: string; lane: string | null }>(
    `WITH ready AS (SELECT ${PLACE}, lane FROM items WHERE ref = ANY (?::bigint[]) AND state = 'ready'),
          placed AS (INSERT INTO ready_items (${PLACE}) SELECT ${PLACE} FROM ready WHERE lane IS NULL ON CONFLICT DO NOTHING),
          laned AS (INSERT INTO lanes (queue, lane, ref) SELECT queue, lane, ref FROM ready WHERE lane IS NOT NULL
                    ON CONFLICT (queue, lane, ref) DO UPDATE SET leased = 0)
     SELECT DISTINCT r.queue, q.name, r.lane FROM ready r JOIN queues q ON q.no = r.queue`,
    refs,
  );
  await alignLanes(tx, joined.flatMap(laneOf));
  for (const name of new Set(joined.map((one) => one.name))) await tx.notify(name);
}

/** Of items that are ready and will be something else, in which they are in nobody's way. */
export async function leaveLine(tx: Tx, refs: readonly number[]): Promise<void> {
  if (refs.length === 0) return;
  await takeFromLine(tx, refs);
  const left = await tx.all<Lane>(
    `DELETE FROM lanes l USING items i WHERE i.ref = ANY (?::bigint[]) AND i.lane IS NOT NULL
        AND l.queue = i.queue AND l.lane = i.lane AND l.ref = i.ref RETURNING l.queue, l.lane`,
    refs,
  );
  await alignLanes(tx, left);
}

/** Takes their places away, and nothing else. Waits for who is leasing them. */
export async function takeFromLine(tx: Tx, refs: readonly number[]): Promise<void> {
  await tx.run(
    `DELETE FROM ready_items l USING items i WHERE i.ref = ANY (?::bigint[]) AND l.queue = i.queue AND l.priority = i.priority
        AND l.due_at = i.due_at AND l.ref = i.ref`,
    refs,
  );
}

function laneOf({ queue, lane }: { readonly queue: number; readonly lane: string | null }): Lane[] {
  return lane === null ? [] : [{ queue, lane }];
}
