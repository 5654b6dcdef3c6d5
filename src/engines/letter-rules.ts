/** What `store check` demands of letters in the same words in both SQL stores. */

/** Its name, and the query that must find nothing. */
export type Rule = readonly [rule: string, sql: string];

/** A letter is there while its item is dead or on its way, with all that it keeps, and leaves nothing when it is purged. */
export const KEPT_LETTERS: readonly Rule[] = [
  [
    "a letter keeps everything",
    `SELECT 'dead item ' || i.item_id || ' has no letter' AS detail FROM items i
      WHERE i.state = 'dead' AND NOT EXISTS (SELECT 1 FROM letters l WHERE l.ref = i.ref)`,
  ],
  [
    "a letter keeps everything",
    `SELECT 'discarded item ' || i.item_id || ' has no letter and was not purged' AS detail FROM items i
      WHERE i.state = 'discarded' AND i.purged = 0 AND NOT EXISTS (SELECT 1 FROM resolved_letters c WHERE c.ref = i.ref)`,
  ],
  ...["letters", "resolved_letters"].map(
    (table): Rule => [
      "a letter keeps everything",
      `SELECT 'letter of item ' || i.item_id || ' has no failure' AS detail FROM ${table} l JOIN items i ON i.ref = l.ref
        WHERE NOT EXISTS (SELECT 1 FROM attempts a WHERE a.ref = l.ref AND a.outcome IN ('failed', 'lost'))`,
    ],
  ),
  ...["payloads", "attempts", "amendments", "letters", "resolved_letters", "notes"].map(
    (table): Rule => [
      "a letter keeps everything",
      `SELECT 'item ' || i.item_id || ' was purged and has ${table}' AS detail FROM items i
        WHERE i.purged = 1 AND EXISTS (SELECT 1 FROM ${table} t WHERE t.ref = i.ref)`,
    ],
  ),
  [
    "a letter leaves on success only",
    `SELECT 'item ' || i.item_id || ' is ' || i.state || ' and a letter that waits' AS detail
       FROM letters l JOIN items i ON i.ref = l.ref
      WHERE i.state <> 'dead'
        AND (i.state NOT IN ('ready', 'leased', 'held') OR i.redrives = 0 OR i.operation IS NULL)`,
  ],
];
