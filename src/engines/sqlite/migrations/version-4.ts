/**
 * From version 3 to 4: a letter stores the time of its first failure, from which its age is measured; an
 * imported letter also stores its arrival time and original signature. A failed attempt may be counted
 * without a description.
 */
import { restate } from "./checks.ts";
import { ERRORS } from "./version-3.ts";

/** The time of the first failure of the letter's item. */
const FIRST_FAILURE = (table: string) =>
  `coalesce((SELECT min(a.ended_at) FROM attempts a WHERE a.ref = ${table}.ref AND a.failure IS NOT NULL), buried_at)`;

const LETTER_COLUMNS = ["letters", "closed"]
  .map(
    (table) => `
  ALTER TABLE ${table} ADD COLUMN first_at         INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE ${table} ADD COLUMN arrived_at       INTEGER;
  ALTER TABLE ${table} ADD COLUMN source_signature TEXT;
  UPDATE ${table} SET first_at = ${FIRST_FAILURE(table)};`,
  )
  .join("\n");

export const VERSION_4 = `
  ${restate([
    [
      "attempts",
      "CHECK ((failure IS NOT NULL) = (outcome IN ('failed', 'lost')))",
      "CHECK (failure IS NULL OR outcome = 'failed' OR outcome = 'lost')",
    ],
  ])}
  ${LETTER_COLUMNS}
  UPDATE groups SET first_at = min(first_at, coalesce((SELECT min(l.first_at) FROM letters l WHERE l.grp = groups.no), first_at));

  -- The failures of imported letters are part of the error log too.
  DROP INDEX events_of_errors;
  CREATE INDEX events_of_errors ON events (queue, id) WHERE ${ERRORS};

  -- The bounds of the first failures, besides those of the last failures (first_at, last_at).
  ALTER TABLE strata ADD COLUMN first_min INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE strata ADD COLUMN first_max INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE strata_of_all ADD COLUMN first_min INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE strata_of_all ADD COLUMN first_max INTEGER NOT NULL DEFAULT 0;
  DROP TRIGGER strata_added;
  DROP TRIGGER strata_changed;
  UPDATE strata SET (first_min, first_max) =
    (SELECT coalesce(min(l.first_at), ${Number.MAX_SAFE_INTEGER}), coalesce(max(l.first_at), 0) FROM letters l
      WHERE l.grp = strata.grp AND l.no >= strata.stratum * 4096 AND l.no < (strata.stratum + 1) * 4096);
  UPDATE strata_of_all SET (first_min, first_max) =
    (SELECT min(s.first_min), max(s.first_max) FROM strata s WHERE s.stratum = strata_of_all.stratum);
  CREATE TRIGGER strata_added AFTER INSERT ON strata BEGIN
    INSERT INTO strata_of_all (stratum, count, first_at, last_at, first_min, first_max)
    VALUES (NEW.stratum, NEW.count, NEW.first_at, NEW.last_at, NEW.first_min, NEW.first_max)
    ON CONFLICT DO UPDATE SET count = count + NEW.count, first_at = min(first_at, NEW.first_at),
                              last_at = max(last_at, NEW.last_at), first_min = min(first_min, NEW.first_min),
                              first_max = max(first_max, NEW.first_max);
  END;
  CREATE TRIGGER strata_changed AFTER UPDATE ON strata BEGIN
    UPDATE strata_of_all SET count = count + NEW.count - OLD.count, first_at = min(first_at, NEW.first_at),
                             last_at = max(last_at, NEW.last_at), first_min = min(first_min, NEW.first_min),
                             first_max = max(first_max, NEW.first_max)
     WHERE stratum = NEW.stratum;
  END;
`;
