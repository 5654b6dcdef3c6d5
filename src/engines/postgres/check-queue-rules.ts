/** The invariants of queues as queries: the line, lanes, counters, gates, and items that were made from others. */
import type { Rule } from "../letter-rules.ts";

/** A place of the line that is the item's own. */
const OWN_PLACE = `n.queue = i.queue AND n.priority = i.priority AND n.due_at = i.due_at AND n.ref = i.ref
  AND n.operation IS NOT DISTINCT FROM i.operation`;

/** Another item of the lane of `i` that has to come first. */
const FIRST = "o.queue = i.queue AND o.lane = i.lane AND o.ref <> i.ref AND (o.ref < i.ref OR o.leased = 1)";

/** The line and the lanes follow from the items. */
const LINE_RULES: readonly Rule[] = [
  [
    "what is ready stands in line",
    `SELECT 'item ' || i.item_id || ' is ready and not in line' AS detail FROM items i
      WHERE i.state = 'ready' AND NOT EXISTS (SELECT 1 FROM ready_items n WHERE ${OWN_PLACE})
        AND NOT EXISTS (SELECT 1 FROM lanes o WHERE ${FIRST})`,
  ],
  [
    "what is ready stands in line",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and stands in line at ' || n.due_at AS detail
       FROM ready_items n JOIN items i ON i.ref = n.ref WHERE i.state <> 'ready' OR NOT (${OWN_PLACE})`,
  ],
  [
    "a lane is worked one at a time",
    `SELECT 'item ' || i.item_id || ' stands in line before others of its lane' AS detail
       FROM ready_items n JOIN items i ON i.ref = n.ref WHERE EXISTS (SELECT 1 FROM lanes o WHERE ${FIRST})`,
  ],
  [
    "a lane is worked one at a time",
    `SELECT 'lane ' || lane || ' has ' || count(*) || ' leased items' AS detail
       FROM items WHERE lane IS NOT NULL AND state = 'leased' GROUP BY queue, lane HAVING count(*) > 1`,
  ],
  [
    "a lane is worked one at a time",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and its lane says otherwise' AS detail
       FROM items i LEFT JOIN lanes o ON o.queue = i.queue AND o.lane = i.lane AND o.ref = i.ref
      WHERE (i.lane IS NOT NULL AND i.state IN ('ready', 'leased', 'held')) <> (o.ref IS NOT NULL)
         OR (o.leased = 1) <> (i.state = 'leased')`,
  ],
];

/** The end of an attempt is an event. */
const TOLD: readonly (readonly [counter: string, type: string])[] = [
  ...["succeeded", "failed", "released", "lost"].map((end) => [`attempts.${end}`, `attempt_${end}`] as const),
  ["retries", "attempt_retrying"],
  ["parks", "attempt_parked"],
  ["store_write_failed", "store_write_failed"],
];

/** What a counter must be, as (queue, n); the counter is compared with it, and both may be missing. */
function equals(counter: string, sums: string): Rule {
  return [
    "counters count what happened",
    `SELECT 'queue ' || coalesce(c.queue, s.queue) || ' counts ' || coalesce(c.value, 0) || ' ${counter}, there were '
            || coalesce(s.n, 0) AS detail
       FROM (SELECT queue, sum(value) AS value FROM counters WHERE name LIKE '${counter}' GROUP BY queue) c
       FULL JOIN (${sums}) s ON s.queue = c.queue WHERE coalesce(c.value, 0) <> coalesce(s.n, 0)`,
  ];
}

const COUNTER_RULES: readonly Rule[] = [
  ...TOLD.map(([counter, type]) =>
    equals(counter, `SELECT queue, sum(span) AS n FROM events WHERE type = '${type}' GROUP BY queue`),
  ),
  equals(
    "dead.%",
    "SELECT queue, count(*) AS n FROM events WHERE type = 'dlq_item_added' AND attempt IS NOT NULL GROUP BY queue",
  ),
  ...["succeeded", "failed"].map((end) =>
    equals(`redrives.${end}`, `SELECT queue, sum(${end}) AS n FROM operations GROUP BY queue`),
  ),
];

const OTHER_RULES: readonly Rule[] = [
  [
    "a gate belongs to a queue",
    `SELECT 'document ' || d.name || ' is no gate of a queue' AS detail FROM documents d
      WHERE d.name LIKE 'gate/%' AND (json_typeof(d.body::json) <> 'object'
         OR NOT EXISTS (SELECT 1 FROM queues q WHERE q.name = substr(d.name, 6)))`,
  ],
  [
    "items name what they were made from",
    `SELECT 'item ' || i.item_id || ' was made from one that is younger or of another queue' AS detail
       FROM items i JOIN items o ON o.ref = i.origin WHERE o.ref >= i.ref OR o.queue <> i.queue`,
  ],
  [
    "a letter keeps everything",
    `SELECT 'item ' || i.item_id || ' was purged and has a lane or an expiry' AS detail FROM items i
      WHERE i.purged = 1 AND (i.lane IS NOT NULL OR i.expires_at IS NOT NULL)`,
  ],
];

export const QUEUE_RULES: readonly Rule[] = [...LINE_RULES, ...COUNTER_RULES, ...OTHER_RULES];
