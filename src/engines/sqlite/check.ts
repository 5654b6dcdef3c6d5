/** `store check` for SQLite: the file's own integrity, then every invariant as a query that must find nothing. */
import { statSync } from "node:fs";
import type { Problem, StoreInfo } from "../../engine.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { MIGRATIONS } from "./schema.ts";
import type { Session } from "./session.ts";
import { IN_STRATUM } from "./strata.ts";

const PROBLEMS_MAX = 100;

export function checkStore(session: Session): Problem[] {
  const broken = session
    .all<{ integrity_check: string }>(`PRAGMA integrity_check(${PROBLEMS_MAX})`)
    .map((row) => row.integrity_check)
    .filter((line) => line !== "ok")
    .map((detail) => ({ rule: "integrity", detail }));
  if (broken.length > 0) return broken; // the rest would only repeat it
  const orphans = session
    .all<{ table: string; rowid: number | null; parent: string }>("PRAGMA foreign_key_check")
    .map((row) => ({
      rule: "integrity",
      detail: `${row.table} ${row.rowid ?? ""} points at no row of ${row.parent}`,
    }));
  const violations = RULES.flatMap(([rule, sql]) =>
    session.all<{ detail: string }>(`${sql} LIMIT ${PROBLEMS_MAX}`).map(({ detail }) => ({ rule, detail })),
  );
  return [...orphans, ...violations].slice(0, PROBLEMS_MAX);
}

/** Each query names what breaks the rule; a clean store gives no rows. */
const RULES: readonly (readonly [rule: string, sql: string])[] = [
  ...ITEM_STATES.map(
    (state) =>
      [
        "one state, one place",
        `SELECT q.name || ' counts ' || q.${state} || ' ${state} items, there are ' || count(i.ref) AS detail
           FROM queues q LEFT JOIN items i ON i.queue = q.no AND i.state = '${state}' GROUP BY q.no
         HAVING q.${state} <> count(i.ref)`,
      ] as const,
  ),
  [
    "one state, one place",
    `SELECT 'item ' || i.item_id || ' has no data' AS detail FROM items i
      WHERE NOT EXISTS (SELECT 1 FROM payloads p WHERE p.ref = i.ref)`,
  ],
  [
    "every attempt leaves one record",
    `SELECT 'item ' || i.item_id || ' started ' || i.attempts || ' attempts, recorded are ' || count(a.number) || ' up to '
            || coalesce(max(a.number), 0) AS detail
       FROM items i LEFT JOIN attempts a ON a.ref = i.ref GROUP BY i.ref
     HAVING i.attempts <> count(a.number) OR i.attempts <> coalesce(max(a.number), 0)`,
  ],
  [
    "every attempt leaves one record",
    `SELECT q.name || ' counts ' || q.attempts || ' attempts, its items have ' || coalesce(sum(i.attempts), 0) AS detail
       FROM queues q LEFT JOIN items i ON i.queue = q.no GROUP BY q.no
     HAVING q.attempts <> coalesce(sum(i.attempts), 0)`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and attempt ' || a.number || ' is running' AS detail
       FROM attempts a JOIN items i ON i.ref = a.ref
      WHERE a.outcome = 'running' AND (i.state <> 'leased' OR a.number <> i.attempts)`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased and its attempt ' || i.attempts || ' is not running' AS detail
       FROM items i LEFT JOIN attempts a ON a.ref = i.ref AND a.number = i.attempts
      WHERE i.state = 'leased' AND a.outcome IS NOT 'running'`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased by ' || h.id || ', which has left' AS detail
       FROM items i JOIN holders h ON h.no = i.holder WHERE i.state = 'leased' AND h.gone = 1`,
  ],
  [
    "a letter keeps everything",
    `SELECT 'dead item ' || i.item_id || ' has no letter' AS detail FROM items i
      WHERE i.state = 'dead' AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.ref = i.ref)`,
  ],
  [
    "a letter keeps everything",
    `SELECT 'letter of item ' || i.item_id || ' has no failure' AS detail FROM letters l JOIN items i ON i.ref = l.ref
      WHERE NOT EXISTS (SELECT 1 FROM attempts a WHERE a.ref = l.ref AND a.failure IS NOT NULL)`,
  ],
  [
    "a letter leaves on success only",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and still a letter' AS detail
       FROM letters l JOIN items i ON i.ref = l.ref WHERE i.state IN ('done', 'skipped', 'held')`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', there are ' || count(l.no) AS detail
       FROM groups g LEFT JOIN letters l ON l.grp = g.no GROUP BY g.no HAVING g.count <> count(l.no)`,
  ],
  [
    "groups count their letters",
    `SELECT q.name || ' counts ' || q.letters || ' letters, its groups have ' || coalesce(sum(g.count), 0) AS detail
       FROM queues q LEFT JOIN groups g ON g.queue = q.no GROUP BY q.no HAVING q.letters <> coalesce(sum(g.count), 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', its strata have ' || coalesce(sum(s.count), 0) AS detail
       FROM groups g LEFT JOIN strata s ON s.grp = g.no GROUP BY g.no HAVING g.count <> coalesce(sum(s.count), 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'stratum ' || s.stratum || ' of group ' || s.grp || ' counts ' || s.count || ', there are '
            || count(l.no) AS detail
       FROM strata s LEFT JOIN letters l ON l.grp = s.grp AND ${IN_STRATUM} AND l.buried_at BETWEEN s.first_at AND s.last_at
      GROUP BY s.grp, s.stratum HAVING s.count <> count(l.no)`,
  ],
  [
    "a redrive accounts for all",
    `SELECT 'operation ' || id || ' has ended with open books' AS detail FROM operations
      WHERE ended_at IS NOT NULL AND (redriven + refused <> selected OR succeeded + failed <> redriven)`,
  ],
];

export function storeInfo(session: Session): StoreInfo {
  const sums = session.get<{ items: number; letters: number; attempts: number }>(
    `SELECT coalesce(sum(ready + leased + held + done + dead + skipped + discarded), 0) AS items,
            coalesce(sum(letters), 0) AS letters, coalesce(sum(attempts), 0) AS attempts FROM queues`,
  );
  const jobs = session.get<{ n: number }>("SELECT count(*) AS n FROM jobs")?.n ?? 0;
  const events = session.get<{ n: number }>("SELECT coalesce(max(id), 0) AS n FROM events")?.n ?? 0;
  return {
    engine: "sqlite",
    location: session.path,
    schemaVersion: MIGRATIONS.length,
    bytes: fileBytes(session.path) + fileBytes(`${session.path}-wal`),
    jobs,
    items: sums?.items ?? 0,
    letters: sums?.letters ?? 0,
    attempts: sums?.attempts ?? 0,
    events,
  };
}

function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
