/** Questions about queues inside the transactions of this folder. */
import type { QueueCounts } from "../../engine.ts";
import * as jobs from "../sql/jobs.ts";
import { runOn } from "./db.ts";
import type { Session } from "./session.ts";

export function queueNo(session: Session, name: string): number {
  return runOn(session, (db) => jobs.queueNo(db, name));
}

export function countQueue(session: Session, queue: string): QueueCounts {
  return runOn(session, (db) => jobs.countQueue(db, queue));
}
