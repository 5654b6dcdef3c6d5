/** Migrates from version 2 to 3: renames tables and columns. PostgreSQL adapts views and indexes. */
export const VERSION_3 = `
  ALTER TABLE closed   RENAME TO resolved_letters;
  ALTER TABLE evidence RENAME TO late_results;
  ALTER TABLE marks    RENAME TO group_records;
  ALTER TABLE line     RENAME TO ready_items;
  ALTER TABLE burials  RENAME TO letter_numbers;
  ALTER TABLE letters          RENAME COLUMN toxic TO poison;
  ALTER TABLE resolved_letters RENAME COLUMN toxic TO poison;
`;
