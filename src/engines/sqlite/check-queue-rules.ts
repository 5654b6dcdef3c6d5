/** The invariants of queues as queries: lanes, counters, gates, and items that were made from others. See check-rules.ts. */
import type { Rule } from "../letter-rules.ts";
import { TOLD } from "./migrations/version-3.ts";

/** The states in which an item keeps the younger ones of its lane waiting. */
const IN_THE_WAY = "('ready', 'leased', 'held')";

/** Another item `o` of the lane of `i` that has to come first. */
const FIRST = `o.queue = i.queue AND o.lane = i.lane AND o.ref <> i.ref
  AND (o.state = 'leased' OR (o.ref < i.ref AND o.state IN ${IN_THE_WAY}))`;

const LANE_RULES: readonly Rule[] = [
  [
    "a lane is worked one at a time",
    `SELECT 'lane ' || i.lane || ' has ' || count(*) || ' leased items' AS detail
       FROM items i WHERE i.lane IS NOT NULL AND i.state = 'leased' GROUP BY i.queue, i.lane HAVING count(*) > 1`,
  ],
  [
    "a lane is worked one at a time",
    `SELECT 'item ' || i.item_id || ' stands in line before others of its lane' AS detail FROM items i
      WHERE i.lane IS NOT NULL AND i.state = 'ready' AND i.waits = 0
        AND EXISTS (SELECT 1 FROM items o WHERE o.lane IS NOT NULL AND o.state IN ${IN_THE_WAY} AND ${FIRST})`,
  ],
  [
    "a lane is worked one at a time",
    `SELECT 'item ' || i.item_id || ' waits for nobody of its lane' AS detail FROM items i
      WHERE i.lane IS NOT NULL AND i.state = 'ready' AND i.waits = 1
        AND NOT EXISTS (SELECT 1 FROM items o WHERE o.lane IS NOT NULL AND o.state IN ${IN_THE_WAY} AND ${FIRST})`,
  ],
];

/** What a counter must be, as (queue, sum); the counter is compared with it, and both may be missing. */
function equals(counter: string, sums: string): Rule {
  return [
    "counters count what happened",
    `SELECT 'queue ' || coalesce(c.queue, s.queue) || ' counts ' || coalesce(c.value, 0) || ' ${counter}, there were '
            || coalesce(s.n, 0) AS detail
       FROM (SELECT queue, sum(value) AS value FROM counters WHERE name GLOB '${counter}' GROUP BY queue) c
       FULL JOIN (${sums}) s ON s.queue = c.queue WHERE coalesce(c.value, 0) <> coalesce(s.n, 0)`,
  ];
}

const COUNTER_RULES: readonly Rule[] = [
  ...TOLD.map(([counter, type]) =>
    equals(
      counter,
      `SELECT queue, sum(span) AS n FROM events WHERE type = '${type}' AND queue IS NOT NULL GROUP BY queue`,
    ),
  ),
  equals(
    "dead.*",
    `SELECT queue, sum(span) AS n FROM events WHERE type = 'dlq_item_added' AND attempt IS NOT NULL GROUP BY queue`,
  ),
  ...(["succeeded", "failed"] as const).map((end) =>
    equals(`redrives.${end}`, `SELECT queue, sum(${end}) AS n FROM operations GROUP BY queue`),
  ),
];

const EVENT_RULES: readonly Rule[] = [
  [
    "every event has its number",
    `SELECT 'events up to ' || id || ' are ' || span || ', and name ' || json_array_length(refs) || ' items' AS detail
       FROM events WHERE refs IS NOT NULL AND (json_array_length(refs) <> span OR ref IS NOT NULL OR data IS NOT NULL)`,
  ],
  [
    "every event has its number",
    `SELECT 'the ' || span || ' events up to ' || id || ' begin before the last one, ' || last AS detail
       FROM (SELECT id, span, lag(id, 1, 0) OVER (ORDER BY id) AS last FROM events) WHERE id - span < last`,
  ],
];

const OTHER_RULES: readonly Rule[] = [
  [
    "a gate belongs to a queue",
    `SELECT 'document ' || d.name || ' is no gate of a queue' AS detail FROM documents d
      WHERE d.name GLOB 'gate/*' AND (json_type(d.body) <> 'object'
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

export const QUEUE_RULES: readonly Rule[] = [...LANE_RULES, ...COUNTER_RULES, ...EVENT_RULES, ...OTHER_RULES];
