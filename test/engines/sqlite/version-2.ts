/** A store as version 2 wrote it: that of version 1, brought there, with the events of a life that counters tell of. */
import { DatabaseSync } from "@photostructure/sqlite";
import { MIGRATIONS } from "../../../src/engines/sqlite/schema.ts";
import { writeVersion1 } from "./version-1.ts";

const START = Date.UTC(2026, 0, 1);

/** `gone` was purged; its letter had died of a timeout, and before that with its worker. */
export function writeVersion2(path: string): void {
  writeVersion1(path);
  const [, version2 = ""] = MIGRATIONS;
  const db = new DatabaseSync(path);
  const event = (type: string, place: string, data = "NULL") => `(${START}, '${type}', 1, ${place}, ${data})`;
  const failed = (type: string) => `'{"error_type":"${type}","message":"it failed"}'`;
  db.exec(`BEGIN;
    ${version2}
    INSERT INTO items (ref, queue, item_id, place, state, due_at, attempts, spent, purged)
    VALUES (8, 1, 'gone', 7, 'discarded', ${START}, 2, 1, 1);
    UPDATE queues SET discarded = 1, purged = 1, attempts = 11;
    INSERT INTO events (at, type, queue, ref, attempt, data) VALUES
      ${event("attempt_succeeded", "1, 1")},
      ${event("attempt_failed", "2, 1", failed("CommandFailed"))},
      ${event("dlq_item_added", "2, 1", `'{"reason":"r"}'`)},
      ${event("attempt_lost", "8, 1")},
      ${event("attempt_retrying", "8, 1")},
      ${event("attempt_failed", "8, 2", failed("Timeout"))},
      ${event("dlq_item_added", "8, 2", `'{"reason":"r"}'`)},
      ${event("dlq_item_added", "2, NULL", `'{"reason":"imported"}'`)},
      ${event("attempt_released", "5, 1")},
      ${event("attempt_parked", "5, 1")},
      ${event("store_write_failed", "NULL, NULL", `'{"message":"full"}'`)};
    PRAGMA user_version = 2;
    COMMIT`);
  db.close();
}
