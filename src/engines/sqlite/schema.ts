/**
 * The tables of a SQLite store and its migrations. The state of an item is a narrow row separate from its
 * data, so that leasing and bulk redrives write little. Invariants that SQL can express are CHECKs.
 */

import { GROUP_STATES } from "../../item/group.ts";
import { ATTEMPT_OUTCOMES } from "../../item/item.ts";
import { JOB_STATUSES } from "../../item/job.ts";
import { RESOLUTION_KINDS } from "../../item/letter.ts";
import { OPERATION_STATUSES } from "../../item/operation.ts";
import { ITEM_STATES } from "../../item/state.ts";
import { oneOf } from "./migrations/checks.ts";
import { VERSION_3 } from "./migrations/version-3.ts";
import { VERSION_4 } from "./migrations/version-4.ts";
import { VERSION_5 } from "./migrations/version-5.ts";
import { VERSION_6 } from "./migrations/version-6.ts";
import { VERSION_7 } from "./migrations/version-7.ts";
import { VERSION_8 } from "./migrations/version-8.ts";
import { VERSION_9 } from "./migrations/version-9.ts";

/** One entry per version; entry n migrates a store from version n to n + 1. Released statements never change. */
export const MIGRATIONS: readonly string[] = [
  `
  -- A queue and its counters, which change in the same transaction as the items that they count.
  CREATE TABLE queues (
    no        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    ready     INTEGER NOT NULL DEFAULT 0 CHECK (ready >= 0),
    leased    INTEGER NOT NULL DEFAULT 0 CHECK (leased >= 0),
    held      INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
    done      INTEGER NOT NULL DEFAULT 0 CHECK (done >= 0),
    dead      INTEGER NOT NULL DEFAULT 0 CHECK (dead >= 0),
    skipped   INTEGER NOT NULL DEFAULT 0 CHECK (skipped >= 0),
    discarded INTEGER NOT NULL DEFAULT 0 CHECK (discarded >= 0),
    letters   INTEGER NOT NULL DEFAULT 0 CHECK (letters >= 0),
    attempts  INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0)
  ) STRICT;

  CREATE TABLE jobs (
    no              INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE REFERENCES queues (name),
    name            TEXT NOT NULL UNIQUE,
    kind            TEXT NOT NULL,
    spec            TEXT NOT NULL CHECK (json_valid(spec)),
    progress        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(progress)),
    status          TEXT NOT NULL ${oneOf("status", JOB_STATUSES)},
    intake_complete INTEGER NOT NULL DEFAULT 0 CHECK (intake_complete IN (0, 1)),
    created_at      INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER
  ) STRICT;

  -- Holders of leases. The row of an unregistered holder is kept, because attempts reference it.
  CREATE TABLE holders (
    no            INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    queue         INTEGER NOT NULL REFERENCES queues (no),
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    process_start TEXT NOT NULL,
    ttl_ms        INTEGER NOT NULL CHECK (ttl_ms > 0),
    expires_at    INTEGER NOT NULL,
    gone          INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
  ) STRICT;
  CREATE INDEX holders_here ON holders (no) WHERE gone = 0;

  CREATE TABLE items (
    ref       INTEGER PRIMARY KEY,
    queue     INTEGER NOT NULL REFERENCES queues (no),
    item_id   TEXT NOT NULL CHECK (item_id <> ''),
    place     INTEGER NOT NULL CHECK (place >= 0),
    state     TEXT NOT NULL ${oneOf("state", ITEM_STATES)},
    due_at    INTEGER NOT NULL,
    attempts  INTEGER NOT NULL DEFAULT 0,
    spent     INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
    losses    INTEGER NOT NULL DEFAULT 0 CHECK (losses >= 0),
    revision  INTEGER NOT NULL DEFAULT 1 CHECK (revision >= 1),
    redrives  INTEGER NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    holder    INTEGER REFERENCES holders (no),
    operation INTEGER REFERENCES operations (no),
    UNIQUE (queue, item_id),
    CHECK ((state = 'leased') = (holder IS NOT NULL)),
    CHECK (spent + losses <= attempts),
    CHECK (state NOT IN ('done', 'dead', 'skipped') OR attempts > 0)
  ) STRICT;
  CREATE INDEX items_ready ON items (queue, due_at, ref) WHERE state = 'ready';
  CREATE INDEX items_ready_again ON items (operation, due_at, ref) WHERE state = 'ready' AND operation IS NOT NULL;
  CREATE INDEX items_leased ON items (holder) WHERE state = 'leased';

  CREATE TABLE payloads (
    ref  INTEGER PRIMARY KEY REFERENCES items (ref),
    data TEXT NOT NULL
  ) STRICT;

  CREATE TABLE attempts (
    ref        INTEGER NOT NULL REFERENCES items (ref),
    number     INTEGER NOT NULL CHECK (number >= 1),
    outcome    TEXT NOT NULL ${oneOf("outcome", ATTEMPT_OUTCOMES)},
    holder     INTEGER NOT NULL REFERENCES holders (no),
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    failure    TEXT,
    log        TEXT,
    result     TEXT,
    PRIMARY KEY (ref, number),
    CHECK ((outcome = 'running') = (ended_at IS NULL)),
    CHECK ((failure IS NOT NULL) = (outcome IN ('failed', 'lost'))),
    CHECK (result IS NULL OR outcome = 'succeeded')
  ) STRICT, WITHOUT ROWID;

  -- Letters of a queue that share a signature and a classification. Never deleted, so that their numbers stay valid.
  CREATE TABLE groups (
    no          INTEGER PRIMARY KEY,
    queue       INTEGER NOT NULL REFERENCES queues (no),
    signature   TEXT NOT NULL,
    pattern     TEXT NOT NULL,
    error_type  TEXT NOT NULL,
    error_class TEXT NOT NULL,
    eligible    INTEGER NOT NULL CHECK (eligible IN (0, 1)),
    review      INTEGER NOT NULL CHECK (review IN (0, 1)),
    count       INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0),
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    UNIQUE (queue, signature, error_type, error_class, eligible, review)
  ) STRICT;

  -- Letter numbers rise with every burial, so that pages and the bounds of operations are ranges of numbers.
  CREATE TABLE letters (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    ref       INTEGER NOT NULL UNIQUE REFERENCES items (ref),
    grp       INTEGER NOT NULL REFERENCES groups (no),
    buried_at INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    artifacts TEXT
  ) STRICT;
  CREATE INDEX letters_by_group ON letters (grp, no);

  -- The number of a group's letters in each range of letter numbers, and the bounds of their times. They answer searches by
  -- age without a scan. The bounds do not shrink when letters leave.
  CREATE TABLE strata (
    grp      INTEGER NOT NULL REFERENCES groups (no),
    stratum  INTEGER NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    PRIMARY KEY (grp, stratum)
  ) STRICT, WITHOUT ROWID;

  -- Results that workers reported after they had lost the lease.
  CREATE TABLE evidence (
    ref     INTEGER NOT NULL REFERENCES items (ref),
    at      INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    note    TEXT NOT NULL
  ) STRICT;
  CREATE INDEX evidence_by_item ON evidence (ref);

  CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    type    TEXT NOT NULL,
    queue   INTEGER,
    ref     INTEGER,
    attempt INTEGER,
    data    TEXT
  ) STRICT;
  CREATE INDEX events_by_queue ON events (queue, id);

  CREATE TABLE operations (
    no         INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    queue      INTEGER NOT NULL REFERENCES queues (no),
    filter     TEXT NOT NULL CHECK (json_valid(filter)),
    force      INTEGER NOT NULL CHECK (force IN (0, 1)),
    created_at INTEGER NOT NULL,
    ended_at   INTEGER,
    last_no    INTEGER NOT NULL,            -- the newest letter when it began; later ones are not its own
    next_no    INTEGER NOT NULL DEFAULT 0,  -- letters up to this one were looked at
    selected   INTEGER NOT NULL CHECK (selected >= 0),
    redriven   INTEGER NOT NULL DEFAULT 0,
    refused    INTEGER NOT NULL DEFAULT 0,
    succeeded  INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0,
    CHECK (redriven + refused <= selected),
    CHECK (succeeded + failed <= redriven)
  ) STRICT;
  `,
  `
  ALTER TABLE queues ADD COLUMN resolved INTEGER NOT NULL DEFAULT 0 CHECK (resolved >= 0);
  ALTER TABLE queues ADD COLUMN purged   INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0);
  ALTER TABLE queues ADD COLUMN evicted  INTEGER NOT NULL DEFAULT 0 CHECK (evicted >= 0);

  -- A purged item has no letter, data or records; its bare row keeps it from being added again.
  ALTER TABLE items ADD COLUMN purged INTEGER NOT NULL DEFAULT 0 CHECK (purged = 0 OR (purged = 1 AND state = 'discarded'));
  ALTER TABLE letters ADD COLUMN toxic INTEGER NOT NULL DEFAULT 0 CHECK (toxic IN (0, 1));

  -- The number of a group's letters in retry, and of its former letters that were resolved or discarded.
  ALTER TABLE groups ADD COLUMN away      INTEGER NOT NULL DEFAULT 0 CHECK (away >= 0);
  ALTER TABLE groups ADD COLUMN resolved  INTEGER NOT NULL DEFAULT 0 CHECK (resolved >= 0);
  ALTER TABLE groups ADD COLUMN discarded INTEGER NOT NULL DEFAULT 0 CHECK (discarded >= 0);
  UPDATE groups SET away = (SELECT count(*) FROM letters l JOIN items i ON i.ref = l.ref
                             WHERE l.grp = groups.no AND i.state <> 'dead');

  -- Refuses the rest of open redrives, because their selections were not stored. Items that were redriven continue.
  ALTER TABLE operations RENAME COLUMN redriven TO done;
  ALTER TABLE operations RENAME COLUMN last_no TO bound;
  ALTER TABLE operations ADD COLUMN status   TEXT NOT NULL DEFAULT 'open' ${oneOf("status", OPERATION_STATUSES)};
  ALTER TABLE operations ADD COLUMN author   TEXT NOT NULL DEFAULT 'unknown';
  ALTER TABLE operations ADD COLUMN reason   TEXT;
  ALTER TABLE operations ADD COLUMN plan     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(plan));
  ALTER TABLE operations ADD COLUMN progress TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(progress));
  ALTER TABLE operations ADD COLUMN selection TEXT CHECK (selection IN ('filter', 'enlisted'));
  ALTER TABLE operations ADD COLUMN undoes   INTEGER REFERENCES operations (no);
  ALTER TABLE operations ADD COLUMN cursor   TEXT;
  ALTER TABLE operations ADD COLUMN complete INTEGER NOT NULL DEFAULT 1 CHECK (complete IN (0, 1));
  ALTER TABLE operations ADD COLUMN listed   INTEGER NOT NULL DEFAULT 0 CHECK (listed IN (0, 1));
  ALTER TABLE operations ADD COLUMN returned INTEGER NOT NULL DEFAULT 0 CHECK (returned <= failed);
  UPDATE operations SET refused = selected - done WHERE ended_at IS NULL;
  UPDATE operations SET ended_at = coalesce((SELECT max(at) FROM events), created_at)
   WHERE ended_at IS NULL AND succeeded + failed = done;
  UPDATE operations SET status = 'ended' WHERE ended_at IS NOT NULL;

  -- The letters of an operation, each with its state when it was selected, and its outcome.
  CREATE TABLE selections (
    operation INTEGER NOT NULL REFERENCES operations (no),
    no        INTEGER NOT NULL,
    ref       INTEGER NOT NULL REFERENCES items (ref),
    grp       INTEGER NOT NULL,
    state     TEXT NOT NULL ${oneOf("state", ITEM_STATES)},
    status    TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'done', 'refused')),
    reason    TEXT,
    PRIMARY KEY (operation, no),
    CHECK ((status = 'refused') = (reason IS NOT NULL))
  ) STRICT, WITHOUT ROWID;

  -- Closed letters: resolved because the item was done in the end, or discarded. They keep the number of their burial, also
  -- when they are restored.
  CREATE TABLE closed (
    no        INTEGER PRIMARY KEY,
    ref       INTEGER NOT NULL UNIQUE REFERENCES items (ref),
    grp       INTEGER NOT NULL REFERENCES groups (no),
    buried_at INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    artifacts TEXT,
    toxic     INTEGER NOT NULL CHECK (toxic IN (0, 1)),
    kind      TEXT NOT NULL ${oneOf("kind", RESOLUTION_KINDS)},
    closed_at INTEGER NOT NULL,
    author    TEXT,
    why       TEXT,
    operation TEXT   -- its id: a letter from elsewhere names one that is not here
  ) STRICT;
  CREATE INDEX closed_discarded ON closed (grp, no) WHERE kind = 'discard';
  CREATE INDEX closed_resolved ON closed (grp, no) WHERE kind <> 'discard';

  CREATE TABLE amendments (
    ref       INTEGER NOT NULL REFERENCES items (ref),
    revision  INTEGER NOT NULL CHECK (revision >= 2),
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,
    rule      TEXT,
    note      TEXT,
    operation TEXT,              -- its id, as above
    letter    INTEGER,           -- the number of the letter that it was made for; none when it was made elsewhere
    before    TEXT NOT NULL,     -- the data that it replaced
    PRIMARY KEY (ref, revision)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE notes (
    ref    INTEGER NOT NULL REFERENCES items (ref),
    at     INTEGER NOT NULL,
    author TEXT NOT NULL,
    text   TEXT NOT NULL
  ) STRICT;
  CREATE INDEX notes_by_item ON notes (ref);

  -- Burials of a group in each minute: all of them, and those whose letters still wait.
  CREATE TABLE arrivals (
    grp     INTEGER NOT NULL REFERENCES groups (no),
    minute  INTEGER NOT NULL,
    waiting INTEGER NOT NULL CHECK (waiting >= 0),
    ever    INTEGER NOT NULL CHECK (ever >= waiting),
    PRIMARY KEY (grp, minute)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO arrivals (grp, minute, waiting, ever)
  SELECT grp, buried_at / 60000, count(*), count(*) FROM letters GROUP BY 1, 2;

  -- The algorithm that computed the signature; version 1 had only one.
  ALTER TABLE groups ADD COLUMN algorithm TEXT NOT NULL DEFAULT 'redrive-1';
  CREATE INDEX groups_by_signature ON groups (signature);

  -- The record of a signature. Never deleted. Its pattern is that of its first letter.
  CREATE TABLE marks (
    signature     TEXT PRIMARY KEY,
    pattern       TEXT NOT NULL,
    state         TEXT NOT NULL ${oneOf("state", GROUP_STATES)},
    since         INTEGER NOT NULL,
    author        TEXT,
    ignore_until  TEXT CHECK (ignore_until IS NULL OR json_valid(ignore_until)),
    new_letters   INTEGER NOT NULL DEFAULT 0 CHECK (new_letters >= 0),          -- since it was ignored
    recent        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(recent)),        -- of those, by the minute
    regressions   INTEGER NOT NULL DEFAULT 0 CHECK (regressions >= 0),
    is_regression INTEGER NOT NULL DEFAULT 0 CHECK (is_regression IN (0, 1)),
    CHECK (is_regression = 0 OR (state = 'open' AND regressions > 0)),
    CHECK (state = 'ignored' OR (ignore_until IS NULL AND new_letters = 0 AND recent = '[]'))
  ) STRICT, WITHOUT ROWID;
  INSERT INTO marks (signature, pattern, state, since)
  SELECT signature, (SELECT f.pattern FROM groups f WHERE f.signature = g.signature ORDER BY f.no LIMIT 1), 'open',
         min(first_at) FROM groups g GROUP BY signature;
  UPDATE groups SET pattern = (SELECT m.pattern FROM marks m WHERE m.signature = groups.signature);

  CREATE TABLE group_notes (
    signature TEXT NOT NULL REFERENCES marks (signature),
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,
    text      TEXT NOT NULL
  ) STRICT;
  CREATE INDEX group_notes_by_group ON group_notes (signature);

  -- Fixes: how many letters of a signature succeeded by one redrive and kind of resolution.
  CREATE TABLE group_fixes (
    no        INTEGER PRIMARY KEY,
    signature TEXT NOT NULL REFERENCES marks (signature),
    operation TEXT NOT NULL,     -- the id of the redrive
    kind      TEXT NOT NULL ${oneOf("kind", RESOLUTION_KINDS)},
    at        INTEGER NOT NULL,
    count     INTEGER NOT NULL CHECK (count > 0),
    edit      TEXT,              -- the id of the edit before it
    rule      TEXT,
    author    TEXT,
    waited_ms INTEGER NOT NULL CHECK (waited_ms >= 0),
    UNIQUE (signature, operation, kind)
  ) STRICT;

  -- Corrections by people: all letters of a signature, or those whose last message has the text, go to another group.
  CREATE TABLE corrections (
    no      INTEGER PRIMARY KEY,
    origin  TEXT NOT NULL,
    folded  TEXT NOT NULL,       -- the text in small letters; empty for all
    text    TEXT,
    target  TEXT NOT NULL,
    pattern TEXT NOT NULL,
    author  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    UNIQUE (origin, folded),
    CHECK (origin <> target),
    CHECK ((text IS NULL) = (folded = ''))
  ) STRICT;
  `,
  VERSION_3,
  VERSION_4,
  VERSION_5,
  VERSION_6,
  VERSION_7,
  VERSION_8,
  VERSION_9,
];
