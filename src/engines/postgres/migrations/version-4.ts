/** Migrates from version 3 to 4: renames columns and tables. PostgreSQL adapts views, checks and indexes. */
export const VERSION_4 = `
  ALTER TABLE items  RENAME COLUMN place  TO position;
  ALTER TABLE items  RENAME COLUMN lane   TO ordering_key;
  ALTER TABLE items  RENAME COLUMN spent  TO attempts_counted;
  ALTER TABLE items  RENAME COLUMN losses TO lost_count;
  ALTER TABLE groups RENAME COLUMN away   TO in_retry;
  ALTER TABLE lanes      RENAME TO ordered_items;
  ALTER TABLE lane_heads RENAME TO ordering_heads;
  ALTER TABLE ordered_items  RENAME COLUMN lane TO ordering_key;
  ALTER TABLE ordering_heads RENAME COLUMN lane TO ordering_key;
  ALTER INDEX lanes_leased   RENAME TO ordered_items_leased;
`;
