/**
 * Makes the rows of a salvaged store consistent: rows that reference lost rows are completed, held for review
 * or left out, and all counters are recomputed. Each repair is reported with the number of changed rows.
 */
import type { Repair } from "../../item/store-queries.ts";
import { COUNTED_EVENTS } from "../sql/check.ts";
import { recountRanges } from "./letters-by-age.ts";
import { OrderingKeys } from "./ordering-keys.ts";
import type { Session } from "./session.ts";

const NOW = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const NO_ITEM = "ref NOT IN (SELECT ref FROM items)";
const NO_QUEUE = "NOT IN (SELECT no FROM queues)";

/** Repairs by the text of their report. Their order matters: later repairs rely on earlier ones. */
const STEPS: Readonly<Record<string, string>> = {
  "values that are not valid JSON": "DELETE FROM payloads WHERE NOT json_valid(data)",
  "failures and results of attempts that are not valid JSON":
    "DELETE FROM attempts WHERE NOT json_valid(coalesce(failure, '{}')) OR NOT json_valid(coalesce(result, '{}'))",
  "events that are not valid":
    "DELETE FROM events WHERE NOT json_valid(coalesce(data, '{}')) OR NOT json_valid(coalesce(refs, '[]'))",
  "letters whose details are not valid JSON":
    "DELETE FROM letters WHERE NOT json_valid(coalesce(artifacts, '{}'))",
  "items whose data was lost":
    "DELETE FROM items WHERE purged = 0 AND state NOT IN ('done', 'skipped') AND ref NOT IN (SELECT ref FROM payloads)",
  "finished items whose data was lost (null takes its place)":
    "INSERT INTO payloads (ref, data) SELECT ref, 'null' FROM items WHERE purged = 0 AND ref NOT IN (SELECT ref FROM payloads)",
  "queues whose name was lost (named recovered-NUMBER)": `
    INSERT INTO queues (no, name) SELECT DISTINCT queue, 'recovered-' || queue FROM items WHERE queue ${NO_QUEUE}`,
  "jobs without a queue": "DELETE FROM jobs WHERE id NOT IN (SELECT name FROM queues)",
  "records of attempts without their item": `
    DELETE FROM attempts WHERE outcome = 'running' OR NOT EXISTS (SELECT 1 FROM items i
       WHERE i.ref = attempts.ref AND attempts.number <= i.attempts - (i.state = 'leased'))`,
  "letters without their item": `DELETE FROM letters WHERE ${NO_ITEM}`,
  "resolved or discarded letters without their item": `
    DELETE FROM resolved_letters WHERE ${NO_ITEM} OR ref IN (SELECT ref FROM letters)`,
  "late results without their item": `DELETE FROM late_results WHERE ${NO_ITEM}`,
  "notes without their item": `DELETE FROM notes WHERE ${NO_ITEM}`,
  "amendments without their item": `
    DELETE FROM amendments WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.ref = amendments.ref AND revision <= i.revision)`,
  "the queue recovered, for data without an item": `
    INSERT INTO queues (name) SELECT 'recovered' WHERE EXISTS (SELECT 1 FROM payloads WHERE ${NO_ITEM})
       AND NOT EXISTS (SELECT 1 FROM queues WHERE name = 'recovered')`,
  "items of which only the data was left (held in the queue recovered)": `
    INSERT INTO items (ref, queue, item_id, position, state, due_at)
     SELECT ref, (SELECT no FROM queues WHERE name = 'recovered'), 'recovered-' || ref, 0, 'held', ${NOW}
       FROM payloads WHERE ${NO_ITEM}`,
  "jobs that were lost (their items are in a queue of this name)": `
    INSERT OR IGNORE INTO jobs (id, name, kind, spec, status, created_at, started_at)
     SELECT name, name, 'queue', '{}', 'running', ${NOW}, ${NOW} FROM queues
      WHERE name NOT IN (SELECT id FROM jobs) AND no IN (SELECT queue FROM items)`,
  "items whose original was lost":
    "UPDATE items SET origin = NULL WHERE origin IS NOT NULL AND origin NOT IN (SELECT ref FROM items)",
  "operations without their queue": `DELETE FROM operations WHERE queue ${NO_QUEUE}`,
  "operations whose original was lost":
    "UPDATE operations SET undoes = NULL WHERE undoes IS NOT NULL AND undoes NOT IN (SELECT no FROM operations)",
  "letters being retried whose operation was lost (dead again)": `
    UPDATE items SET state = 'dead', holder = NULL, waits = 0, operation = NULL
      WHERE state IN ('ready', 'leased', 'held') AND ref IN (SELECT ref FROM letters) AND attempts > 0
        AND (operation IS NULL OR operation NOT IN (SELECT no FROM operations))`,
  "items whose operation was lost":
    "UPDATE items SET operation = NULL WHERE operation IS NOT NULL AND operation NOT IN (SELECT no FROM operations)",
  "dead or discarded items whose letter was lost (held)": `
    UPDATE items SET state = 'held' WHERE (state = 'dead' AND ref NOT IN (SELECT ref FROM letters))
        OR (state = 'discarded' AND purged = 0 AND ref NOT IN (SELECT ref FROM resolved_letters))`,
  "workers that were lost": `INSERT INTO holders (no, id, queue, host, pid, process_start, ttl_ms, expires_at, gone)
     SELECT holder, 'lost-' || holder, min(queue), 'lost', 1, '', 1, 0, 1 FROM (
       SELECT holder, queue FROM items WHERE holder IS NOT NULL
       UNION ALL SELECT a.holder, i.queue FROM attempts a JOIN items i ON i.ref = a.ref)
      WHERE holder NOT IN (SELECT no FROM holders) GROUP BY holder`,
  "workers without their queue": `DELETE FROM holders WHERE queue ${NO_QUEUE}`,
  "workers that still had items":
    "UPDATE holders SET gone = 0 WHERE gone = 1 AND no IN (SELECT holder FROM items)",
  "items in work without a start time": `
    UPDATE items SET started_at = due_at WHERE state = 'leased' AND started_at IS NULL`,
  "a worker for records that were lost": `
    INSERT INTO holders (id, queue, host, pid, process_start, ttl_ms, expires_at, gone)
     SELECT 'lost', (SELECT min(no) FROM queues), 'lost', 1, '', 1, 0, 1
      WHERE EXISTS (SELECT 1 FROM items) AND NOT EXISTS (SELECT 1 FROM holders)`,
  "records of attempts that were lost": `WITH RECURSIVE missing (ref, number, ended, state, due_at) AS (
       SELECT i.ref, 1, i.attempts - (i.state = 'leased') AS ended, i.state, i.due_at FROM items i
        WHERE i.purged = 0 AND i.attempts - (i.state = 'leased') > (SELECT count(*) FROM attempts a WHERE a.ref = i.ref)
       UNION ALL SELECT ref, number + 1, ended, state, due_at FROM missing WHERE number < ended)
     INSERT OR IGNORE INTO attempts (ref, number, outcome, holder, started_at, ended_at)
     SELECT m.ref, m.number, CASE WHEN m.state = 'done' AND m.number = m.ended THEN 'succeeded'
              WHEN m.ref IN (SELECT ref FROM letters) OR m.ref IN (SELECT ref FROM resolved_letters) THEN 'failed' ELSE 'released' END,
            (SELECT min(no) FROM holders), m.due_at, m.due_at FROM missing m`,
  "amendments that were lost (null takes the place of the data before)": `
    WITH RECURSIVE missing (ref, number, last, due_at) AS (
       SELECT i.ref, 2, i.revision, i.due_at FROM items i
        WHERE i.purged = 0 AND i.revision - 1 > (SELECT count(*) FROM amendments a WHERE a.ref = i.ref)
       UNION ALL SELECT ref, number + 1, last, due_at FROM missing WHERE number < last)
     INSERT OR IGNORE INTO amendments (ref, revision, at, author, note, before)
     SELECT ref, number, due_at, 'salvage', 'lost', 'null' FROM missing`,
  "groups that were lost (run `redrive groups rebuild`)": `
    INSERT INTO groups (no, queue, signature, pattern, error_type, error_class, eligible, review, first_at, last_at)
     SELECT l.grp, min(i.queue), 'recovered-' || l.grp, 'recovered ' || l.grp, 'Unknown', 'unknown', 1, 0,
            min(l.buried_at), max(l.buried_at)
       FROM (SELECT grp, ref, buried_at FROM letters UNION ALL SELECT grp, ref, buried_at FROM resolved_letters) l
       JOIN items i ON i.ref = l.ref WHERE l.grp NOT IN (SELECT no FROM groups) GROUP BY l.grp`,
  "groups without their queue": `DELETE FROM groups WHERE queue ${NO_QUEUE}`,
  "states of groups that were lost (open again)": `INSERT INTO group_records (signature, pattern, state, since)
     SELECT signature, min(pattern), 'open', min(first_at) FROM groups
      WHERE signature NOT IN (SELECT signature FROM group_records) GROUP BY signature`,
  "notes on groups that were lost":
    "DELETE FROM group_notes WHERE signature NOT IN (SELECT signature FROM group_records)",
  "fixes of groups that were lost":
    "DELETE FROM group_fixes WHERE signature NOT IN (SELECT signature FROM group_records)",
  "selections without their operation or item": `
    DELETE FROM selections WHERE operation NOT IN (SELECT no FROM operations) OR ${NO_ITEM}`,
  "operations that cannot account for all of their letters (their lists were left out)": `
    UPDATE operations SET listed = 0 WHERE listed = 1 AND EXISTS (
       SELECT 1 FROM (SELECT count(*) AS n, count(*) FILTER (WHERE status = 'done') AS done,
                             count(*) FILTER (WHERE status = 'refused') AS refused
                        FROM selections s WHERE s.operation = operations.no) c
        WHERE c.n <> operations.selected OR c.done <> operations.done OR c.refused <> operations.refused)`,
  "events without their queue": `DELETE FROM events WHERE queue IS NOT NULL AND queue ${NO_QUEUE}`,
  "counters without their queue": `DELETE FROM counters WHERE queue ${NO_QUEUE}`,
  "gates without their queue":
    "DELETE FROM documents WHERE name GLOB 'gate/*' AND substr(name, 6) NOT IN (SELECT name FROM queues)",
};

/** Computes again what follows from other rows. Not reported, because nothing is lost. */
const RECOUNTS: readonly string[] = [
  "DELETE FROM selections WHERE operation IN (SELECT no FROM operations WHERE listed = 0)",
  `UPDATE operations SET done = max(succeeded + failed + w.n, iif(kind = 'redrive', 0, done)) ,
          selected = max(succeeded + failed + w.n, iif(kind = 'redrive', 0, done)) + refused
     FROM (SELECT o.no, count(i.ref) AS n FROM operations o
             LEFT JOIN items i ON i.operation = o.no AND i.state IN ('ready', 'leased', 'held') GROUP BY o.no) w
    WHERE w.no = operations.no AND operations.listed = 0`,
  `UPDATE operations SET status = 'ended', ended_at = coalesce(ended_at, ${NOW})
    WHERE listed = 0 AND ended_at IS NULL AND done + refused = selected AND (kind <> 'redrive' OR succeeded + failed = done)`,
  "UPDATE groups SET pattern = (SELECT m.pattern FROM group_records m WHERE m.signature = groups.signature)",
  `UPDATE groups SET count = (SELECT count(*) FROM letters l WHERE l.grp = groups.no),
          in_retry = (SELECT count(*) FROM letters l JOIN items i ON i.ref = l.ref WHERE l.grp = groups.no AND i.state <> 'dead'),
          resolved = (SELECT count(*) FROM resolved_letters c WHERE c.grp = groups.no AND c.kind <> 'discard'),
          discarded = (SELECT count(*) FROM resolved_letters c WHERE c.grp = groups.no AND c.kind = 'discard')`,
  `UPDATE queues SET ${["ready", "leased", "held", "done", "dead", "skipped", "discarded"]
    .map(
      (state) =>
        `${state} = (SELECT count(*) FROM items i WHERE i.queue = queues.no AND i.state = '${state}')`,
    )
    .join(", ")},
          letters = (SELECT coalesce(sum(count), 0) FROM groups g WHERE g.queue = queues.no),
          resolved = (SELECT coalesce(sum(g.resolved), 0) FROM groups g WHERE g.queue = queues.no),
          attempts = (SELECT coalesce(sum(i.attempts), 0) FROM items i WHERE i.queue = queues.no)`,
  "DELETE FROM arrivals WHERE grp NOT IN (SELECT no FROM groups)",
  "UPDATE arrivals SET waiting = 0",
  `INSERT INTO arrivals (grp, minute, waiting, ever)
   SELECT grp, buried_at / 60000, count(*), count(*) FROM letters WHERE true GROUP BY 1, 2
   ON CONFLICT DO UPDATE SET waiting = excluded.waiting, ever = max(ever, excluded.waiting)`,
  "DELETE FROM letters_by_attempts",
  "INSERT INTO letters_by_attempts (queue, attempts, count) SELECT queue, attempts, count(*) FROM items WHERE state = 'dead' GROUP BY 1, 2",
  ...COUNTED_EVENTS.flatMap(([counter, type]) =>
    recount(`= '${counter}'`, `'${counter}'`, `type = '${type}'`),
  ),
  ...["succeeded", "failed"].flatMap((end) => [
    `DELETE FROM counters WHERE name = 'redrives.${end}'`,
    `INSERT INTO counters (queue, name, value)
     SELECT queue, 'redrives.${end}', sum(${end}) FROM operations GROUP BY queue HAVING sum(${end}) > 0`,
  ]),
];

/** Queues whose burial counters do not match their events. Others are kept, because events have no error types. */
const DEAD_DIFFERS = `queue IN (SELECT q.no FROM queues q WHERE
  (SELECT coalesce(sum(value), 0) FROM counters c WHERE c.queue = q.no AND c.name GLOB 'dead.*') <>
  (SELECT coalesce(sum(span), 0) FROM events e WHERE e.queue = q.no AND e.type = 'dlq_item_added' AND e.attempt IS NOT NULL))`;

const BURIALS: readonly string[] = [
  `DELETE FROM counters WHERE name GLOB 'dead.*' AND ${DEAD_DIFFERS}`,
  `INSERT INTO counters (queue, name, value)
   SELECT queue, 'dead.Unknown', sum(span) FROM events
    WHERE type = 'dlq_item_added' AND attempt IS NOT NULL AND queue IS NOT NULL AND ${DEAD_DIFFERS} GROUP BY queue`,
];

function recount(names: string, name: string, events: string): readonly string[] {
  return [
    `DELETE FROM counters WHERE name ${names}`,
    `INSERT INTO counters (queue, name, value)
     SELECT queue, ${name}, sum(span) FROM events WHERE ${events} AND queue IS NOT NULL GROUP BY queue`,
  ];
}

/** Call in a transaction of a session that does not enforce foreign keys. */
export function repair(session: Session): readonly Repair[] {
  const repairs = Object.entries(STEPS).map(([what, sql]) => ({ what, rows: session.run(sql).changes }));
  for (const sql of [...RECOUNTS, ...BURIALS]) session.run(sql);
  const keys = new OrderingKeys();
  for (const { queue, ordering_key } of session.all<{ queue: number; ordering_key: string }>(
    "SELECT DISTINCT queue, ordering_key FROM items WHERE ordering_key IS NOT NULL",
  ))
    keys.moved(queue, ordering_key);
  keys.write(session);
  session.run("DELETE FROM letters_by_age");
  const numbers = session.all<{ no: number }>("SELECT no FROM letters").map(({ no }) => no);
  recountRanges(session, numbers);
  return repairs.filter(({ rows }) => rows > 0);
}
