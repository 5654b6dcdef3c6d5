/**
 * Every invariant of the store as a query. Each names what breaks its rule; a clean store gives no rows. What is kept
 * incrementally is counted anew and compared, and what no foreign key watches, because it would cost every worker, is
 * watched here.
 */
import { ITEM_STATES } from "../../item/state.ts";
import { KEPT_LETTERS, type Rule } from "../letter-rules.ts";

/** Columns that name a row of another table. */
const POINTERS: readonly (readonly [from: string, column: string, to: string, key: string])[] = [
  ["items", "queue", "queues", "no"],
  ["items", "holder", "holders", "no"],
  ["items", "operation", "operations", "no"],
  ["items", "origin", "items", "ref"],
  ["payloads", "ref", "items", "ref"],
  ["attempts", "ref", "items", "ref"],
  ["attempts", "holder", "holders", "no"],
  ["letters", "ref", "items", "ref"],
  ["letters", "grp", "groups", "no"],
  ["resolved_letters", "ref", "items", "ref"],
  ["resolved_letters", "grp", "groups", "no"],
  ["arrivals", "grp", "groups", "no"],
  ["late_results", "ref", "items", "ref"],
  ["notes", "ref", "items", "ref"],
  ["amendments", "ref", "items", "ref"],
  ["selections", "operation", "operations", "no"],
  ["selections", "ref", "items", "ref"],
  ["ready_items", "ref", "items", "ref"],
  ["lanes", "ref", "items", "ref"],
];

const POINTER_RULES: readonly Rule[] = POINTERS.map(([from, column, to, key]) => [
  "integrity",
  `SELECT '${from}.${column} ' || f.${column} || ' points at no row of ${to}' AS detail FROM ${from} f
    WHERE f.${column} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ${to} t WHERE t.${key} = f.${column})`,
]);

const ITEM_RULES: readonly Rule[] = [
  ...ITEM_STATES.map(
    (state): Rule => [
      "one state, one place",
      `SELECT q.name || ' counts ' || q.${state} || ' ${state} items, there are ' || coalesce(i.n, 0) AS detail
         FROM queue_totals q
         LEFT JOIN (SELECT queue, count(*) AS n FROM items WHERE state = '${state}' GROUP BY 1) i ON i.queue = q.no
        WHERE q.${state} <> coalesce(i.n, 0)`,
    ],
  ),
  [
    "one state, one place",
    `SELECT 'item ' || i.item_id || ' has no data' AS detail FROM items i
      WHERE i.purged = 0 AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.ref = i.ref)`,
  ],
  [
    "every attempt leaves one record",
    `SELECT 'item ' || i.item_id || ' started ' || i.attempts || ' attempts, recorded are ' || coalesce(a.n, 0) || ' up to '
            || coalesce(a.last, 0) AS detail
       FROM (SELECT item_id, ref, purged, CASE state WHEN 'leased' THEN attempts - 1 ELSE attempts END AS attempts FROM items) i
            LEFT JOIN (SELECT ref, count(*) AS n, max(number) AS last FROM attempts GROUP BY 1) a ON a.ref = i.ref
      WHERE i.purged = 0 AND (i.attempts <> coalesce(a.n, 0) OR i.attempts <> coalesce(a.last, 0))`,
  ],
  [
    "every attempt leaves one record",
    `SELECT q.name || ' counts ' || q.attempts || ' attempts, its items have ' || coalesce(i.n, 0) AS detail
       FROM queue_totals q LEFT JOIN (SELECT queue, sum(attempts) AS n FROM items GROUP BY 1) i ON i.queue = q.no
      WHERE q.attempts <> coalesce(i.n, 0)`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased, and it is not known since when' AS detail
       FROM items i WHERE i.state = 'leased' AND i.started_at IS NULL`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased and not among what its holder was given' AS detail
       FROM items i WHERE i.state = 'leased' AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.holder = i.holder AND i.ref = ANY (l.refs))`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased by ' || h.id || ', which has left' AS detail
       FROM items i JOIN holders h ON h.no = i.holder WHERE i.state = 'leased' AND h.gone = 1`,
  ],
  [
    "data is amended, never overwritten",
    `SELECT 'item ' || i.item_id || ' has revision ' || i.revision || ' and ' || coalesce(a.n, 0) || ' amendments' AS detail
       FROM items i
       LEFT JOIN (SELECT ref, count(*) AS n, max(revision) AS last FROM amendments GROUP BY 1) a ON a.ref = i.ref
      WHERE i.purged = 0 AND (i.revision <> 1 + coalesce(a.n, 0) OR i.revision <> coalesce(a.last, 1))`,
  ],
];

const LETTER_RULES: readonly Rule[] = [
  ...KEPT_LETTERS,
  [
    "a letter leaves on success only",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and its letter was closed as ' || c.kind AS detail
       FROM resolved_letters c JOIN items i ON i.ref = c.ref
      WHERE i.state <> CASE c.kind WHEN 'discard' THEN 'discarded' ELSE 'done' END`,
  ],
  [
    "an operation touches nothing that is buried later",
    `SELECT 'letter ' || l.no || ' has a number above that of the newest burial' AS detail
       FROM (SELECT no FROM letters UNION ALL SELECT no FROM resolved_letters) l WHERE l.no > (SELECT last FROM letter_numbers)`,
  ],
];

const GROUP_RULES: readonly Rule[] = [
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ' letters, ' || g.away || ' on their way; there are '
            || coalesce(l.n, 0) || ' and ' || coalesce(l.away, 0) AS detail
       FROM groups g
       LEFT JOIN (SELECT l.grp, count(*) AS n, count(*) FILTER (WHERE i.state <> 'dead') AS away
                    FROM letters l JOIN items i ON i.ref = l.ref GROUP BY 1) l ON l.grp = g.no
      WHERE g.count <> coalesce(l.n, 0) OR g.away <> coalesce(l.away, 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.resolved || ' resolved and ' || g.discarded
            || ' discarded letters, closed are ' || coalesce(c.resolved + c.discarded, 0) AS detail
       FROM groups g
       LEFT JOIN (SELECT grp, count(*) FILTER (WHERE kind <> 'discard') AS resolved,
                         count(*) FILTER (WHERE kind = 'discard') AS discarded FROM resolved_letters GROUP BY 1) c ON c.grp = g.no
      WHERE g.resolved <> coalesce(c.resolved, 0) OR g.discarded <> coalesce(c.discarded, 0)`,
  ],
  [
    "groups count their letters",
    `SELECT q.name || ' counts ' || q.letters || ' letters and ' || q.resolved || ' resolved ones, its groups have '
            || coalesce(g.count, 0) || ' and ' || coalesce(g.resolved, 0) AS detail
       FROM queue_totals q
       LEFT JOIN (SELECT queue, sum(count) AS count, sum(resolved) AS resolved FROM groups GROUP BY 1) g ON g.queue = q.no
      WHERE q.letters <> coalesce(g.count, 0) OR q.resolved <> coalesce(g.resolved, 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'minute ' || coalesce(a.minute, l.minute) || ' of group ' || coalesce(a.grp, l.grp) || ' counts '
            || coalesce(a.waiting, 0) || ' letters, there are ' || coalesce(l.n, 0) AS detail
       FROM arrivals a
       FULL JOIN (SELECT grp, buried_at / 60000 AS minute, count(*) AS n FROM letters GROUP BY 1, 2) l
              ON l.grp = a.grp AND l.minute = a.minute
      WHERE coalesce(a.waiting, 0) <> coalesce(l.n, 0)`,
  ],
];

const MARK_RULES: readonly Rule[] = [
  [
    "a group has its mark",
    `SELECT 'group ' || g.signature || ' has no mark that says ' || g.pattern AS detail
       FROM groups g LEFT JOIN group_records m ON m.signature = g.signature WHERE m.pattern IS DISTINCT FROM g.pattern`,
  ],
];

const OPERATION_RULES: readonly Rule[] = [
  [
    "an operation accounts for all",
    `SELECT 'operation ' || o.id || ': selected ' || o.selected || ', done ' || o.done || ', refused ' || o.refused
            || '; of its letters ' || coalesce(s.n, 0) AS detail
       FROM operations o
       LEFT JOIN (SELECT operation, count(*) AS n, count(*) FILTER (WHERE status = 'done') AS done,
                         count(*) FILTER (WHERE status = 'refused') AS refused
                    FROM selected GROUP BY 1) s ON s.operation = o.no
      WHERE o.listed = 1 AND (o.selected <> coalesce(s.n, 0) OR o.done <> coalesce(s.done, 0)
                              OR o.refused <> coalesce(s.refused, 0))`,
  ],
  [
    "an operation accounts for all",
    `SELECT 'operation ' || o.id || ': done ' || o.done || ', succeeded ' || o.succeeded || ', failed ' || o.failed
            || ', at work ' || coalesce(i.n, 0) AS detail
       FROM operations o
       LEFT JOIN (SELECT operation, count(*) AS n FROM items WHERE state IN ('ready', 'leased', 'held') GROUP BY 1) i
              ON i.operation = o.no
      WHERE o.kind = 'redrive' AND o.done <> o.succeeded + o.failed + coalesce(i.n, 0)`,
  ],
  [
    "an operation accounts for all",
    `SELECT 'operation ' || id || ' has ended before its totals add up' AS detail FROM operations
      WHERE ended_at IS NOT NULL
        AND (done + refused <> selected OR (kind = 'redrive' AND succeeded + failed <> done))`,
  ],
  [
    "an operation touches nothing that is buried later",
    `SELECT 'operation ' || o.id || ' has selected letter ' || s.no AS detail
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no > o.bound`,
  ],
  [
    "an operation accounts for all",
    `SELECT 'letter ' || s.no || ' of operation ' || o.id || ' is pending and was passed over' AS detail
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no <= o.next_no AND s.status = 'pending'
      WHERE o.kind <> 'redrive'`,
  ],
];

/** All of them. */
export const RULES: readonly Rule[] = [
  ...POINTER_RULES,
  ...ITEM_RULES,
  ...LETTER_RULES,
  ...GROUP_RULES,
  ...MARK_RULES,
  ...OPERATION_RULES,
];
