/** What only goes up. */
import type { Counter } from "../../engine.ts";
import type { Db, Step } from "./db.ts";

/** By queue, in the order of their creation, then by name. What belongs to no queue is left out. */
export function listCounters(db: Db): Step<Counter[]> {
  return db.all<Counter>(
    `SELECT q.name AS queue, c.name, sum(c.value) AS value FROM counters c JOIN queues q ON q.no = c.queue
      GROUP BY q.no, q.name, c.name ORDER BY q.no, c.name`,
  );
}
