/** Migrates from version 5 to 6: the agents that ran as steps, and what they used. */
export const VERSION_6 = `
  CREATE TABLE agent_runs (
    id            text PRIMARY KEY,
    queue         bigint NOT NULL REFERENCES queues (no),
    ref           bigint,           -- the item; null for an agent of setup, reduce or merge
    attempt       integer,
    step          text NOT NULL,
    agent         text NOT NULL,
    session       text,
    model         text,
    cost          bigint CHECK (cost >= 0),   -- in billionths of a dollar
    input_tokens  bigint,
    cached_tokens bigint,
    output_tokens bigint,
    turns         bigint,
    is_final      integer NOT NULL CHECK (is_final IN (0, 1)),
    started_at    bigint NOT NULL,
    updated_at    bigint NOT NULL,
    CHECK ((ref IS NULL) = (attempt IS NULL))
  ) WITH (fillfactor = 50);
  CREATE INDEX agent_runs_by_queue ON agent_runs (queue);
  CREATE INDEX agent_runs_by_item ON agent_runs (ref, attempt) WHERE ref IS NOT NULL;
`;
