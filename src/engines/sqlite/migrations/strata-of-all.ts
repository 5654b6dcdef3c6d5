/** The strata of all groups together: a search by age that names no groups reads only these few rows. */
export const STRATA_OF_ALL = `
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
