/** From version 6 to 7: options of single items, and progress of running attempts. */
export const VERSION_7 = `
  -- As JSON: retries, backoff and context of the item; null for an item that has none of them.
  ALTER TABLE payloads ADD COLUMN options TEXT;

  -- The last progress that an attempt has reported.
  CREATE TABLE progress (
    ref     INTEGER PRIMARY KEY REFERENCES items (ref),
    attempt INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    value   TEXT NOT NULL
  ) STRICT;
`;
