/** The parts of `store check` and `store info` that both SQL stores share. */
import type { Problem, StoreInfo } from "../../engine.ts";
import { ITEM_STATES } from "../../item/state.ts";
import type { Db, Dialect, Step } from "./db.ts";

export const PROBLEMS_MAX = 100;

/** Returns the violations of the rules, at most `PROBLEMS_MAX` per query. */
export function* findProblems(db: Db, rules: readonly Rules[]): Step<Problem[]> {
  const problems: Problem[] = [];
  for (const [rule, queries] of rules.flatMap((some) => Object.entries(some))) {
    for (const sql of queries) {
      const found = yield* db.all<{ detail: string }>(`${sql} LIMIT ${PROBLEMS_MAX}`);
      problems.push(...found.map(({ detail }) => ({ rule, detail })));
    }
  }
  return problems;
}

type Totals = Pick<StoreInfo, "items" | "letters" | "attempts" | "jobs" | "events">;

export function* storeTotals(db: Db): Step<Totals> {
  const row = yield* db.get<Totals>(
    `SELECT coalesce(sum(${ITEM_STATES.join(" + ")}), 0) AS items, coalesce(sum(letters), 0) AS letters,
            coalesce(sum(attempts), 0) AS attempts, (SELECT count(*) FROM jobs) AS jobs,
            (SELECT coalesce(sum(span), 0) FROM events) AS events
       FROM ${db.sql.queueTotals}`,
  );
  return { ...(row ?? { items: 0, letters: 0, attempts: 0, jobs: 0, events: 0 }) };
}

/** Queries by rule name. Each returns a row with a `detail` for each violation. */
export type Rules = Readonly<Record<string, readonly string[]>>;

/** The rules of both stores. `selections` is the table or view that holds the letters of operations. */
export function sharedRules(sql: Dialect, selections: string): readonly Rules[] {
  const { queueTotals } = sql;
  return [
    itemRules(queueTotals),
    LETTER_RULES,
    groupRules(queueTotals),
    operationRules(selections),
    QUEUE_RULES,
  ];
}

function itemRules(queueTotals: string): Rules {
  return {
    "one state, counted once": [
      ...ITEM_STATES.map(
        (state) => `
          SELECT q.name || ' counts ' || q.${state} || ' ${state} items, there are ' || coalesce(i.n, 0) AS detail
            FROM ${queueTotals} q
            LEFT JOIN (SELECT queue, count(*) AS n FROM items WHERE state = '${state}' GROUP BY 1) i ON i.queue = q.no
           WHERE q.${state} <> coalesce(i.n, 0)`,
      ),
      `SELECT 'item ' || i.item_id || ' has no data' AS detail FROM items i
        WHERE i.purged = 0 AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.ref = i.ref)`,
    ],
    "every attempt leaves one record": [
      `SELECT 'item ' || i.item_id || ' started ' || i.attempts || ' attempts, recorded are ' || coalesce(a.n, 0)
              || ' up to ' || coalesce(a.last, 0) AS detail
         FROM (SELECT item_id, ref, purged, CASE state WHEN 'leased' THEN attempts - 1 ELSE attempts END AS attempts
                 FROM items) i
              LEFT JOIN (SELECT ref, count(*) AS n, max(number) AS last FROM attempts GROUP BY 1) a ON a.ref = i.ref
        WHERE i.purged = 0 AND (i.attempts <> coalesce(a.n, 0) OR i.attempts <> coalesce(a.last, 0))`,
      `SELECT q.name || ' counts ' || q.attempts || ' attempts, its items have ' || coalesce(i.n, 0) AS detail
         FROM ${queueTotals} q LEFT JOIN (SELECT queue, sum(attempts) AS n FROM items GROUP BY 1) i ON i.queue = q.no
        WHERE q.attempts <> coalesce(i.n, 0)`,
    ],
    "a lease has one holder": [
      `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and the record of attempt ' || a.number || ' has no end'
              AS detail
         FROM attempts a JOIN items i ON i.ref = a.ref WHERE a.outcome = 'running'`,
      `SELECT 'item ' || i.item_id || ' is leased without the time of its start' AS detail
         FROM items i WHERE i.state = 'leased' AND (i.started_at IS NULL OR i.attempts = 0)`,
      `SELECT 'item ' || i.item_id || ' is leased by ' || h.id || ', which has left' AS detail
         FROM items i JOIN holders h ON h.no = i.holder WHERE i.state = 'leased' AND h.gone = 1`,
    ],
    "data is amended, never overwritten": [
      `SELECT 'item ' || i.item_id || ' has revision ' || i.revision || ' and ' || coalesce(a.n, 0) || ' amendments'
              AS detail
         FROM items i
         LEFT JOIN (SELECT ref, count(*) AS n, max(revision) AS last FROM amendments GROUP BY 1) a ON a.ref = i.ref
        WHERE i.purged = 0 AND (i.revision <> 1 + coalesce(a.n, 0) OR i.revision <> coalesce(a.last, 1))`,
    ],
  };
}

/** A letter exists while its item is dead or in retry, keeps all its data, and leaves no data behind when it is purged. */
const LETTER_RULES: Rules = {
  "a letter keeps everything": [
    `SELECT 'dead item ' || i.item_id || ' has no letter' AS detail FROM items i
      WHERE i.state = 'dead' AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.ref = i.ref)`,
    `SELECT 'discarded item ' || i.item_id || ' has no letter and was not purged' AS detail FROM items i
      WHERE i.state = 'discarded' AND i.purged = 0 AND NOT EXISTS (SELECT 1 FROM resolved_letters c WHERE c.ref = i.ref)`,
    ...["letters", "resolved_letters"].map(
      (table) => `
        SELECT 'letter of item ' || i.item_id || ' has no failure' AS detail FROM ${table} l JOIN items i ON i.ref = l.ref
         WHERE NOT EXISTS (SELECT 1 FROM attempts a WHERE a.ref = l.ref AND a.outcome IN ('failed', 'lost'))`,
    ),
    ...["payloads", "attempts", "amendments", "letters", "resolved_letters", "notes", "progress"].map(
      (table) => `
        SELECT 'item ' || i.item_id || ' was purged and has ${table}' AS detail FROM items i
         WHERE i.purged = 1 AND EXISTS (SELECT 1 FROM ${table} t WHERE t.ref = i.ref)`,
    ),
    `SELECT 'item ' || i.item_id || ' was purged and has an ordering key or an expiry' AS detail FROM items i
      WHERE i.purged = 1 AND (i.ordering_key IS NOT NULL OR i.expires_at IS NOT NULL)`,
  ],
  "a letter leaves on success only": [
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and a letter that waits' AS detail
       FROM letters l JOIN items i ON i.ref = l.ref
      WHERE i.state <> 'dead'
        AND (i.state NOT IN ('ready', 'leased', 'held') OR i.redrives = 0 OR i.operation IS NULL)`,
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and its letter was closed as ' || c.kind AS detail
       FROM resolved_letters c JOIN items i ON i.ref = c.ref
      WHERE i.state <> CASE c.kind WHEN 'discard' THEN 'discarded' ELSE 'done' END`,
  ],
};

function groupRules(queueTotals: string): Rules {
  return {
    "groups count their letters": [
      `SELECT 'group ' || g.signature || ' counts ' || g.count || ' letters, ' || g.in_retry || ' in retry; there are '
              || coalesce(l.n, 0) || ' and ' || coalesce(l.in_retry, 0) AS detail
         FROM groups g
         LEFT JOIN (SELECT l.grp, count(*) AS n, count(*) FILTER (WHERE i.state <> 'dead') AS in_retry
                      FROM letters l JOIN items i ON i.ref = l.ref GROUP BY 1) l ON l.grp = g.no
        WHERE g.count <> coalesce(l.n, 0) OR g.in_retry <> coalesce(l.in_retry, 0)`,
      `SELECT 'group ' || g.signature || ' counts ' || g.resolved || ' resolved and ' || g.discarded
              || ' discarded letters, closed are ' || coalesce(c.resolved + c.discarded, 0) AS detail
         FROM groups g
         LEFT JOIN (SELECT grp, count(*) FILTER (WHERE kind <> 'discard') AS resolved,
                           count(*) FILTER (WHERE kind = 'discard') AS discarded FROM resolved_letters GROUP BY 1) c
                ON c.grp = g.no
        WHERE g.resolved <> coalesce(c.resolved, 0) OR g.discarded <> coalesce(c.discarded, 0)`,
      `SELECT q.name || ' counts ' || q.letters || ' letters and ' || q.resolved || ' resolved ones, its groups have '
              || coalesce(g.count, 0) || ' and ' || coalesce(g.resolved, 0) AS detail
         FROM ${queueTotals} q
         LEFT JOIN (SELECT queue, sum(count) AS count, sum(resolved) AS resolved FROM groups GROUP BY 1) g
                ON g.queue = q.no
        WHERE q.letters <> coalesce(g.count, 0) OR q.resolved <> coalesce(g.resolved, 0)`,
      `SELECT 'minute ' || coalesce(a.minute, l.minute) || ' of group ' || coalesce(a.grp, l.grp) || ' counts '
              || coalesce(a.waiting, 0) || ' letters, there are ' || coalesce(l.n, 0) AS detail
         FROM arrivals a
         FULL JOIN (SELECT grp, buried_at / 60000 AS minute, count(*) AS n FROM letters GROUP BY 1, 2) l
                ON l.grp = a.grp AND l.minute = a.minute
        WHERE coalesce(a.waiting, 0) <> coalesce(l.n, 0)`,
    ],
    "a group has its record": [
      `SELECT 'group ' || g.signature || ' has no record with the pattern ' || g.pattern AS detail
         FROM groups g LEFT JOIN group_records m ON m.signature = g.signature WHERE m.pattern IS DISTINCT FROM g.pattern`,
    ],
  };
}

function operationRules(selections: string): Rules {
  return {
    "an operation accounts for every letter": [
      `SELECT 'operation ' || o.id || ': selected ' || o.selected || ', done ' || o.done || ', refused ' || o.refused
              || '; of its letters ' || coalesce(s.n, 0) AS detail
         FROM operations o
         LEFT JOIN (SELECT operation, count(*) AS n, count(*) FILTER (WHERE status = 'done') AS done,
                           count(*) FILTER (WHERE status = 'refused') AS refused
                      FROM ${selections} GROUP BY 1) s ON s.operation = o.no
        WHERE o.listed = 1 AND (o.selected <> coalesce(s.n, 0) OR o.done <> coalesce(s.done, 0)
                                OR o.refused <> coalesce(s.refused, 0))`,
      `SELECT 'operation ' || o.id || ': done ' || o.done || ', succeeded ' || o.succeeded || ', failed ' || o.failed
              || ', in retry ' || coalesce(i.n, 0) AS detail
         FROM operations o
         LEFT JOIN (SELECT operation, count(*) AS n FROM items WHERE state IN ('ready', 'leased', 'held') GROUP BY 1) i
                ON i.operation = o.no
        WHERE o.kind = 'redrive' AND o.done <> o.succeeded + o.failed + coalesce(i.n, 0)`,
      `SELECT 'operation ' || id || ' has ended before its totals add up' AS detail FROM operations
        WHERE ended_at IS NOT NULL
          AND (done + refused <> selected OR (kind = 'redrive' AND succeeded + failed <> done))`,
    ],
    "an operation selects no letter buried later": [
      `SELECT 'operation ' || o.id || ' has selected letter ' || s.no AS detail
         FROM operations o JOIN selections s ON s.operation = o.no AND s.no > o.bound`,
    ],
  };
}

/** Counters and the events that they count. */
export const COUNTED_EVENTS: readonly (readonly [counter: string, type: string])[] = [
  ...["succeeded", "failed", "released", "lost"].map((end) => [`attempts.${end}`, `attempt_${end}`] as const),
  ["retries", "attempt_retrying"],
  ["parks", "attempt_parked"],
  ["store_write_failed", "store_write_failed"],
];

/**
 * Compares a counter with its expected values, given as a query for (queue, n). A queue may be missing on
 * either side.
 */
function counterIs(counter: string, sums: string): string {
  return `
    SELECT 'queue ' || coalesce(c.queue, s.queue) || ' counts ' || coalesce(c.value, 0) || ' ${counter}, there were '
           || coalesce(s.n, 0) AS detail
      FROM (SELECT queue, sum(value) AS value FROM counters WHERE name LIKE '${counter}' GROUP BY queue) c
      FULL JOIN (${sums}) s ON s.queue = c.queue WHERE coalesce(c.value, 0) <> coalesce(s.n, 0)`;
}

const eventsWhere = (condition: string) =>
  `SELECT queue, sum(span) AS n FROM events WHERE ${condition} AND queue IS NOT NULL GROUP BY queue`;

const QUEUE_RULES: Rules = {
  "counters count what happened": [
    ...COUNTED_EVENTS.map(([counter, type]) => counterIs(counter, eventsWhere(`type = '${type}'`))),
    counterIs("dead.%", eventsWhere("type = 'dlq_item_added' AND attempt IS NOT NULL")),
    ...["succeeded", "failed"].map((end) =>
      counterIs(`redrives.${end}`, `SELECT queue, sum(${end}) AS n FROM operations GROUP BY queue`),
    ),
  ],
  "items with one ordering key run one at a time": [
    `SELECT 'ordering key ' || i.ordering_key || ' has ' || count(*) || ' leased items' AS detail
       FROM items i WHERE i.ordering_key IS NOT NULL AND i.state = 'leased' GROUP BY i.queue, i.ordering_key HAVING count(*) > 1`,
  ],
  "a gate belongs to a queue": [
    `SELECT 'document ' || d.name || ' is not the gate of a queue' AS detail FROM documents d
      WHERE d.name LIKE 'gate/%' AND (d.body NOT LIKE '{%'
         OR NOT EXISTS (SELECT 1 FROM queues q WHERE q.name = substr(d.name, 6)))`,
  ],
  "items name what they were made from": [
    `SELECT 'item ' || i.item_id || ' was made from one that is younger or of another queue' AS detail
       FROM items i JOIN items o ON o.ref = i.origin WHERE o.ref >= i.ref OR o.queue <> i.queue`,
  ],
};
