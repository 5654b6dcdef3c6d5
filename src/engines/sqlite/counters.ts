/** What only goes up, in SQLite: one row for each queue and name, written in the transaction that is the reason. */
import type { Session } from "./session.ts";

export function countUp(session: Session, queue: number, sums: ReadonlyMap<string, number>): void {
  session.insert(
    "counters (queue, name, value)",
    [...sums].map(([name, by]) => [queue, name, by]),
    "ON CONFLICT DO UPDATE SET value = value + excluded.value",
  );
}
