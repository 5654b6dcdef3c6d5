/** Maintains the table `leases`, which only PostgreSQL has. Holders are in `sql/holders.ts`. */
import { RedriveError } from "../../errors.ts";
import type { LeasedItem } from "../../item/item.ts";
import { listLeases } from "../sql/holders.ts";
import { runOn } from "./db.ts";
import type { Tx } from "./session.ts";

/** Returns the leases of a step whose answer was lost. A step that has not run yet will be refused. */
export async function takeUnanswered(
  tx: Tx,
  holderId: string,
  settleAndLease: number,
): Promise<LeasedItem[]> {
  await tx.run("SELECT 1 FROM holders WHERE id = ? FOR UPDATE", holderId); // waits for a concurrent lease
  await tx.run("UPDATE holders SET turn = ? WHERE id = ?", settleAndLease + 1, holderId);
  return runOn(tx, (db) => listLeases(db, holderId, "AND l.exchange = ?2::bigint", settleAndLease));
}

/** Merges the rows of a holder's leases into one that contains only current leases. */
export async function gatherLeases(tx: Tx, holder: number): Promise<void> {
  await tx.run(
    `WITH given AS (DELETE FROM leases WHERE holder = ?1 RETURNING refs)
     INSERT INTO leases (holder, refs)
     SELECT ?1::bigint, array_agg(DISTINCT i.ref) FROM given g CROSS JOIN LATERAL unnest(g.refs) AS r (ref)
       JOIN items i ON i.ref = r.ref AND i.holder = ?1 AND i.state = 'leased' HAVING count(*) > 0`,
    holder,
  );
}

export function holderGone(holderId: string): RedriveError {
  return new RedriveError(
    "lease_lost",
    `The holder ${holderId} is no longer registered; nothing was changed.`,
    {
      hint: "It missed its heartbeats and was considered dead. Register a new holder.",
    },
  );
}
