/**
 * Migrates from version 1 to 2: letters get the time of their first failure, and imported letters also their arrival time
 * and original signature. A failed attempt may have no description.
 */
import { ERROR_EVENTS } from "../../../item/error-log.ts";

const LETTER_COLUMNS = ["letters", "closed"]
  .map(
    (table) => `
  ALTER TABLE ${table} ADD COLUMN first_at bigint NOT NULL DEFAULT 0, ADD COLUMN arrived_at bigint,
    ADD COLUMN source_signature text;
  UPDATE ${table} l SET first_at = coalesce(
    (SELECT min(a.ended_at) FROM attempts a WHERE a.ref = l.ref AND a.failure IS NOT NULL), l.buried_at);`,
  )
  .join("\n");

/** The condition for error events. Queries must use exactly this text, or the partial index is not used. */
export const ERRORS = `type IN (${ERROR_EVENTS.map((type) => `'${type}'`).join(", ")})`;

export const VERSION_2 = `
  -- The failures of imported letters are part of the error log too.
  DROP INDEX events_of_errors;
  CREATE INDEX events_of_errors ON events (queue, id) WHERE ${ERRORS};
  ALTER TABLE attempts DROP CONSTRAINT attempts_check;
  ALTER TABLE attempts ADD CONSTRAINT attempts_check CHECK (number >= 1
    AND outcome IN ('succeeded', 'failed', 'released', 'lost')
    AND (failure IS NULL OR outcome IN ('failed', 'lost')) AND (result IS NULL OR outcome = 'succeeded')) NOT VALID;
  ${LETTER_COLUMNS}
  CREATE INDEX letters_by_first_failure ON letters (grp, first_at, no);
  UPDATE groups g SET first_at = least(g.first_at, l.first_at)
    FROM (SELECT grp, min(first_at) AS first_at FROM letters GROUP BY grp) l WHERE l.grp = g.no;
`;
