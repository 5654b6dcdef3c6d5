/** Reads the counters of queues, which never decrease. */
import type { Counter } from "../../engine.ts";
import type { Db, Step } from "./db.ts";

/** Lists counters by queue, in order of creation, then by name. Counters that belong to no queue are left out. */
export function listCounters(db: Db): Step<Counter[]> {
  return db.all<Counter>(
    `SELECT q.name AS queue, c.name, sum(c.value) AS value FROM counters c JOIN queues q ON q.no = c.queue
      GROUP BY q.no, q.name, c.name ORDER BY q.no, c.name`,
  );
}
