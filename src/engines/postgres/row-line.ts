/** Fills `ready_items` and `lanes` for items that were copied from another store. */
import type { JsonObject } from "../../std/json.ts";
import { alignLanes } from "./lanes.ts";
import type { Tx } from "./session.ts";

/** Idempotent. Notifies no workers, because none uses a store while it is being copied. */
export async function lineUp(tx: Tx, rows: readonly JsonObject[]): Promise<void> {
  const refs = rows.map(({ ref }) => Number(ref));
  await tx.run(
    `INSERT INTO ready_items (queue, priority, due_at, ref, operation)
     SELECT queue, priority, due_at, ref, operation FROM items
      WHERE ref = ANY (?::bigint[]) AND state = 'ready' AND lane IS NULL ON CONFLICT DO NOTHING`,
    refs,
  );
  const lanes = rows.flatMap(({ queue, lane }) =>
    typeof lane === "string" ? [{ queue: Number(queue), lane }] : [],
  );
  if (lanes.length === 0) return;
  await tx.run(
    `INSERT INTO lanes (queue, lane, ref, leased)
     SELECT queue, lane, ref, CASE state WHEN 'leased' THEN 1 ELSE 0 END FROM items
      WHERE ref = ANY (?::bigint[]) AND lane IS NOT NULL AND state IN ('ready', 'leased', 'held') ON CONFLICT DO NOTHING`,
    refs,
  );
  await alignLanes(tx, lanes);
}
