/** What only goes up, in SQLite: one row for each queue and name, written in the transaction that is the reason. */
import type { Counter } from "../../engine.ts";
import type { Session } from "./session.ts";

export function countUp(session: Session, queue: number, sums: ReadonlyMap<string, number>): void {
  session.insert(
    "counters (queue, name, value)",
    [...sums].map(([name, by]) => [queue, name, by]),
    "ON CONFLICT DO UPDATE SET value = value + excluded.value",
  );
}

/** By queue, in the order of their making, then by name. */
export function listCounters(session: Session): Counter[] {
  return session.all<Counter>(
    "SELECT q.name AS queue, c.name, c.value FROM counters c JOIN queues q ON q.no = c.queue ORDER BY c.queue, c.name",
  );
}
