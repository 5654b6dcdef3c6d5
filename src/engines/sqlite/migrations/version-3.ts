/** From version 2 to 3: queues with priorities, lanes, pauses and rates; documents, counters and an error log. */
import { ERROR_EVENTS } from "../../../item/error-log.ts";
import { ATTEMPT_OUTCOMES, PRIORITIES, rankOf } from "../../../item/item.ts";
import { ITEM_STATES } from "../../../item/state.ts";
import { anyOf, oneOf, restate } from "./checks.ts";

/**
 * The condition for error events. SQLite uses the index only for queries that contain exactly this text. It
 * compares values one by one, because for `IN` SQLite would build a table for every event that is written.
 */
export const ERRORS = `(${ERROR_EVENTS.map((type) => `type = '${type}'`).join(" OR ")})`;

const ENDS = ["succeeded", "failed", "released", "lost"] as const;

/** Counters, and the types of the events that they count. */
const TOLD: readonly (readonly [counter: string, type: string])[] = [
  ...ENDS.map((end) => [`attempts.${end}`, `attempt_${end}`] as const),
  ["retries", "attempt_retrying"],
  ["parks", "attempt_parked"],
  ["store_write_failed", "store_write_failed"],
];

/** Cheaper CHECKs for the tables that are written in every attempt. */
const QUICK_CHECKS = restate([
  ["items", oneOf("state", ITEM_STATES), anyOf("state", ITEM_STATES)],
  [
    "items",
    "CHECK (state NOT IN ('done', 'dead', 'skipped') OR attempts > 0)",
    "CHECK (attempts > 0 OR (state <> 'done' AND state <> 'dead' AND state <> 'skipped'))",
  ],
  ["attempts", oneOf("outcome", ATTEMPT_OUTCOMES), anyOf("outcome", ATTEMPT_OUTCOMES)],
]);

const COUNT_IN = `INSERT INTO tries (queue, attempts, count) VALUES (NEW.queue, NEW.attempts, 1)
    ON CONFLICT DO UPDATE SET count = count + 1;`;
const COUNT_OUT = `UPDATE tries SET count = count - 1 WHERE queue = OLD.queue AND attempts = OLD.attempts;`;

const STRATA_OF_ALL = `
  CREATE TABLE strata_of_all (
    stratum  INTEGER PRIMARY KEY,
    count    INTEGER NOT NULL CHECK (count >= 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
  ) STRICT;
  INSERT INTO strata_of_all (stratum, count, first_at, last_at)
  SELECT stratum, sum(count), min(first_at), max(last_at) FROM strata GROUP BY stratum;

  CREATE TRIGGER strata_added AFTER INSERT ON strata BEGIN
    INSERT INTO strata_of_all (stratum, count, first_at, last_at)
    VALUES (NEW.stratum, NEW.count, NEW.first_at, NEW.last_at)
    ON CONFLICT DO UPDATE SET count = count + NEW.count, first_at = min(first_at, NEW.first_at),
                              last_at = max(last_at, NEW.last_at);
  END;
  CREATE TRIGGER strata_changed AFTER UPDATE ON strata BEGIN
    UPDATE strata_of_all SET count = count + NEW.count - OLD.count, first_at = min(first_at, NEW.first_at),
                             last_at = max(last_at, NEW.last_at)
     WHERE stratum = NEW.stratum;
  END;
  CREATE TRIGGER strata_removed AFTER DELETE ON strata BEGIN
    UPDATE strata_of_all SET count = count - OLD.count WHERE stratum = OLD.stratum;
  END;
`;

const READ_TO = "(SELECT no FROM read_to)";

const TEXT_INDEX = `
  -- Message templates of a group, in lower case, with blanks in place of figures; see wording.ts.
  CREATE TABLE wordings (
    no      INTEGER PRIMARY KEY,
    grp     INTEGER NOT NULL,
    hash    TEXT NOT NULL,
    text    TEXT NOT NULL,
    is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    count   INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0),
    UNIQUE (grp, hash)
  ) STRICT;
  CREATE INDEX wordings_empty ON wordings (no) WHERE count = 0;
  CREATE INDEX wordings_open ON wordings (no) WHERE is_open = 1;

  -- The last message of each letter that waits: its template and figures, by letter number.
  CREATE TABLE said (
    no      INTEGER PRIMARY KEY,
    wording INTEGER NOT NULL REFERENCES wordings (no),
    figures TEXT NOT NULL
  ) STRICT;
  CREATE INDEX said_by_wording ON said (wording, no);

  -- Letters up to this number are indexed, except those in the table unread.
  CREATE TABLE read_to (no INTEGER NOT NULL) STRICT;
  INSERT INTO read_to (no) VALUES (0);
  CREATE TABLE unread (no INTEGER PRIMARY KEY) STRICT;

  -- All text was converted to lower case by Node; SQLite would convert it differently.
  CREATE VIRTUAL TABLE wording_texts USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  );
  CREATE VIRTUAL TABLE said_figures USING fts5 (
    figures, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  );

  CREATE TRIGGER said_no_more AFTER DELETE ON said BEGIN
    UPDATE wordings SET count = count - 1 WHERE no = OLD.wording;
    DELETE FROM said_figures WHERE rowid = OLD.no AND OLD.figures <> '';
  END;
  CREATE TRIGGER letters_left AFTER DELETE ON letters WHEN OLD.no <= ${READ_TO} BEGIN
    DELETE FROM said WHERE no = OLD.no;
    DELETE FROM unread WHERE no = OLD.no;
    UPDATE read_to SET no = 0 WHERE NOT EXISTS (SELECT 1 FROM said) AND NOT EXISTS (SELECT 1 FROM unread);
  END;
  CREATE TRIGGER letters_regrouped AFTER UPDATE OF grp ON letters WHEN NEW.no <= ${READ_TO} BEGIN
    DELETE FROM said WHERE no = NEW.no;
    INSERT OR IGNORE INTO unread (no) VALUES (NEW.no);
  END;
`;

export const VERSION_3 = `
  ${QUICK_CHECKS}

  -- Set while the queue is paused.
  ALTER TABLE jobs ADD COLUMN paused_at  INTEGER;
  ALTER TABLE jobs ADD COLUMN paused_by  TEXT CHECK ((paused_by IS NULL) = (paused_at IS NULL));
  ALTER TABLE jobs ADD COLUMN paused_why TEXT CHECK ((paused_why IS NULL) = (paused_at IS NULL));

  -- The rate of the queue is used up until this time, in microseconds.
  ALTER TABLE queues ADD COLUMN spent_until INTEGER NOT NULL DEFAULT 0;

  -- The name is deleted with the data when an item is purged.
  ALTER TABLE payloads ADD COLUMN name TEXT;

  ALTER TABLE items ADD COLUMN priority   INTEGER NOT NULL DEFAULT ${rankOf("normal")}
    CHECK (priority BETWEEN 0 AND ${PRIORITIES.length - 1});
  ALTER TABLE items ADD COLUMN expires_at INTEGER;
  ALTER TABLE items ADD COLUMN lane       TEXT;
  -- Set if a ready item must wait for others of its ordering key. Leasing never reads such items.
  ALTER TABLE items ADD COLUMN waits      INTEGER NOT NULL DEFAULT 0
    CHECK (waits = 0 OR (waits = 1 AND state = 'ready' AND lane IS NOT NULL));
  -- The item that this item was requeued from.
  ALTER TABLE items ADD COLUMN origin     INTEGER REFERENCES items (ref);

  -- The start of a leased item's attempt. The record of an attempt is written once, when it has ended.
  ALTER TABLE items ADD COLUMN started_at INTEGER;
  UPDATE items SET started_at = (SELECT a.started_at FROM attempts a WHERE a.ref = items.ref AND a.number = items.attempts)
   WHERE state = 'leased';
  DELETE FROM attempts WHERE (ref, number) IN (SELECT ref, attempts FROM items WHERE state = 'leased');

  DROP INDEX items_ready;
  CREATE INDEX items_ready ON items (queue, priority, due_at, ref) WHERE state = 'ready' AND waits = 0;
  DROP INDEX items_ready_again;
  CREATE INDEX items_ready_again ON items (operation, priority, due_at, ref) WHERE state = 'ready' AND operation IS NOT NULL;
  CREATE INDEX items_held ON items (queue, ref) WHERE state = 'held';
  CREATE INDEX items_in_lane ON items (queue, lane, state, waits, ref) WHERE lane IS NOT NULL;
  CREATE INDEX items_by_origin ON items (origin, ref) WHERE origin IS NOT NULL;

  -- Documents that processes share, such as gates of queues and the progress of a copy.
  CREATE TABLE documents (
    name    TEXT PRIMARY KEY,
    version INTEGER NOT NULL CHECK (version >= 1),
    body    TEXT NOT NULL CHECK (json_valid(body))
  ) STRICT, WITHOUT ROWID;

  -- Counters that never decrease. Purges do not change them.
  CREATE TABLE counters (
    queue INTEGER NOT NULL REFERENCES queues (no),
    name  TEXT NOT NULL,
    value INTEGER NOT NULL CHECK (value > 0),
    PRIMARY KEY (queue, name)
  ) STRICT, WITHOUT ROWID;
  ${TOLD.map(
    ([counter, type]) => `INSERT INTO counters (queue, name, value)
  SELECT queue, '${counter}', count(*) FROM events WHERE type = '${type}' AND queue IS NOT NULL GROUP BY queue;`,
  ).join("\n  ")}
  -- Burials by error type. Events of lost attempts have no type; the record of the attempt has it, unless it was purged.
  INSERT INTO counters (queue, name, value)
  SELECT queue, 'dead.' || type, count(*) FROM (
    SELECT b.queue, coalesce(
             (SELECT iif(json_type(a.failure, '$.error_type') = 'text', json_extract(a.failure, '$.error_type'),
                         (SELECT key FROM json_each(a.failure, '$.error_type') LIMIT 1))
                FROM attempts a WHERE a.ref = b.ref AND a.number = b.attempt),
             (SELECT json_extract(f.data, '$.error_type') FROM events f
               WHERE f.queue = b.queue AND f.id BETWEEN b.id - 8 AND b.id AND f.ref = b.ref AND f.attempt = b.attempt
                 AND f.type = 'attempt_failed' ORDER BY f.id DESC LIMIT 1),
             'WorkerLost') AS type
      FROM events b WHERE b.type = 'dlq_item_added' AND b.attempt IS NOT NULL AND b.queue IS NOT NULL)
   GROUP BY 1, 2;
  INSERT INTO counters (queue, name, value)
  SELECT queue, 'redrives.succeeded', sum(succeeded) FROM operations GROUP BY queue HAVING sum(succeeded) > 0;
  INSERT INTO counters (queue, name, value)
  SELECT queue, 'redrives.failed', sum(failed) FROM operations GROUP BY queue HAVING sum(failed) > 0;

  -- A row may hold a run of events that differ only in their item. Its id is that of the last event.
  ALTER TABLE events ADD COLUMN span INTEGER NOT NULL DEFAULT 1 CHECK (span >= 1);
  ALTER TABLE events ADD COLUMN refs TEXT CHECK ((refs IS NULL) = (span = 1));

  -- The error log, newest first.
  CREATE INDEX events_of_errors ON events (queue, id) WHERE ${ERRORS};

  -- Dead items by number of attempts, and by item id across all queues.
  CREATE INDEX items_dead ON items (queue, attempts, ref) WHERE state = 'dead';
  CREATE INDEX items_dead_by_id ON items (item_id, ref) WHERE state = 'dead';

  -- The number of a queue's dead items by attempts. Updated by triggers, because many steps make items dead.
  CREATE TABLE tries (
    queue    INTEGER NOT NULL REFERENCES queues (no),
    attempts INTEGER NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (queue, attempts)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO tries (queue, attempts, count)
  SELECT queue, attempts, count(*) FROM items WHERE state = 'dead' GROUP BY 1, 2;
  CREATE TRIGGER items_added_dead AFTER INSERT ON items WHEN NEW.state = 'dead' BEGIN ${COUNT_IN} END;
  CREATE TRIGGER items_died AFTER UPDATE OF state, attempts ON items WHEN NEW.state = 'dead' BEGIN ${COUNT_IN} END;
  CREATE TRIGGER items_were_dead AFTER UPDATE OF state, attempts ON items WHEN OLD.state = 'dead' BEGIN ${COUNT_OUT} END;
  ${STRATA_OF_ALL}
  ${TEXT_INDEX}
`;
