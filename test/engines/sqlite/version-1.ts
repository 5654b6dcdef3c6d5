/** A store as version 1 wrote it: its tables, and rows of every kind, with redrives that are open. */
import { DatabaseSync } from "@photostructure/sqlite";
import { MIGRATIONS } from "../../../src/engines/sqlite/schema.ts";

/** When it was last written. */
export const LAST_WRITE = Date.UTC(2026, 0, 1, 0, 5);

const START = Date.UTC(2026, 0, 1);
const FAILURE = JSON.stringify({
  attempt_number: 1,
  timestamp: "2026-01-01T00:00:01.000Z",
  error_type: { CommandFailed: { exit_code: 1 } },
  error_class: "unknown",
  error_message: "it failed",
  agent_id: "host-1",
  step_failed: "command",
  duration_ms: 1000,
});

/**
 * The items: `done` was done, `fresh` was never begun, `dead` and `twice` are dead, `twice` after a redrive that is not
 * closed; `ready` and `leased` are on their way back, `healed` was done after the same redrive; it has not got to `dead`.
 */
export function writeVersion1(path: string): void {
  const [version1 = ""] = MIGRATIONS;
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON");
  db.exec(`BEGIN;
    ${version1}
    INSERT INTO queues (no, name, ready, leased, done, dead, letters, attempts) VALUES (1, 'job-1', 2, 1, 2, 2, 4, 9);
    INSERT INTO jobs (no, id, name, kind, spec, status, intake_complete, created_at, started_at)
    VALUES (1, 'job-1', 'my job', 'map', '{"command":["true"]}', 'running', 1, ${START}, ${START});
    INSERT INTO holders (no, id, queue, host, pid, process_start, ttl_ms, expires_at)
    VALUES (1, 'holder-1', 1, 'host-1', 42, '100', 10000, ${START + 10_000});
    INSERT INTO operations (no, id, kind, queue, filter, force, created_at, last_no, next_no, selected, redriven, refused,
                            succeeded, failed)
    VALUES (1, 'op-over', 'redrive', 1, '{}', 0, ${START}, 1, 1, 2, 1, 0, 0, 1),
           (2, 'op-at-work', 'redrive', 1, '{"olderThanMs":5}', 1, ${START}, 5, 4, 5, 3, 0, 1, 0);
    INSERT INTO items (ref, queue, item_id, place, state, due_at, attempts, spent, redrives, holder, operation)
    VALUES (1, 1, 'done', 0, 'done', ${START}, 1, 0, 0, NULL, NULL),
           (2, 1, 'dead', 1, 'dead', ${START}, 1, 1, 0, NULL, NULL),
           (3, 1, 'twice', 2, 'dead', ${START}, 2, 1, 1, NULL, 1),
           (4, 1, 'ready', 3, 'ready', ${START}, 1, 0, 1, NULL, 2),
           (5, 1, 'leased', 4, 'leased', ${START}, 2, 0, 1, 1, 2),
           (6, 1, 'healed', 5, 'done', ${START}, 2, 0, 1, NULL, 2),
           (7, 1, 'fresh', 6, 'ready', ${START}, 0, 0, 0, NULL, NULL);
    INSERT INTO payloads (ref, data) SELECT ref, json_object('name', item_id) FROM items;
    INSERT INTO attempts (ref, number, outcome, holder, started_at, ended_at, failure)
    SELECT ref, 1, 'failed', 1, ${START}, ${START + 1000}, '${FAILURE}' FROM items WHERE ref BETWEEN 2 AND 6;
    INSERT INTO attempts (ref, number, outcome, holder, started_at, ended_at, failure)
    VALUES (1, 1, 'succeeded', 1, ${START}, ${START + 1000}, NULL),
           (3, 2, 'failed', 1, ${START + 2000}, ${START + 3000}, '${FAILURE}'),
           (5, 2, 'running', 1, ${START + 2000}, NULL, NULL),
           (6, 2, 'succeeded', 1, ${START + 2000}, ${START + 3000}, NULL);
    INSERT INTO groups (no, queue, signature, pattern, error_type, error_class, eligible, review, count, first_at, last_at)
    VALUES (1, 1, 'sig-a', 'pattern a', 'CommandFailed', 'unknown', 1, 0, 3, ${START}, ${START + 3000}),
           (2, 1, 'sig-b', 'pattern b', 'Timeout', 'transient', 0, 0, 1, ${START}, ${START + 61_000});
    INSERT INTO letters (no, ref, grp, buried_at, reason, artifacts)
    VALUES (2, 2, 1, ${START + 1000}, 'attempts spent (1 of 1)', '{"worktree_path":"/w","branch_name":"b"}'),
           (3, 4, 1, ${START + 1000}, 'attempts spent (1 of 1)', NULL),
           (4, 5, 2, ${START + 61_000}, 'attempts spent (1 of 1)', NULL),
           (6, 3, 1, ${START + 3000}, 'attempts spent (1 of 1)', NULL);
    INSERT INTO strata (grp, stratum, count, first_at, last_at)
    VALUES (1, 0, 3, ${START}, ${START + 3000}), (2, 0, 1, ${START}, ${START + 61_000});
    INSERT INTO evidence (ref, at, attempt, outcome, note) VALUES (2, ${START + 2000}, 1, 'succeeded', 'late');
    INSERT INTO events (at, type, queue, ref) VALUES (${START}, 'item_queued', 1, 1), (${LAST_WRITE}, 'dlq_item_added', 1, 2);
    PRAGMA user_version = 1;
    COMMIT`);
  db.close();
}
