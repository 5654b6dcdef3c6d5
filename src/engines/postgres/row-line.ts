/** Fills `ready_items` and `ordered_items` for items that were copied from another store. */
import type { JsonObject } from "../../std/json.ts";
import { alignOrderingKeys } from "./ordering-keys.ts";
import type { Tx } from "./session.ts";

/** Idempotent. Notifies no workers, because none uses a store while it is being copied. */
export async function lineUp(tx: Tx, rows: readonly JsonObject[]): Promise<void> {
  const refs = rows.map(({ ref }) => Number(ref));
  await tx.run(
    `INSERT INTO ready_items (queue, priority, due_at, ref, operation)
     SELECT queue, priority, due_at, ref, operation FROM items
      WHERE ref = ANY (?::bigint[]) AND state = 'ready' AND ordering_key IS NULL ON CONFLICT DO NOTHING`,
    refs,
  );
  const keys = rows.flatMap(({ queue, ordering_key }) =>
    typeof ordering_key === "string" ? [{ queue: Number(queue), ordering_key }] : [],
  );
  if (keys.length === 0) return;
  await tx.run(
    `INSERT INTO ordered_items (queue, ordering_key, ref, leased)
     SELECT queue, ordering_key, ref, CASE state WHEN 'leased' THEN 1 ELSE 0 END FROM items
      WHERE ref = ANY (?::bigint[]) AND ordering_key IS NOT NULL AND state IN ('ready', 'leased', 'held') ON CONFLICT DO NOTHING`,
    refs,
  );
  await alignOrderingKeys(tx, keys);
}
