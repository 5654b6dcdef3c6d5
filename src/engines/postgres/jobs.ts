/** Questions about queues inside the transactions of this folder. */
import type { QueueCounts } from "../../engine.ts";
import * as jobs from "../sql/jobs.ts";
import { runOn } from "./db.ts";
import type { Tx } from "./session.ts";

export function queueNo(tx: Tx, name: string): Promise<number> {
  return runOn(tx, (db) => jobs.queueNo(db, name));
}

export function countQueue(tx: Tx, queue: string): Promise<QueueCounts> {
  return runOn(tx, (db) => jobs.countQueue(db, queue));
}
