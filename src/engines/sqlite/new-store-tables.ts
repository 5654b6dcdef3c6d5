/** The tables of a new store, and the rows that it has. Generated from the migrations by `npm run schema`. */
export const NEW_STORE_TABLES = [
  `CREATE TABLE queues (
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
  , resolved INTEGER NOT NULL DEFAULT 0 CHECK (resolved >= 0), purged   INTEGER NOT NULL DEFAULT 0 CHECK (purged >= 0), evicted  INTEGER NOT NULL DEFAULT 0 CHECK (evicted >= 0), spent_until INTEGER NOT NULL DEFAULT 0) STRICT`,
  `CREATE TABLE jobs (
    no              INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE REFERENCES queues (name),
    name            TEXT NOT NULL UNIQUE,
    kind            TEXT NOT NULL,
    spec            TEXT NOT NULL CHECK (json_valid(spec)),
    progress        TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(progress)),
    status          TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'stopped', 'interrupted')),
    intake_complete INTEGER NOT NULL DEFAULT 0 CHECK (intake_complete IN (0, 1)),
    created_at      INTEGER NOT NULL,
    started_at      INTEGER NOT NULL,
    ended_at        INTEGER
  , paused_at  INTEGER, paused_by  TEXT CHECK ((paused_by IS NULL) = (paused_at IS NULL)), paused_why TEXT CHECK ((paused_why IS NULL) = (paused_at IS NULL))) STRICT`,
  `CREATE TABLE holders (
    no            INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    queue         INTEGER NOT NULL REFERENCES queues (no),
    host          TEXT NOT NULL,
    pid           INTEGER NOT NULL,
    process_start TEXT NOT NULL,
    ttl_ms        INTEGER NOT NULL CHECK (ttl_ms > 0),
    expires_at    INTEGER NOT NULL,
    gone          INTEGER NOT NULL DEFAULT 0 CHECK (gone IN (0, 1))
  ) STRICT`,
  `CREATE TABLE items (
    ref       INTEGER PRIMARY KEY,
    queue     INTEGER NOT NULL REFERENCES queues (no),
    item_id   TEXT NOT NULL CHECK (item_id <> ''),
    position     INTEGER NOT NULL CHECK (position >= 0),
    state     TEXT NOT NULL CHECK (state = 'ready' OR state = 'leased' OR state = 'held' OR state = 'done' OR state = 'dead' OR state = 'skipped' OR state = 'discarded'),
    due_at    INTEGER NOT NULL,
    attempts  INTEGER NOT NULL DEFAULT 0,
    attempts_counted     INTEGER NOT NULL DEFAULT 0 CHECK (attempts_counted >= 0),
    lost_count    INTEGER NOT NULL DEFAULT 0 CHECK (lost_count >= 0),
    revision  INTEGER NOT NULL DEFAULT 1 CHECK (revision >= 1),
    redrives  INTEGER NOT NULL DEFAULT 0 CHECK (redrives >= 0),
    holder    INTEGER REFERENCES holders (no),
    operation INTEGER REFERENCES operations (no), purged INTEGER NOT NULL DEFAULT 0 CHECK (purged = 0 OR (purged = 1 AND state = 'discarded')), priority   INTEGER NOT NULL DEFAULT 1
    CHECK (priority BETWEEN 0 AND 2), expires_at INTEGER, ordering_key       TEXT, waits      INTEGER NOT NULL DEFAULT 0
    CHECK (waits = 0 OR (waits = 1 AND state = 'ready' AND ordering_key IS NOT NULL)), origin     INTEGER REFERENCES items (ref), started_at INTEGER,
    UNIQUE (queue, item_id),
    CHECK ((state = 'leased') = (holder IS NOT NULL)),
    CHECK (attempts_counted + lost_count <= attempts),
    CHECK (attempts > 0 OR (state <> 'done' AND state <> 'dead' AND state <> 'skipped'))
  ) STRICT`,
  `CREATE TABLE payloads (
    ref  INTEGER PRIMARY KEY REFERENCES items (ref),
    data TEXT NOT NULL
  , name TEXT, options TEXT) STRICT`,
  `CREATE TABLE attempts (
    ref        INTEGER NOT NULL REFERENCES items (ref),
    number     INTEGER NOT NULL CHECK (number >= 1),
    outcome    TEXT NOT NULL CHECK (outcome = 'running' OR outcome = 'succeeded' OR outcome = 'failed' OR outcome = 'released' OR outcome = 'lost'),
    holder     INTEGER NOT NULL REFERENCES holders (no),
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,
    failure    TEXT,
    log        TEXT,
    result     TEXT,
    PRIMARY KEY (ref, number),
    CHECK ((outcome = 'running') = (ended_at IS NULL)),
    CHECK (failure IS NULL OR outcome = 'failed' OR outcome = 'lost'),
    CHECK (result IS NULL OR outcome = 'succeeded')
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE groups (
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
    last_at     INTEGER NOT NULL, in_retry      INTEGER NOT NULL DEFAULT 0 CHECK (in_retry >= 0), resolved  INTEGER NOT NULL DEFAULT 0 CHECK (resolved >= 0), discarded INTEGER NOT NULL DEFAULT 0 CHECK (discarded >= 0), algorithm TEXT NOT NULL DEFAULT 'redrive-1',
    UNIQUE (queue, signature, error_type, error_class, eligible, review)
  ) STRICT`,
  `CREATE TABLE letters (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    ref       INTEGER NOT NULL UNIQUE REFERENCES items (ref),
    grp       INTEGER NOT NULL REFERENCES groups (no),
    buried_at INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    artifacts TEXT
  , poison INTEGER NOT NULL DEFAULT 0 CHECK (poison IN (0, 1)), first_at         INTEGER NOT NULL DEFAULT 0, arrived_at       INTEGER, source_signature TEXT) STRICT`,
  `CREATE TABLE "letters_by_age" (
    grp      INTEGER NOT NULL REFERENCES groups (no),
    number_range  INTEGER NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL, first_min INTEGER NOT NULL DEFAULT 0, first_max INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (grp, number_range)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE "late_results" (
    ref     INTEGER NOT NULL REFERENCES items (ref),
    at      INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    note    TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    type    TEXT NOT NULL,
    queue   INTEGER,
    ref     INTEGER,
    attempt INTEGER,
    data    TEXT
  , span INTEGER NOT NULL DEFAULT 1 CHECK (span >= 1), refs TEXT CHECK ((refs IS NULL) = (span = 1))) STRICT`,
  `CREATE TABLE operations (
    no         INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL,
    queue      INTEGER NOT NULL REFERENCES queues (no),
    filter     TEXT NOT NULL CHECK (json_valid(filter)),
    force      INTEGER NOT NULL CHECK (force IN (0, 1)),
    created_at INTEGER NOT NULL,
    ended_at   INTEGER,
    bound    INTEGER NOT NULL,            -- the newest letter when it began; later ones are not its own
    next_no    INTEGER NOT NULL DEFAULT 0,  -- letters up to this one were looked at
    selected   INTEGER NOT NULL CHECK (selected >= 0),
    done   INTEGER NOT NULL DEFAULT 0,
    refused    INTEGER NOT NULL DEFAULT 0,
    succeeded  INTEGER NOT NULL DEFAULT 0,
    failed     INTEGER NOT NULL DEFAULT 0, status   TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('selecting', 'open', 'paused', 'ended', 'cancelled')), author   TEXT NOT NULL DEFAULT 'unknown', reason   TEXT, plan     TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(plan)), progress TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(progress)), selection TEXT CHECK (selection IN ('filter', 'enlisted')), undoes   INTEGER REFERENCES operations (no), cursor   TEXT, complete INTEGER NOT NULL DEFAULT 1 CHECK (complete IN (0, 1)), listed   INTEGER NOT NULL DEFAULT 0 CHECK (listed IN (0, 1)), returned INTEGER NOT NULL DEFAULT 0 CHECK (returned <= failed),
    CHECK (done + refused <= selected),
    CHECK (succeeded + failed <= done)
  ) STRICT`,
  `CREATE TABLE selections (
    operation INTEGER NOT NULL REFERENCES operations (no),
    no        INTEGER NOT NULL,
    ref       INTEGER NOT NULL REFERENCES items (ref),
    grp       INTEGER NOT NULL,
    state     TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'held', 'done', 'dead', 'skipped', 'discarded')),
    status    TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'done', 'refused')),
    reason    TEXT,
    PRIMARY KEY (operation, no),
    CHECK ((status = 'refused') = (reason IS NOT NULL))
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE "resolved_letters" (
    no        INTEGER PRIMARY KEY,
    ref       INTEGER NOT NULL UNIQUE REFERENCES items (ref),
    grp       INTEGER NOT NULL REFERENCES groups (no),
    buried_at INTEGER NOT NULL,
    reason    TEXT NOT NULL,
    artifacts TEXT,
    poison     INTEGER NOT NULL CHECK (poison IN (0, 1)),
    kind      TEXT NOT NULL CHECK (kind IN ('requeue', 'manual_fix', 'auto_fix', 'discard')),
    closed_at INTEGER NOT NULL,
    author    TEXT,
    why       TEXT,
    operation TEXT   -- its id: a letter from elsewhere names one that is not here
  , first_at         INTEGER NOT NULL DEFAULT 0, arrived_at       INTEGER, source_signature TEXT) STRICT`,
  `CREATE TABLE amendments (
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
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE notes (
    ref    INTEGER NOT NULL REFERENCES items (ref),
    at     INTEGER NOT NULL,
    author TEXT NOT NULL,
    text   TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE arrivals (
    grp     INTEGER NOT NULL REFERENCES groups (no),
    minute  INTEGER NOT NULL,
    waiting INTEGER NOT NULL CHECK (waiting >= 0),
    ever    INTEGER NOT NULL CHECK (ever >= waiting),
    PRIMARY KEY (grp, minute)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE "group_records" (
    signature     TEXT PRIMARY KEY,
    pattern       TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('open', 'resolved', 'ignored')),
    since         INTEGER NOT NULL,
    author        TEXT,
    ignore_until  TEXT CHECK (ignore_until IS NULL OR json_valid(ignore_until)),
    new_letters   INTEGER NOT NULL DEFAULT 0 CHECK (new_letters >= 0),          -- since it was ignored
    recent        TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(recent)),        -- of those, by the minute
    regressions   INTEGER NOT NULL DEFAULT 0 CHECK (regressions >= 0),
    is_regression INTEGER NOT NULL DEFAULT 0 CHECK (is_regression IN (0, 1)),
    CHECK (is_regression = 0 OR (state = 'open' AND regressions > 0)),
    CHECK (state = 'ignored' OR (ignore_until IS NULL AND new_letters = 0 AND recent = '[]'))
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE group_notes (
    signature TEXT NOT NULL REFERENCES "group_records" (signature),
    at        INTEGER NOT NULL,
    author    TEXT NOT NULL,
    text      TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE group_fixes (
    no        INTEGER PRIMARY KEY,
    signature TEXT NOT NULL REFERENCES "group_records" (signature),
    operation TEXT NOT NULL,     -- the id of the redrive
    kind      TEXT NOT NULL CHECK (kind IN ('requeue', 'manual_fix', 'auto_fix', 'discard')),
    at        INTEGER NOT NULL,
    count     INTEGER NOT NULL CHECK (count > 0),
    edit      TEXT,              -- the id of the edit before it
    rule      TEXT,
    author    TEXT,
    waited_ms INTEGER NOT NULL CHECK (waited_ms >= 0),
    UNIQUE (signature, operation, kind)
  ) STRICT`,
  `CREATE TABLE corrections (
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
  ) STRICT`,
  `CREATE TABLE documents (
    name    TEXT PRIMARY KEY,
    version INTEGER NOT NULL CHECK (version >= 1),
    body    TEXT NOT NULL CHECK (json_valid(body))
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE counters (
    queue INTEGER NOT NULL REFERENCES queues (no),
    name  TEXT NOT NULL,
    value INTEGER NOT NULL CHECK (value > 0),
    PRIMARY KEY (queue, name)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE "letters_by_attempts" (
    queue    INTEGER NOT NULL REFERENCES queues (no),
    attempts INTEGER NOT NULL,
    count    INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (queue, attempts)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE "letters_by_age_of_all" (
    number_range  INTEGER PRIMARY KEY,
    count    INTEGER NOT NULL CHECK (count >= 0),
    first_at INTEGER NOT NULL,
    last_at  INTEGER NOT NULL
  , first_min INTEGER NOT NULL DEFAULT 0, first_max INTEGER NOT NULL DEFAULT 0) STRICT`,
  `CREATE TABLE "message_templates" (
    no      INTEGER PRIMARY KEY,
    grp     INTEGER NOT NULL,
    hash    TEXT NOT NULL,
    text    TEXT NOT NULL,
    is_open INTEGER NOT NULL CHECK (is_open IN (0, 1)),
    count   INTEGER NOT NULL DEFAULT 0 CHECK (count >= 0),
    UNIQUE (grp, hash)
  ) STRICT`,
  `CREATE TABLE "indexed_messages" (
    no      INTEGER PRIMARY KEY,
    template INTEGER NOT NULL REFERENCES "message_templates" (no),
    parameters TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE "indexed_to" (no INTEGER NOT NULL) STRICT`,
  `CREATE TABLE "unindexed_letters" (no INTEGER PRIMARY KEY) STRICT`,
  `CREATE VIRTUAL TABLE "template_texts" USING fts5 (
    text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  )`,
  `CREATE VIRTUAL TABLE "parameter_texts" USING fts5 (
    parameters, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
  )`,
  `CREATE TABLE progress (
    ref     INTEGER PRIMARY KEY REFERENCES items (ref),
    attempt INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    value   TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE agent_runs (
    id            TEXT PRIMARY KEY,
    queue         INTEGER NOT NULL REFERENCES queues (no),
    ref           INTEGER,          -- the item; null for an agent of setup, reduce or merge
    attempt       INTEGER,
    step          TEXT NOT NULL,
    agent         TEXT NOT NULL,
    session       TEXT,
    model         TEXT,
    cost          INTEGER CHECK (cost >= 0),   -- in billionths of a dollar
    input_tokens  INTEGER,
    cached_tokens INTEGER,
    output_tokens INTEGER,
    turns         INTEGER,
    is_final      INTEGER NOT NULL CHECK (is_final IN (0, 1)),
    started_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    CHECK ((ref IS NULL) = (attempt IS NULL))
  ) STRICT`,
  `INSERT INTO indexed_to (no) VALUES (0)`,
];
