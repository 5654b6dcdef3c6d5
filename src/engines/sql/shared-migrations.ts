/** The parts of migrations that are the same in both databases. Released statements never change. */

/** SQLite updates the triggers and references that use the names, PostgreSQL the views and indexes. */
export const TABLES_RENAMED = `
  ALTER TABLE closed   RENAME TO resolved_letters;
  ALTER TABLE evidence RENAME TO late_results;
  ALTER TABLE marks    RENAME TO group_records;
  ALTER TABLE letters          RENAME COLUMN toxic TO poison;
  ALTER TABLE resolved_letters RENAME COLUMN toxic TO poison;
`;

export const COLUMNS_RENAMED = `
  ALTER TABLE items  RENAME COLUMN place  TO position;
  ALTER TABLE items  RENAME COLUMN lane   TO ordering_key;
  ALTER TABLE items  RENAME COLUMN spent  TO attempts_counted;
  ALTER TABLE items  RENAME COLUMN losses TO lost_count;
  ALTER TABLE groups RENAME COLUMN away   TO in_retry;
`;

interface Types {
  readonly text: string;
  readonly int: string;
  readonly smallInt: string;
  /** What follows the columns of a table whose rows are updated often. */
  readonly end: string;
}

/** The agents that ran as steps, and what they used. */
export const agentRunsTable = ({ text, int, smallInt, end }: Types) => `
  CREATE TABLE agent_runs (
    id            ${text} PRIMARY KEY,
    queue         ${int} NOT NULL REFERENCES queues (no),
    ref           ${int},           -- the item; null for an agent of setup, reduce or merge
    attempt       ${smallInt},
    step          ${text} NOT NULL,
    agent         ${text} NOT NULL,
    session       ${text},
    model         ${text},
    cost          ${int} CHECK (cost >= 0),   -- in billionths of a dollar
    input_tokens  ${int},
    cached_tokens ${int},
    output_tokens ${int},
    turns         ${int},
    is_final      ${smallInt} NOT NULL CHECK (is_final IN (0, 1)),
    started_at    ${int} NOT NULL,
    updated_at    ${int} NOT NULL,
    CHECK ((ref IS NULL) = (attempt IS NULL))
  ) ${end};
  CREATE INDEX agent_runs_by_queue ON agent_runs (queue);
  CREATE INDEX agent_runs_by_item ON agent_runs (ref, attempt) WHERE ref IS NOT NULL;
`;
