/**
 * The tables of a SQLite store and how an older store is brought to the newest version. The state of an item is a
 * narrow row apart from its data, so that leasing and bulk redrives touch little. Rules that SQL can hold are CHECKs.
 */

import { ATTEMPT_OUTCOMES } from "../../item/item.ts";
import { JOB_STATUSES } from "../../item/job.ts";
import { ITEM_STATES } from "../../item/state.ts";

const oneOf = (column: string, values: readonly string[]) =>
  `CHECK (${column} IN (${values.map((value) => `'${value}'`).join(", ")}))`;

/** One entry per version; entry n brings a store from version n to n + 1. Never edited once released. */
export const MIGRATIONS: readonly string[] = [
  `
  -- A queue and its counters. They are changed in the same transaction as the items they count.
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

  -- Who holds leases. A row stays after its holder has left, because attempts name it.
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

  -- The letters of one queue that share a signature and a judgement. Never deleted, so that numbers can be kept.
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

  -- A letter's number rises with every burial: "newest first" and "no later ones" are ranges of it.
  CREATE TABLE letters (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    ref       INTEGER NOT NULL UNIQUE REFERENCES items (ref),
    grp       INTEGER NOT NULL REFERENCES groups (no),
    buried_at INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    artifacts TEXT
  ) STRICT;
  CREATE INDEX letters_by_group ON letters (grp, no);

  -- The letters of a group in each stretch of burial numbers: how many, and between which times. Answers questions
  -- of age without a scan. The times are bounds: they stay when letters leave.
  CREATE TABLE strata (
    grp      INTEGER NOT NULL REFERENCES groups (no),
    stratum  INTEGER NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL,
    PRIMARY KEY (grp, stratum)
  ) STRICT, WITHOUT ROWID;

  -- What workers said after their lease was lost.
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
];
