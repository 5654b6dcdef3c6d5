/** The invariants of tables and columns that only SQLite has; see `sql/check-rules.ts`. */
import type { Rules } from "../sql/check-rules.ts";
import { IN_RANGE } from "./letters-by-age.ts";
import { INDEXED_TO } from "./text-index.ts";

/** Finds another item `o` with the ordering key of `i` that must run first. */
const FIRST = `SELECT 1 FROM items o WHERE o.ordering_key IS NOT NULL AND o.state IN ('ready', 'leased', 'held')
  AND o.queue = i.queue AND o.ordering_key = i.ordering_key AND o.ref <> i.ref AND (o.state = 'leased' OR o.ref < i.ref)`;

export const TEXT_RULE = "texts are found where they are";

export const RULES: Rules = {
  "groups count their letters": [
    `SELECT 'group ' || g.signature || ' counts ' || g.count || ', its ranges have ' || coalesce(sum(s.count), 0) AS detail
       FROM groups g LEFT JOIN letters_by_age s ON s.grp = g.no GROUP BY g.no HAVING g.count <> coalesce(sum(s.count), 0)`,
    `SELECT 'the range ' || s.number_range || ' of group ' || s.grp || ' counts ' || s.count || ', there are '
            || count(l.no) AS detail
       FROM letters_by_age s LEFT JOIN letters l ON l.grp = s.grp AND ${IN_RANGE}
            AND l.buried_at BETWEEN s.first_at AND s.last_at AND l.first_at BETWEEN s.first_min AND s.first_max
      GROUP BY s.grp, s.number_range HAVING s.count <> count(l.no)`,
    // The counts of all groups together must be the sums of the groups' counts.
    `SELECT 'the range ' || number_range || ' counts ' || coalesce(a.count, 0) || ' letters, its groups ' || coalesce(s.count, 0)
            AS detail
       FROM letters_by_age_of_all a
       FULL JOIN (SELECT number_range, sum(count) AS count, min(first_at) AS first_at, max(last_at) AS last_at,
                         min(first_min) AS first_min, max(first_max) AS first_max
                    FROM letters_by_age GROUP BY number_range) s USING (number_range)
      WHERE coalesce(a.count, 0) <> coalesce(s.count, 0) OR a.first_at > s.first_at OR a.last_at < s.last_at
         OR a.first_min > s.first_min OR a.first_max < s.first_max`,
    `SELECT 'queue ' || coalesce(t.queue, i.queue) || ' counts ' || coalesce(t.count, 0) || ' dead items with '
            || coalesce(t.attempts, i.attempts) || ' attempts, there are ' || coalesce(i.n, 0) AS detail
       FROM letters_by_attempts t
       FULL JOIN (SELECT queue, attempts, count(*) AS n FROM items WHERE state = 'dead' GROUP BY 1, 2) i
              ON i.queue = t.queue AND i.attempts = t.attempts
      WHERE coalesce(t.count, 0) <> coalesce(i.n, 0)`,
  ],
  "an operation accounts for all": [
    `SELECT 'letter ' || s.no || ' of operation ' || o.id || ' is pending and was passed over' AS detail
       FROM operations o JOIN selections s ON s.operation = o.no AND s.no <= o.next_no AND s.status = 'pending'`,
  ],
  "an ordering key is worked one at a time": [
    `SELECT 'item ' || i.item_id || ' stands in line before others with its ordering key' AS detail FROM items i
      WHERE i.ordering_key IS NOT NULL AND i.state = 'ready' AND i.waits = 0 AND EXISTS (${FIRST})`,
    `SELECT 'item ' || i.item_id || ' waits for nobody with its ordering key' AS detail FROM items i
      WHERE i.ordering_key IS NOT NULL AND i.state = 'ready' AND i.waits = 1 AND NOT EXISTS (${FIRST})`,
  ],
  "every event has its number": [
    `SELECT 'events up to ' || id || ' are ' || span || ', and name ' || json_array_length(refs) || ' items' AS detail
       FROM events WHERE refs IS NOT NULL AND (json_array_length(refs) <> span OR ref IS NOT NULL OR data IS NOT NULL)`,
    `SELECT 'the ' || span || ' events up to ' || id || ' begin before the last one, ' || last AS detail
       FROM (SELECT id, span, lag(id, 1, 0) OVER (ORDER BY id) AS last FROM events) WHERE id - span < last`,
  ],
  [TEXT_RULE]: [
    `SELECT 'template ' || w.no || ' counts ' || w.count || ' letters, there are ' || count(s.no) AS detail
       FROM message_templates w LEFT JOIN indexed_messages s ON s.template = w.no GROUP BY w.no HAVING w.count <> count(s.no)`,
    `SELECT 'letter ' || l.no || ' is neither indexed nor to be indexed' AS detail FROM letters l
      WHERE l.no <= ${INDEXED_TO} AND NOT EXISTS (SELECT 1 FROM indexed_messages s WHERE s.no = l.no)
        AND NOT EXISTS (SELECT 1 FROM unindexed_letters u WHERE u.no = l.no)`,
    `SELECT 'letter ' || u.no || ' is indexed and to be indexed' AS detail FROM unindexed_letters u JOIN indexed_messages s ON s.no = u.no`,
    ...["indexed_messages", "unindexed_letters"].map(
      (table) => `
        SELECT 'letter ' || t.no || ' is in ${table} and does not exist' AS detail FROM ${table} t
         WHERE t.no > ${INDEXED_TO} OR NOT EXISTS (SELECT 1 FROM letters l WHERE l.no = t.no)`,
    ),
    `SELECT 'letter ' || l.no || ' is of group ' || l.grp || ', its template of ' || w.grp AS detail
       FROM letters l JOIN indexed_messages s ON s.no = l.no JOIN message_templates w ON w.no = s.template WHERE w.grp <> l.grp`,
  ],
};
