/**
 * Every invariant of the store as a query. Each names what breaks its rule; a clean store gives no rows. What is kept
 * incrementally is counted anew and compared.
 */
import { ITEM_STATES } from "../../item/state.ts";
import { KEPT_LETTERS, type Rule } from "../letter-rules.ts";
import { IN_STRATUM } from "./letters-by-age.ts";

/** The attempts of an item `i` that have ended; the one that runs has no record yet. */
const ENDED = "i.attempts - (i.state = 'leased')";

const ITEM_RULES: readonly Rule[] = [
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
      WHERE i.purged = 0 AND NOT EXISTS (SELECT 1 FROM payloads p WHERE p.ref = i.ref)`,
  ],
  [
    "every attempt leaves one record",
    `SELECT 'item ' || i.item_id || ' started ' || i.attempts || ' attempts, recorded are ' || count(a.number) || ' up to '
            || coalesce(max(a.number), 0) AS detail
       FROM items i LEFT JOIN attempts a ON a.ref = i.ref GROUP BY i.ref
     HAVING i.purged = 0 AND (${ENDED} <> count(a.number) OR ${ENDED} <> coalesce(max(a.number), 0))`,
  ],
  [
    "every attempt leaves one record",
    `SELECT q.name || ' counts ' || q.attempts || ' attempts, its items have ' || coalesce(sum(i.attempts), 0) AS detail
       FROM queues q LEFT JOIN items i ON i.queue = q.no GROUP BY q.no
     HAVING q.attempts <> coalesce(sum(i.attempts), 0)`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and the record of attempt ' || a.number || ' has no end' AS detail
       FROM attempts a JOIN items i ON i.ref = a.ref WHERE a.outcome = 'running'`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased, and nobody knows since when' AS detail
       FROM items i WHERE i.state = 'leased' AND (i.started_at IS NULL OR i.attempts = 0)`,
  ],
  [
    "a lease has one holder",
    `SELECT 'item ' || i.item_id || ' is leased by ' || h.id || ', which has left' AS detail
       FROM items i JOIN holders h ON h.no = i.holder WHERE i.state = 'leased' AND h.gone = 1`,
  ],
  [
    "data is amended, never overwritten",
    `SELECT 'item ' || i.item_id || ' has revision ' || i.revision || ' and ' || count(a.revision) || ' amendments' AS detail
       FROM items i LEFT JOIN amendments a ON a.ref = i.ref WHERE i.purged = 0 GROUP BY i.ref
     HAVING i.revision <> 1 + count(a.revision) OR i.revision <> coalesce(max(a.revision), 1)`,
  ],
];

const LETTER_RULES: readonly Rule[] = [
  ...KEPT_LETTERS,
  [
    "a letter leaves on success only",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and its letter was closed as ' || c.kind AS detail
       FROM resolved_letters c JOIN items i ON i.ref = c.ref WHERE i.state <> iif(c.kind = 'discard', 'discarded', 'done')`,
  ],
];

const GROUP_RULES: readonly Rule[] = [
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', there are ' || count(l.no) AS detail
       FROM groups g LEFT JOIN letters l ON l.grp = g.no GROUP BY g.no HAVING g.count <> count(l.no)`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.away || ' letters on their way, there are ' || count(i.ref) AS detail
       FROM groups g LEFT JOIN letters l ON l.grp = g.no LEFT JOIN items i ON i.ref = l.ref AND i.state <> 'dead'
      GROUP BY g.no HAVING g.away <> count(i.ref)`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.resolved || ' resolved and ' || g.discarded
            || ' discarded letters, closed are ' || count(c.no) AS detail
       FROM groups g LEFT JOIN resolved_letters c ON c.grp = g.no GROUP BY g.no
     HAVING g.resolved <> count(c.no) FILTER (WHERE c.kind <> 'discard')
         OR g.discarded <> count(c.no) FILTER (WHERE c.kind = 'discard')`,
  ],
  [
    "groups count their letters",
    `SELECT q.name || ' counts ' || q.letters || ' letters and ' || q.resolved || ' resolved ones, its groups have '
            || coalesce(sum(g.count), 0) || ' and ' || coalesce(sum(g.resolved), 0) AS detail
       FROM queues q LEFT JOIN groups g ON g.queue = q.no GROUP BY q.no
     HAVING q.letters <> coalesce(sum(g.count), 0) OR q.resolved <> coalesce(sum(g.resolved), 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', its strata have ' || coalesce(sum(s.count), 0) AS detail
       FROM groups g LEFT JOIN letters_by_age s ON s.grp = g.no GROUP BY g.no HAVING g.count <> coalesce(sum(s.count), 0)`,
  ],
  [
    "groups count their letters",
    `SELECT 'stratum ' || s.stratum || ' of group ' || s.grp || ' counts ' || s.count || ', there are '
            || count(l.no) AS detail
       FROM letters_by_age s LEFT JOIN letters l ON l.grp = s.grp AND ${IN_STRATUM} AND l.buried_at BETWEEN s.first_at AND s.last_at
            AND l.first_at BETWEEN s.first_min AND s.first_max
      GROUP BY s.grp, s.stratum HAVING s.count <> count(l.no)`,
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
  [
    "groups count their letters",
    `SELECT 'queue ' || coalesce(t.queue, i.queue) || ' counts ' || coalesce(t.count, 0) || ' dead items with '
            || coalesce(t.attempts, i.attempts) || ' attempts, there are ' || coalesce(i.n, 0) AS detail
       FROM letters_by_attempts t
       FULL JOIN (SELECT queue, attempts, count(*) AS n FROM items WHERE state = 'dead' GROUP BY 1, 2) i
              ON i.queue = t.queue AND i.attempts = t.attempts
      WHERE coalesce(t.count, 0) <> coalesce(i.n, 0)`,
  ],
];

const MARK_RULES: readonly Rule[] = [
  [
    "a group has its mark",
    `SELECT 'group ' || g.signature || ' has no mark that says ' || g.pattern AS detail
       FROM groups g LEFT JOIN group_records m ON m.signature = g.signature WHERE m.pattern IS NOT g.pattern`,
  ],
];

const OPERATION_RULES: readonly Rule[] = [
  [
    "an operation accounts for all",
    `SELECT 'operation ' || o.id || ': selected ' || o.selected || ', done ' || o.done || ', refused ' || o.refused
            || '; of its letters ' || count(s.no) AS detail
       FROM operations o LEFT JOIN selections s ON s.operation = o.no WHERE o.listed = 1 GROUP BY o.no
     HAVING o.selected <> count(s.no) OR o.done <> count(s.no) FILTER (WHERE s.status = 'done')
         OR o.refused <> count(s.no) FILTER (WHERE s.status = 'refused')`,
  ],
  [
    "an operation accounts for all",
    `SELECT 'operation ' || o.id || ': done ' || o.done || ', succeeded ' || o.succeeded || ', failed ' || o.failed
            || ', at work ' || count(i.ref) AS detail
       FROM operations o LEFT JOIN items i ON i.operation = o.no AND i.state IN ('ready', 'leased', 'held')
      WHERE o.kind = 'redrive' GROUP BY o.no HAVING o.done <> o.succeeded + o.failed + count(i.ref)`,
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
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no <= o.next_no AND s.status = 'pending'`,
  ],
];

/** All of them. */
export const RULES: readonly Rule[] = [
  ...ITEM_RULES,
  ...LETTER_RULES,
  ...GROUP_RULES,
  ...MARK_RULES,
  ...OPERATION_RULES,
];
