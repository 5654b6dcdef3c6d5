/** Ends a redrive in the step that leaves nothing of it to do: its last letter is settled, or was refused. */
import type { Tx } from "./session.ts";

/**
 * Does nothing while letters are pending or at work. A cancelled redrive stays cancelled. Every step that changes the counts locks
 * the operation's row, so the last one sees them all.
 */
export async function endRedrives(tx: Tx, operations: readonly number[]): Promise<void> {
  await tx.run(
    `UPDATE operations SET ended_at = ?1, status = CASE status WHEN 'cancelled' THEN status ELSE 'ended' END
      WHERE no = ANY (?2::bigint[]) AND kind = 'redrive' AND ended_at IS NULL AND complete = 1
        AND done + refused = selected AND succeeded + failed = done`,
    tx.now,
    operations,
  );
}
