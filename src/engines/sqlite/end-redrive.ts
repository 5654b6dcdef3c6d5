/** Ends a redrive in the step that leaves nothing of it to do: its last letter is settled, or was refused. */
import type { Session } from "./session.ts";

/** Does nothing while letters are pending or at work. A cancelled redrive stays cancelled. */
export function endRedrive(session: Session, operation: number): void {
  session.run(
    `UPDATE operations SET ended_at = ?, status = iif(status = 'cancelled', status, 'ended')
      WHERE no = ? AND kind = 'redrive' AND ended_at IS NULL AND complete = 1
        AND done + refused = selected AND succeeded + failed = done`,
    session.clock.now(),
    operation,
  );
}
