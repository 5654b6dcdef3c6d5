/** From version 7 to 8: the agents that ran as steps, and what they used. */
export const VERSION_8 = `
  CREATE TABLE agent_runs (
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
  ) STRICT;
  CREATE INDEX agent_runs_by_queue ON agent_runs (queue);
  CREATE INDEX agent_runs_by_item ON agent_runs (ref, attempt) WHERE ref IS NOT NULL;
`;
